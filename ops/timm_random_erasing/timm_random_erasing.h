#pragma once

#include "ops/vision/geometry/python_area.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {

// timm's RandomErasing of one tensor, in mode "const". Params: for each of most_count rectangles
// top, left, height and width; no pixels where there is none.
class TimmRandomErasingSchema final : public ImageSchema {
 public:
  static constexpr std::int64_t kMostRectangles = 64;

  struct Config {
    double probability = 0;
    PythonArea area;
    std::int64_t least_count = 1, most_count = 1;
  };
  explicit TimmRandomErasingSchema(const Config& config) : config_(config) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override {
    return 4 * static_cast<int>(config_.most_count);
  }
  [[nodiscard]] bool draws_from_python() const override { return true; }
  Status DrawImageFromPython(const ImageSpec& in, PythonGenerator& rng, MutableParams params,
                             ImageSpec* out) const override;

 private:
  void DrawRectangle(const ImageSpec& in, std::int64_t count, PythonGenerator& rng,
                     MutableParams params) const;

  Config config_;
};

}  // namespace headrace::ops
