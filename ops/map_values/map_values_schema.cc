#include <array>
#include <cstdint>
#include <vector>

#include "ops/core/op_registry.h"
#include "ops/map_values/map_values.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsPilImage(context));
  const std::vector<std::int64_t> values = args.Ints("table");
  const auto channels = static_cast<std::size_t>(InputOf(context).channels);
  MapValuesSchema::Tables tables{};
  constexpr std::size_t kEach = std::tuple_size_v<ByteTable>;
  if (values.size() != kEach && values.size() != channels * kEach) {
    return InvalidArgument("wrong number of lut entries");
  }
  for (std::size_t i = 0; i < channels * kEach; ++i) {
    const std::int64_t value = values[i % values.size()];
    if (value < 0 || value > 255) return Unsupported("table has values beyond a byte");
    tables[i / kEach][i % kEach] = static_cast<std::uint8_t>(value);
  }
  return MakeSchema<MapValuesSchema>(tables);
}

}  // namespace

void RegisterSchemaMapValues(SchemaRegistry& registry) {
  registry.Add(
      {.name = "map_values",
       .doc = "PIL's point: each value is replaced by its entry in a table.",
       .args = {ArgSpec{"table", ArgType::kInts, std::nullopt,
                        "256 values of 0..255 for all channels, or for one channel after the other",
                        /*required=*/true}
                    .In(0, 255)
                    .Count({256, 768})},
       .classes = {"PIL.Image.Image.point"}},
      Make);
}

}  // namespace headrace::ops
