#pragma once

#include <cstdint>
#include <utility>

#include "ops/vision/augment/augment_space.h"

namespace headrace::ops {

// torchvision's AugMix on PIL images and u8 tensors. It turns images into tensors, so it uses the
// tensors' operations. Params: the original's weight; then for each branch its weight and
// max_depth() operations (AugmentSpace::Write). Operations that were not drawn are the identity.
class AugMixSchema final : public AugmentSchema {
 public:
  struct Options {
    std::int64_t severity = 3;
    std::int64_t width = 3;
    std::int64_t depth = -1;  // below 1: random
    float alpha = 1;
    bool all_ops = true;
  };
  static constexpr std::int64_t kMostRandomDepth = 3;
  // The longest side for which translations are known.
  static constexpr std::int64_t kMostSide = 4096;  // pixels

  AugMixSchema(AugmentSpace space, const Options& options)
      : AugmentSchema(std::move(space)), options_(options) {}
  [[nodiscard]] int param_words() const override;
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] std::size_t max_depth() const {
    return static_cast<std::size_t>(options_.depth > 0 ? options_.depth : kMostRandomDepth);
  }
  // Words of one branch.
  [[nodiscard]] std::size_t branch_words() const { return 1 + max_depth() * AugmentSpace::kWords; }

 private:
  Options options_;
};

}  // namespace headrace::ops
