#include "ops/core/op_registry.h"
#include "ops/random_grayscale/random_grayscale.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsKnownElements(args, context));
  HR_TRY(const int api, ReadApi(args));
  return MakeSchema<RandomGrayscaleSchema>(args.Number("p"), context.input.layout == Layout::kChw,
                                           api);
}

}  // namespace

Status RandomGrayscaleSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng,
                                        MutableParams params, ImageSpec* out) const {
  params[0] = Happens(rng, p_) ? 1 : 0;
  return Shape(in, out);
}

void RegisterSchemaRandomGrayscale(SchemaRegistry& registry) {
  registry.Add(
      {.name = "random_grayscale",
       .doc = "The luminance of a PIL image or of a tensor of uint8 or float32 in as many channels "
              "as it has, with probability p. Of tensors for torch's AVX2 and AVX512 builds.",
       .args = {{"p", ArgType::kNumber, 0.1, "probability"}, ApiArg(), FloatsArg()},
       .classes = {"v1.RandomGrayscale", "v2.RandomGrayscale"},
       .draws = "torch: a number that is compared with p (rand)"},
      Make);
}

}  // namespace headrace::ops
