#pragma once

#include <utility>
#include <vector>

#include "ops/vision/schema_util.h"

namespace headrace::ops {

// torchvision's RandomErasing on tensors. Params: top, left, height, width; no pixels if it erases
// nothing.
class RandomErasingSchema final : public ImageSchema {
 public:
  RandomErasingSchema(double p, AreaSampler sampler, const ChannelValues& value)
      : p_(p), sampler_(std::move(sampler)), value_(value) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return 4; }
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;
  [[nodiscard]] std::vector<ExpRange> exp_ranges() const override { return {sampler_.exp_range()}; }
  [[nodiscard]] const ChannelValues& value() const { return value_; }

 private:
  double p_;
  AreaSampler sampler_;
  ChannelValues value_;
};

}  // namespace headrace::ops
