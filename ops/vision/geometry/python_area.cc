#include "ops/vision/geometry/python_area.h"

#include <cmath>
#include <utility>

#include "ops/core/schema_util.h"

namespace headrace::ops {

std::vector<ArgSpec> PythonArea::ArgSpecs(std::vector<double> scale) {
  return {
      ArgSpec{"scale", ArgType::kNumbers, std::move(scale),
              "bounds of the area, as parts of the image's"}
          .In(0, 100)
          .Count({2}),
      ArgSpec{"log_ratio", ArgType::kNumbers, std::nullopt,
              "math.log of the bounds of the aspect ratio, by the client's math", /*required=*/true}
          .In(-15, 15)
          .Count({2})};
}

Result<PythonArea> PythonArea::Make(const OpArgs& args) {
  constexpr double kMostScale = 100;
  constexpr double kMostLog = 15;
  const std::vector<double> scale = args.Numbers("scale");
  const std::vector<double> logs = args.Numbers("log_ratio");
  if (scale.size() != 2 || logs.size() != 2) {
    return InvalidArgument("scale and log_ratio should be sequences of two numbers");
  }
  for (const double bound : scale) {
    if (!(bound >= 0 && bound <= kMostScale)) return Unsupported("scale is not in 0..100");
  }
  for (const double bound : logs) {
    if (!(std::abs(bound) <= kMostLog)) return Unsupported("an aspect ratio out of range");
  }
  PythonArea made;
  made.scale_low_ = scale[0];
  made.scale_high_ = scale[1];
  made.log_low_ = logs[0];
  made.log_high_ = logs[1];
  return made;
}

PythonArea::Draw PythonArea::Next(const ImageSpec& in, PythonGenerator& rng, bool of_height,
                                  std::int64_t count) const {
  const double pixels = static_cast<double>(in.height * in.width);
  const double area = rng.Uniform(scale_low_, scale_high_) * pixels / static_cast<double>(count);
  const double aspect = std::exp(rng.Uniform(log_low_, log_high_));
  const std::int64_t times = RoundHalfEven(std::sqrt(area * aspect));
  const std::int64_t over = RoundHalfEven(std::sqrt(area / aspect));
  return of_height ? Draw{times, over} : Draw{over, times};
}

}  // namespace headrace::ops
