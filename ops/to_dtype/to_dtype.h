#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// Changes a tensor's element type: uint8 to any other, one float type to another, or no change.
class ToDtypeSchema final : public ImageSchema {
 public:
  // How a value changes; all but kKeep take uint8.
  enum class Rule : std::uint8_t {
    kKeep,      // the nearest number
    kWrap,      // the same bits as int8
    kDivide,    // value / 255
    kMultiply,  // value * (1 / 255)
    kShift,     // to the range of an integer type
  };
  ToDtypeSchema(DType dtype, Rule rule) : dtype_(dtype), rule_(rule) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] ImageSpec OutputKind(const ImageSpec& in) const override {
    ImageSpec out = in;
    out.dtype = dtype_;
    return out;
  }
  [[nodiscard]] bool maps() const override { return true; }
  [[nodiscard]] double Map(int channel, double value) const override;
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] Rule rule() const { return rule_; }

 private:
  DType dtype_;
  Rule rule_;
};

}  // namespace headrace::ops
