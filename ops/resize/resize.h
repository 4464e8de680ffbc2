#pragma once

#include <utility>
#include <vector>

#include "ops/core/interpolation.h"
#include "ops/core/op.h"

namespace headrace::ops {

// F.resize of PIL images.
class ResizeSchema final : public OpSchema {
 public:
  // `sides` is empty (then max_size decides), one (the shorter edge) or [height, width].
  ResizeSchema(std::vector<std::int64_t> sides, std::int64_t max_size, Interpolation interpolation)
      : sides_(std::move(sides)), max_size_(max_size), interpolation_(interpolation) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;
  [[nodiscard]] Interpolation interpolation() const { return interpolation_; }

 private:
  std::vector<std::int64_t> sides_;
  std::int64_t max_size_;  // 0 for none
  Interpolation interpolation_;
};

}  // namespace headrace::ops
