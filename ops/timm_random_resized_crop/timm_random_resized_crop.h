#pragma once

#include <vector>

#include "ops/vision/geometry/interpolation.h"
#include "ops/vision/geometry/python_area.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {

// timm's RandomResizedCropAndInterpolation on PIL images. Params: top, left, height, width of the
// crop, and the number of the interpolation among ways().
class TimmRandomResizedCropSchema final : public ImageSchema {
 public:
  struct Config {
    Size size;
    PythonArea area;
    double min_ratio = 0, max_ratio = 0;
    std::vector<Interpolation> ways;  // one of which is drawn, if there are several
  };
  explicit TimmRandomResizedCropSchema(Config config) : config_(std::move(config)) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return 5; }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override {
    *out = in;
    out->height = config_.size.height;
    out->width = config_.size.width;
    return Status::Ok();
  }
  [[nodiscard]] bool draws_from_python() const override { return true; }
  Status DrawImageFromPython(const ImageSpec& in, PythonGenerator& rng, MutableParams params,
                             ImageSpec* out) const override;
  [[nodiscard]] const std::vector<Interpolation>& ways() const { return config_.ways; }

 private:
  [[nodiscard]] Window DrawCrop(const ImageSpec& in, PythonGenerator& rng) const;

  Config config_;
};

}  // namespace headrace::ops
