#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// PIL's Image.transpose with FLIP_LEFT_RIGHT or FLIP_TOP_BOTTOM.
class FlipSchema final : public ImageSchema {
 public:
  explicit FlipSchema(bool horizontal) : horizontal_(horizontal) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] bool reorders() const override { return true; }
  [[nodiscard]] bool horizontal() const { return horizontal_; }

 private:
  bool horizontal_;
};

}  // namespace headrace::ops
