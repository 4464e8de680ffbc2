#include "ops/core/op_registry.h"
#include "ops/core/schema_util.h"
#include "ops/random_grayscale/random_grayscale.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsPilImage(context));
  return MakeSchema<RandomGrayscaleSchema>(args.Number("p"));
}

}  // namespace

Status RandomGrayscaleSchema::Draw(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                                   ImageSpec* out) const {
  params[0] = Happens(rng, p_) ? 1 : 0;
  return Shape(in, out);
}

void RegisterSchemaRandomGrayscale(SchemaRegistry& registry) {
  registry.Add(
      {.name = "random_grayscale",
       .doc = "The luminance of a PIL image in as many channels as it has, with probability p.",
       .args = {{"p", ArgType::kNumber, 0.1, "probability"}},
       .classes = {"v1.RandomGrayscale", "v2.RandomGrayscale"}},
      Make);
}

}  // namespace headrace::ops
