#pragma once

#include <array>

#include "ops/vision/schema_util.h"

namespace headrace::ops {

// torchvision's RandomCrop: pads, then crops at a random place. Params: top and left of the crop in
// the padded image.
class RandomCropSchema final : public ImageSchema {
 public:
  struct Config {
    Size size;
    bool v2 = false;
    bool pad_if_needed = false;
    bool has_padding = false;
    Padding padding;
    PaddingMode mode = PaddingMode::kConstant;
    ChannelValues fill{};
  };
  explicit RandomCropSchema(const Config& config) : config_(config) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return 2; }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;

  // The paddings that the transform applies to an image, in order. v1 pads up to three times, v2 at
  // most once. With reflections this makes different borders.
  struct Pads {
    std::array<Padding, 3> steps;
    int count = 0;
    Padding total;
  };
  [[nodiscard]] Pads PadsFor(const ImageSpec& in) const;
  [[nodiscard]] const Config& config() const { return config_; }

 private:
  Config config_;
};

}  // namespace headrace::ops
