#pragma once

#include <array>
#include <cstdint>

#include "ops/vision/geometry/affine_matrix.h"
#include "ops/vision/geometry/interpolation.h"
#include "ops/vision/image_schema.h"

namespace headrace::ops {

// PIL's Image.transform with AFFINE, for a result of the image's own size.
class AffineTransformSchema final : public ImageSchema {
 public:
  struct Options {
    AffineMatrix matrix = kUnmoved;
    Interpolation interpolation = Interpolation::kNearest;
    std::array<std::uint8_t, 3> fill{};
  };

  explicit AffineTransformSchema(const Options& options) : options_(options) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] const Options& options() const { return options_; }

 private:
  Options options_;
};

}  // namespace headrace::ops
