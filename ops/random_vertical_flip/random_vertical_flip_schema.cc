#include "ops/core/op_registry.h"
#include "ops/random_vertical_flip/random_vertical_flip.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& /*context*/) {
  return MakeSchema<RandomVerticalFlipSchema>(args.Number("p"));
}

}  // namespace

Status RandomVerticalFlipSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng,
                                           MutableParams params, ImageSpec* out) const {
  params[0] = Happens(rng, p_) ? 1 : 0;
  return Shape(in, out);
}

void RegisterSchemaRandomVerticalFlip(SchemaRegistry& registry) {
  registry.Add({.name = "random_vertical_flip",
                .doc = "Mirrors the image top to bottom, with probability p.",
                .args = {{"p", ArgType::kNumber, 0.5, "probability"}},
                .classes = {"v1.RandomVerticalFlip", "v2.RandomVerticalFlip"},
                .shares_draws = SharedDraws::kAnyKind},
               Make);
}

}  // namespace headrace::ops
