#pragma once

#include <array>
#include <optional>

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// torchvision's ColorJitter on PIL images and tensors of uint8 or float32. Params: the order of the four steps, two
// bits each with the first step lowest. Then come the float32 factors of brightness, contrast,
// saturation and hue.
class ColorJitterSchema final : public ImageSchema {
 public:
  enum Step { kBrightness = 0, kContrast = 1, kSaturation = 2, kHue = 3 };
  static constexpr std::size_t kSteps = 4;
  // Bounds of a step's factor; absent for a step that is off.
  struct Bounds {
    float low = 0, high = 0;
  };
  using AllBounds = std::array<std::optional<Bounds>, kSteps>;

  struct Options {
    AllBounds bounds;
    bool tensor = false;
    std::int64_t most_of_mean = 0;  // pixels of a tensor; 0: any number
    int api = 1;
    TorchGenerator::Rounding rounding = TorchGenerator::Rounding::kFused;
  };

  explicit ColorJitterSchema(const Options& options) : options_(options) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return 1 + static_cast<int>(kSteps); }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;
  [[nodiscard]] bool has(std::size_t step) const { return options_.bounds[step].has_value(); }
  [[nodiscard]] const Options& options() const { return options_; }

 private:
  // kUnsupported: the mean of such an image is not known.
  [[nodiscard]] Status CheckContrast(const ImageSpec& in) const;

  Options options_;
};

}  // namespace headrace::ops
