#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// What the framework's class does, in one line. Params: what Draw writes there.
class ExampleSchema final : public ImageSchema {
 public:
  explicit ExampleSchema(double p) : p_(p) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return 1; }
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;

 private:
  double p_;
};

}  // namespace headrace::ops
