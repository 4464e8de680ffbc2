#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// The channels of each pixel from the last to the first: BGR as RGB.
class ReverseChannelsSchema final : public ImageSchema {
 public:
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
};

}  // namespace headrace::ops
