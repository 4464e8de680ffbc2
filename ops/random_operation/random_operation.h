#pragma once

#include <cstdint>

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// torchvision's RandomInvert and similar: one operation on PIL images or tensors of uint8 or
// float32, which happens or not. Params: 1 if it happens, else 0.
class RandomOperationSchema final : public ImageSchema {
 public:
  enum class Operation : std::uint8_t {
    kInvert,
    kPosterize,
    kSolarize,
    kSharpness,
    kAutoContrast,
    kEqualize
  };
  struct Options {
    Operation operation = Operation::kInvert;
    double p = 0.5;
    double value = 0;  // bits, threshold or factor
    int api = 1;
    bool tensor = false;
  };

  explicit RandomOperationSchema(const Options& options) : options_(options) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return 1; }
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;

  [[nodiscard]] const Options& options() const { return options_; }

 private:
  Options options_;
};

}  // namespace headrace::ops
