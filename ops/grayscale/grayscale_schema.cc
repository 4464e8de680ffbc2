#include "ops/core/op_registry.h"
#include "ops/grayscale/grayscale.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsKnownElements(args, context));
  const std::int64_t channels = args.Int("num_output_channels");
  if (channels != 1 && channels != 3) {
    return InvalidArgument("num_output_channels should be either 1 or 3");
  }
  HR_TRY(const int api, ReadApi(args));
  return MakeSchema<GrayscaleSchema>(static_cast<int>(channels),
                                     context.input.layout == Layout::kChw, api);
}

}  // namespace

void RegisterSchemaGrayscale(SchemaRegistry& registry) {
  registry.Add(
      {.name = "grayscale",
       .doc = "The luminance of a PIL image: `convert(\"L\")`; or of a tensor of uint8 or "
              "float32, as torchvision rounds it (for torch's AVX2 and AVX512 builds).",
       .args = {ArgSpec{"num_output_channels", ArgType::kInt, std::int64_t{1}, "1, or 3 equal ones"}
                    .In(1, 3),
                ApiArg(), FloatsArg()},
       .classes = {"v1.Grayscale", "v2.Grayscale"}},
      Make);
}

}  // namespace headrace::ops
