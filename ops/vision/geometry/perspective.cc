#include "ops/vision/geometry/perspective.h"

#include <algorithm>

#include "ops/vision/geometry/pil_sampling.h"

namespace headrace::ops {

void TransformPerspective(const Image& in, const PerspectiveCoefficients& coefficients,
                          Interpolation interpolation, const std::array<std::uint8_t, 3>& fill,
                          const Window& part, std::uint8_t* out) {
  double a[8];
  std::copy(coefficients.begin(), coefficients.end(), a);
  // perspective_transform
  const auto from = [&a](double x, double y) {
    const double by = a[6] * x + a[7] * y + 1;
    return PilPoint{(a[0] * x + a[1] * y + a[2]) / by, (a[3] * x + a[4] * y + a[5]) / by};
  };
  PilTransform(PilSource(in), part, fill, out, from, PilSamplerOf(interpolation, in.spec.channels));
}

}  // namespace headrace::ops
