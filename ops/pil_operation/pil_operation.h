#pragma once

#include <cstdint>

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// One of PIL's ImageOps, ImageEnhance or ImageFilter that looks at more than one value.
class PilOperationSchema final : public ImageSchema {
 public:
  enum class Operation : std::uint8_t {
    kAutoContrast,
    kEqualize,
    kBrightness,
    kColor,
    kContrast,
    kSharpness,
    kGaussianBlur
  };
  struct Options {
    Operation operation = Operation::kAutoContrast;
    float factor = 1;  // of the last five; of a blur its radius
  };

  explicit PilOperationSchema(const Options& options) : options_(options) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] const Options& options() const { return options_; }

 private:
  Options options_;
};

}  // namespace headrace::ops
