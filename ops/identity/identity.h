#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// Changes nothing and draws nothing.
class IdentitySchema final : public ImageSchema {
 public:
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] bool maps() const override { return true; }
};

}  // namespace headrace::ops
