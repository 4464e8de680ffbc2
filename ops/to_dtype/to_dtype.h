#pragma once

#include "ops/core/op.h"

namespace headrace::ops {

// Element type of a tensor: uint8 to float32, or no change.
class ToDtypeSchema final : public OpSchema {
 public:
  // What becomes of a value.
  enum class Rule : std::uint8_t {
    kKeep,      // the same number
    kDivide,    // value / 255
    kMultiply,  // value * (1 / 255)
  };
  ToDtypeSchema(DType dtype, Rule rule) : dtype_(dtype), rule_(rule) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] ImageSpec OutputKind(const ImageSpec& in) const override {
    ImageSpec out = in;
    out.dtype = dtype_;
    return out;
  }
  [[nodiscard]] Rule rule() const { return rule_; }

 private:
  DType dtype_;
  Rule rule_;
};

}  // namespace headrace::ops
