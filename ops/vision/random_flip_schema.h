#pragma once

#include "ops/core/op_registry.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {

// What RandomHorizontalFlip and RandomVerticalFlip of torchvision draw. Params: 1 to flip, else 0.
class RandomFlipSchema final : public ImageSchema {
 public:
  explicit RandomFlipSchema(double p) : p_(p) {}

  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] bool reorders() const override { return true; }
  [[nodiscard]] int param_words() const override { return 1; }
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override {
    params[0] = Happens(rng, p_) ? 1 : 0;
    return Shape(in, out);
  }

  // `kind`: Horizontal or Vertical, as torchvision's classes are called.
  static void Register(SchemaRegistry& registry, const char* name, const char* doc,
                       const std::string& kind) {
    registry.Add({.name = name,
                  .doc = doc,
                  .args = {{"p", ArgType::kNumber, 0.5, "probability"}},
                  .classes = {"v1.Random" + kind + "Flip", "v2.Random" + kind + "Flip"},
                  .draws = "torch: a number that is compared with p (rand)",
                  .shares_draws = SharedDraws::kAnyKind},
                 [](const OpArgs& args, const CompileContext& /*context*/) -> Result<SchemaPtr> {
                   return MakeSchema<RandomFlipSchema>(args.Number("p"));
                 });
  }

 private:
  double p_;
};

}  // namespace headrace::ops
