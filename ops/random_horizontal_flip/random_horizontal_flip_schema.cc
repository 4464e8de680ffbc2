#include "ops/core/op_registry.h"
#include "ops/random_horizontal_flip/random_horizontal_flip.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& /*context*/) {
  return MakeSchema<RandomHorizontalFlipSchema>(args.Number("p"));
}

}  // namespace

Status RandomHorizontalFlipSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng,
                                             MutableParams params, ImageSpec* out) const {
  params[0] = Happens(rng, p_) ? 1 : 0;
  return Shape(in, out);
}

void RegisterSchemaRandomHorizontalFlip(SchemaRegistry& registry) {
  registry.Add({.name = "random_horizontal_flip",
                .doc = "Mirrors the image left to right, with probability p.",
                .args = {{"p", ArgType::kNumber, 0.5, "probability"}},
                .classes = {"v1.RandomHorizontalFlip", "v2.RandomHorizontalFlip"},
                .shares_draws = SharedDraws::kAnyKind},
               Make);
}

}  // namespace headrace::ops
