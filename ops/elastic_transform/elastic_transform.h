#pragma once

#include <array>
#include <vector>

#include "ops/torch/mt19937.h"
#include "ops/vision/geometry/affine_args.h"
#include "ops/vision/image_schema.h"

namespace headrace::ops {

// torchvision's ElasticTransform on PIL images and on tensors of uint8 or float32. It draws two
// numbers for each pixel. Params: the state of torch's generator before them, from which the kernel
// draws them again: the engine's words, and the number of the next one.
class ElasticTransformSchema final : public ImageSchema {
 public:
  // One direction of the displacements.
  struct Axis {
    double alpha = 0;
    std::vector<float> columns, rows;  // weights of the blur; both empty: it is not blurred
  };
  struct Options {
    Axis across, down;
    AffineArgs pixels;
    int api = 1;
  };

  explicit ElasticTransformSchema(Options options) : options_(std::move(options)) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return Mt19937::kWords + 1; }
  // kUnsupported: torch blurs displacements of this size in another order, or not at all; or there
  // are too many.
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;
  // The generator's state. kInvalidArgument: no draw writes such params.
  static Result<Mt19937> Read(Params params);
  [[nodiscard]] const Options& options() const { return options_; }

 private:
  Options options_;
};

}  // namespace headrace::ops
