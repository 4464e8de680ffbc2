#pragma once

#include "ops/vision/image_kernel.h"

namespace headrace::ops {

// The kernel of an operator whose description says all that there is to do (OpSchema::Map).
class MappedKernel final : public ImageKernel {
 public:
  [[nodiscard]] bool folds() const override { return true; }
};

}  // namespace headrace::ops
