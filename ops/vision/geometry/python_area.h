#pragma once

#include <cstdint>
#include <vector>

#include "ops/core/op_registry.h"
#include "ops/core/python_generator.h"
#include "ops/vision/image.h"

namespace headrace::ops {

// The attempts of timm's RandomResizedCropAndInterpolation and RandomErasing: each draws an area, as
// a part of the image, and an aspect ratio, from Python's generator. Source: timm/data/transforms.py
// and random_erasing.py. Value type.
class PythonArea {
 public:
  static constexpr int kAttempts = 10;

  struct Draw {
    std::int64_t height = 0, width = 0;  // pixels; may be 0, or more than the image has
  };

  // Reads scale and log_ratio. kInvalidArgument: not two numbers; kUnsupported: numbers out of the
  // range in which sides fit.
  static Result<PythonArea> Make(const OpArgs& args);
  // The arguments scale and log_ratio for an OpSpec.
  static std::vector<ArgSpec> ArgSpecs(std::vector<double> scale);

  // One attempt. `of_height`: the aspect is height / width, not width / height. `count`: what the
  // area is divided by. Uses the C library's exp, as CPython does.
  [[nodiscard]] Draw Next(const ImageSpec& in, PythonGenerator& rng, bool of_height,
                          std::int64_t count = 1) const;

 private:
  double scale_low_ = 0, scale_high_ = 0;
  double log_low_ = 0, log_high_ = 0;
};

}  // namespace headrace::ops
