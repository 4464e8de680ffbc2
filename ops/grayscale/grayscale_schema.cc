#include "ops/core/op_registry.h"
#include "ops/core/schema_util.h"
#include "ops/grayscale/grayscale.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsPilImage(context));
  const std::int64_t channels = args.Int("num_output_channels");
  if (channels != 1 && channels != 3) {
    return InvalidArgument("num_output_channels should be either 1 or 3");
  }
  return MakeSchema<GrayscaleSchema>(static_cast<int>(channels));
}

}  // namespace

void RegisterSchemaGrayscale(SchemaRegistry& registry) {
  registry.Add(
      {.name = "grayscale",
       .doc = "The luminance of a PIL image: `convert(\"L\")`.",
       .args = {{"num_output_channels", ArgType::kInt, std::int64_t{1}, "1, or 3 equal ones"}},
       .classes = {"v1.Grayscale", "v2.Grayscale"}},
      Make);
}

}  // namespace headrace::ops
