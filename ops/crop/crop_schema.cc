#include "ops/core/op_registry.h"
#include "ops/crop/crop.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

// The farthest that a window may lie from the image; keeps sums of coordinates far from overflow.
constexpr std::int64_t kFarthest = std::int64_t{1} << 31;

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& /*context*/) {
  HR_TRY(const Size size, ReadSize(args, "size"));
  const std::int64_t top = args.Int("top");
  const std::int64_t left = args.Int("left");
  if (top < -kFarthest || top > kFarthest || left < -kFarthest || left > kFarthest) {
    return InvalidArgument("a crop at " + std::to_string(top) + ", " + std::to_string(left));
  }
  return MakeSchema<CropSchema>(Window{top, left, size.height, size.width});
}

}  // namespace

void RegisterSchemaCrop(SchemaRegistry& registry) {
  registry.Add(
      {.name = "crop",
       .doc = "PIL's crop: a window at a given place, zeros where it reaches out of the image.",
       .args = {ArgSpec{"top", ArgType::kInt, std::nullopt, "first row", /*required=*/true}
                    .In(-0x1p31, 0x1p31)
                    .Unit("pixels"),
                ArgSpec{"left", ArgType::kInt, std::nullopt, "first column", /*required=*/true}
                    .In(-0x1p31, 0x1p31)
                    .Unit("pixels"),
                ArgSpec{"size", ArgType::kInts, std::nullopt,
                        "side of a square, or [height, width]",
                        /*required=*/true}
                    .In(1, 1 << 20)
                    .Count({1, 2})
                    .Unit("pixels")},
       .classes = {"PIL.Image.Image.crop"}},
      Make);
}

}  // namespace headrace::ops
