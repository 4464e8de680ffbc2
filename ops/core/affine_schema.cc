#include "ops/core/affine_schema.h"

#include <cmath>
#include <cstring>
#include <numbers>
#include <string>

#include "ops/core/schema_util.h"

namespace headrace::ops {

Result<AffineSchema::Pixels> AffineSchema::ReadPixels(const OpArgs& args,
                                                      const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsPilImage(context));
  Pixels pixels;
  HR_TRY(pixels.interpolation, ReadInterpolation(args));
  if (pixels.interpolation != Interpolation::kNearest &&
      pixels.interpolation != Interpolation::kBilinear &&
      pixels.interpolation != Interpolation::kBicubic) {
    return Unsupported("PIL transforms by nearest, bilinear or bicubic only");
  }
  HR_TRY(const ChannelValues fill, ReadFill(args, "fill", context.input));
  for (std::size_t c = 0; c < pixels.fill.size(); ++c) {
    pixels.fill[c] = static_cast<std::uint8_t>(fill[c]);
  }
  HR_TRY(pixels.rounding, UniformRounding(context));
  return pixels;
}

std::vector<ArgSpec> AffineSchema::ArgSpecs() {
  return {{"center", ArgType::kNumbers, std::nullopt,
           "x and y of what stays in its place, from the upper left corner; the image's center "
           "when left out"},
          {"interpolation", ArgType::kText, std::string("nearest"),
           "nearest, nearest-exact, bilinear or bicubic"},
          {"fill", ArgType::kNumbers, std::int64_t{0},
           "value outside of the image, or one for each channel"}};
}

Result<AffineSchema::Matrix> AffineSchema::Read(Params params) {
  Matrix matrix;
  std::memcpy(matrix.data(), params.data(), sizeof(matrix));
  for (const double value : matrix) {
    if (!std::isfinite(value)) return InvalidArgument("matrix is not of finite numbers");
  }
  return matrix;
}

void AffineSchema::Write(const Matrix& matrix, MutableParams params) {
  std::memcpy(params.data(), matrix.data(), sizeof(matrix));
}

Result<std::vector<UniformBounds>> ReadBounds(const OpArgs& args, std::string_view name) {
  const std::vector<double> values = args.Numbers(name);
  if (values.size() % 2 != 0) return Unsupported(std::string(name) + " are not pairs of bounds");
  constexpr double kMost = 1e6;
  std::vector<UniformBounds> bounds;
  for (std::size_t i = 0; i < values.size(); i += 2) {
    if (!(values[i] >= -kMost && values[i] <= values[i + 1] && values[i + 1] <= kMost)) {
      return Unsupported(std::string(name) + " are not bounds of random numbers");
    }
    bounds.push_back({static_cast<float>(values[i]), static_cast<float>(values[i + 1])});
  }
  return bounds;
}

double Radians(double degrees) { return degrees * (std::numbers::pi / 180.0); }

}  // namespace headrace::ops
