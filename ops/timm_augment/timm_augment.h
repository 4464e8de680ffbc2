#pragma once

#include <array>
#include <utility>
#include <vector>

#include "ops/timm_augment/timm_step.h"
#include "ops/vision/image_schema.h"

namespace headrace::ops {

// timm's RandAugment and AutoAugment on PIL images: operations that are chosen, and then drawn one
// by one. Params: for each TimmStep::kWords.
class TimmAugmentSchema final : public ImageSchema {
 public:
  // An AugmentOp of timm's.
  struct Op {
    TimmOp op = TimmOp::kInvert;
    double probability = 0;
    double magnitude = 0;
  };
  struct Config {
    std::vector<Op> ops;
    // AutoAugment: how many of the operations each policy has. Empty: RandAugment.
    std::vector<std::int64_t> policies;
    std::int64_t layers = 0;  // of RandAugment
    std::vector<double>
        weights;           // of its operations; empty: all alike, and chosen with replacement
    double std = 0;        // of the magnitudes
    bool uniform = false;  // instead of that: magnitudes are drawn from 0 on
    double most_magnitude = 10;
    TimmLevels levels;
    std::int64_t least_bits = 0;  // with fewer the client's Pillow raises
    std::vector<Interpolation> ways;
    std::array<std::uint8_t, 3> fill{};
  };

  explicit TimmAugmentSchema(Config config);
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override {
    return static_cast<int>(steps_) * static_cast<int>(TimmStep::kWords);
  }
  [[nodiscard]] bool draws_from_python() const override { return true; }
  [[nodiscard]] bool draws_from_numpy() const override { return config_.policies.empty(); }
  Status DrawImageFromPython(const ImageSpec& in, PythonGenerator& rng, MutableParams params,
                             ImageSpec* out) const override;
  Status DrawImageFromNumpy(const ImageSpec& in, PythonGenerator& python, NumpyGenerator& numpy,
                            MutableParams params, ImageSpec* out) const override;
  [[nodiscard]] const Config& config() const { return config_; }

 private:
  Status DrawStep(const Op& op, const ImageSpec& in, PythonGenerator& rng,
                  MutableParams words) const;

  Config config_;
  std::int64_t steps_;  // most operations of a sample
};

}  // namespace headrace::ops
