#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ops/vision/geometry/resizing.h"
#include "ops/vision/image_schema.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {

// torchvision's RandomResizedCrop on PIL images and uint8 tensors. Params: top, left, height, width
// of the crop.
class RandomResizedCropSchema final : public ImageSchema {
 public:
  RandomResizedCropSchema(Size size, AreaSampler sampler, const Resizing& resizing)
      : size_(size), sampler_(std::move(sampler)), resizing_(resizing) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return 4; }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override {
    *out = in;
    out->height = size_.height;
    out->width = size_.width;
    return resizing_.CheckOutput(*out);
  }
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;
  [[nodiscard]] std::vector<ExpRange> exp_ranges() const override { return {sampler_.exp_range()}; }
  [[nodiscard]] const Resizing& resizing() const { return resizing_; }

 private:
  [[nodiscard]] Status DrawCrop(const ImageSpec& in, TorchGenerator& rng, Window* crop) const;

  Size size_;
  AreaSampler sampler_;
  Resizing resizing_;
};

}  // namespace headrace::ops
