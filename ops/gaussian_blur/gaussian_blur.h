#pragma once

#include <cstdint>
#include <vector>

#include "ops/torch/torch_functions.h"
#include "ops/vision/image_schema.h"

namespace headrace::ops {

// torchvision's GaussianBlur on PIL images and tensors of uint8 or float32. Params: the float32 weights of the
// columns, then those of the rows.
class GaussianBlurSchema final : public ImageSchema {
 public:
  struct Options {
    // torchvision's positions of the weights, for the columns and for the rows.
    std::vector<float> x, y;
    float sigma_low = 0;
    float sigma_high = 0;
    int api = 1;
    TorchGenerator::Rounding rounding = TorchGenerator::Rounding::kFused;
    // Null where the draws are not made, as on workers.
    const TorchFunctions* torch = nullptr;
  };

  explicit GaussianBlurSchema(Options options) : options_(std::move(options)) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override {
    return static_cast<int>(options_.x.size() + options_.y.size());
  }
  // kUnsupported: the border is longer than the side, or torch sums in another order.
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;
  // kUnsupported: no torch is loaded that computes the weights. Other errors as Shape.
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;
  [[nodiscard]] std::int64_t columns() const { return std::ssize(options_.x); }
  [[nodiscard]] std::int64_t rows() const { return std::ssize(options_.y); }

 private:
  Options options_;
};

}  // namespace headrace::ops
