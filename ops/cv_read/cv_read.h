#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// cv2.imread of JPEG and PNG files.
class CvReadSchema final : public ImageSchema {
 public:
  enum class Order : std::uint8_t { kBgr, kRgb, kGray };

  CvReadSchema(Order order, bool ignores_orientation)
      : order_(order), ignores_orientation_(ignores_orientation) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  // What a file's header says.
  [[nodiscard]] std::optional<TensorSpec> SourceSpec() const override {
    return TensorSpec{DType::kU8, Layout::kHwc, {Dims::kAny, Dims::kAny, 3}};
  }
  [[nodiscard]] ImageSpec OutputKind(const ImageSpec& in) const override {
    return {in.height, in.width, order_ == Order::kGray ? 1 : 3, DType::kU8, Layout::kHwc};
  }
  [[nodiscard]] Order order() const { return order_; }
  [[nodiscard]] bool ignores_orientation() const { return ignores_orientation_; }

 private:
  Order order_;
  bool ignores_orientation_;
};

}  // namespace headrace::ops
