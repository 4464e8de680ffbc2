#include "ops/vision/geometry/perspective.h"

#include "ops/vision/geometry/pil_sampling.h"

namespace headrace::ops {
namespace {

template <std::size_t kChannels>
void Transform(const Image& in, const PerspectiveCoefficients& coefficients,
               Interpolation interpolation, const PilFill& fill, const Window& part,
               std::uint8_t* out) {
  const PilSource source(in);
  double a[8];
  std::copy(coefficients.begin(), coefficients.end(), a);
  // perspective_transform
  const auto from = [&a](double x, double y) {
    const double by = a[6] * x + a[7] * y + 1;
    return PilPoint{(a[0] * x + a[1] * y + a[2]) / by, (a[3] * x + a[4] * y + a[5]) / by};
  };
  switch (interpolation) {
    case Interpolation::kBilinear:
      return PilTransform<kChannels>(source, part, fill, out, from,
                                     [&](auto... at) { PilBilinear<kChannels>(source, at...); });
    case Interpolation::kBicubic:
      return PilTransform<kChannels>(source, part, fill, out, from,
                                     [&](auto... at) { PilBicubic<kChannels>(source, at...); });
    default:
      return PilTransform<kChannels>(source, part, fill, out, from,
                                     [&](auto... at) { PilNearest<kChannels>(source, at...); });
  }
}

}  // namespace

void TransformPerspective(const Image& in, const PerspectiveCoefficients& coefficients,
                          Interpolation interpolation, const std::array<std::uint8_t, 3>& fill,
                          const Window& part, std::uint8_t* out) {
  if (in.spec.channels == 1) {
    Transform<1>(in, coefficients, interpolation, fill, part, out);
  } else {
    Transform<3>(in, coefficients, interpolation, fill, part, out);
  }
}

}  // namespace headrace::ops
