#pragma once

#include "ops/vision/floats.h"
#include "ops/vision/image_schema.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {

// F.normalize of float tensors: subtracts the mean, then divides, channel by channel.
class NormalizeSchema final : public ImageSchema, public FloatMap {
 public:
  NormalizeSchema(DType dtype, const ChannelValues& mean, const ChannelValues& std_dev)
      : dtype_(dtype), mean_(mean), std_dev_(std_dev) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] bool maps() const override { return true; }
  [[nodiscard]] double Map(int channel, double value) const override;
  void MapFloats(int channel, std::span<float> values) const override;
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const ChannelValues& mean() const { return mean_; }
  [[nodiscard]] const ChannelValues& std_dev() const { return std_dev_; }

 private:
  DType dtype_;
  ChannelValues mean_;
  ChannelValues std_dev_;
};

}  // namespace headrace::ops
