#pragma once

#include "ops/vision/geometry/resizing.h"
#include "ops/vision/image_schema.h"

namespace headrace::ops {

// torchvision v2's RandomResize on PIL images and uint8 tensors: the shorter edge becomes a drawn
// length. Params: that length.
class RandomResizeSchema final : public ImageSchema {
 public:
  // A length in [least, end).
  RandomResizeSchema(std::int64_t least, std::int64_t end, const Resizing& resizing)
      : least_(least), end_(end), resizing_(resizing) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return 1; }
  [[nodiscard]] bool draws_shape() const override { return true; }
  Status DrawnShape(const ImageSpec& in, Params params, ImageSpec* out) const override;
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;
  [[nodiscard]] const Resizing& resizing() const { return resizing_; }

 private:
  std::int64_t least_, end_;
  Resizing resizing_;
};

}  // namespace headrace::ops
