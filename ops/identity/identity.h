#pragma once

#include "ops/core/op.h"

namespace headrace::ops {

// Changes nothing and draws nothing.
class IdentitySchema final : public OpSchema {
 public:
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
};

}  // namespace headrace::ops
