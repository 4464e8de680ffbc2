#pragma once

#include "ops/torch/torch_functions.h"
#include "ops/vision/geometry/affine_args.h"
#include "ops/vision/image_schema.h"

namespace headrace::ops {

// torchvision's RandomPerspective on PIL images and tensors of uint8 or float32. Params: a word that is 1 if the image is
// transformed, and the eight coefficients as float32 (ops/vision/geometry/perspective.h).
class RandomPerspectiveSchema final : public ImageSchema {
 public:
  struct Options {
    double distortion = 0.5;  // part of half of a side by which a corner moves at most
    double p = 0.5;
    AffineArgs pixels;
    int api = 1;
    // Null where the draws are not made, as on workers.
    const TorchFunctions* torch = nullptr;
  };

  explicit RandomPerspectiveSchema(const Options& options) : options_(options) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return 9; }
  // kUnsupported: no torch is loaded that solves the equations, or they have no solution.
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;
  [[nodiscard]] const Options& options() const { return options_; }

 private:
  Options options_;
};

}  // namespace headrace::ops
