#pragma once

#include <utility>
#include <vector>

#include "ops/vision/geometry/resizing.h"
#include "ops/vision/image_schema.h"

namespace headrace::ops {

// torchvision's Resize on PIL images and uint8 tensors.
class ResizeSchema final : public ImageSchema {
 public:
  // `sides` is empty (then max_size decides), one (the shorter edge) or [height, width].
  ResizeSchema(std::vector<std::int64_t> sides, std::int64_t max_size, const Resizing& resizing)
      : sides_(std::move(sides)), max_size_(max_size), resizing_(resizing) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;
  [[nodiscard]] const Resizing& resizing() const { return resizing_; }

 private:
  std::vector<std::int64_t> sides_;
  std::int64_t max_size_;  // 0 for none
  Resizing resizing_;
};

}  // namespace headrace::ops
