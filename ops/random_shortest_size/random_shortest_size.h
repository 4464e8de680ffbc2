#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ops/vision/geometry/resizing.h"
#include "ops/vision/image_schema.h"

namespace headrace::ops {

// torchvision v2's RandomShortestSize: the shorter edge becomes one of several lengths, and the longer
// one is bounded. Params: height and width of the output.
class RandomShortestSizeSchema final : public ImageSchema {
 public:
  // `most`: the bound; 0: there is none.
  RandomShortestSizeSchema(std::vector<std::int64_t> lengths, std::int64_t most,
                           const Resizing& resizing)
      : lengths_(std::move(lengths)), most_(most), resizing_(resizing) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return 2; }
  [[nodiscard]] bool draws_shape() const override { return true; }
  Status DrawnShape(const ImageSpec& in, Params params, ImageSpec* out) const override;
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;
  [[nodiscard]] const Resizing& resizing() const { return resizing_; }

 private:
  [[nodiscard]] ImageSpec Resized(const ImageSpec& in, std::int64_t length) const;

  std::vector<std::int64_t> lengths_;
  std::int64_t most_;
  Resizing resizing_;
};

}  // namespace headrace::ops
