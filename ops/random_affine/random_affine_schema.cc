#include <cmath>

#include "ops/core/op_registry.h"
#include "ops/core/schema_util.h"
#include "ops/random_affine/random_affine.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_TRY(const AffineSchema::Pixels pixels, AffineSchema::ReadPixels(args, context));
  RandomAffineSchema::Options options;
  HR_TRY(options.api, ReadApi(args));
  HR_TRY(const std::vector<UniformBounds> degrees, ReadBounds(args, "degrees"));
  if (degrees.size() != 1) return Unsupported("degrees are not two bounds");
  options.degrees = degrees.front();
  if (args.Has("translate")) {
    options.translate = args.Numbers("translate");
    if (options.translate.size() != 2) return Unsupported("translate is not two parts");
    for (const double part : options.translate) {
      if (!(part >= 0 && part <= 1)) {
        return InvalidArgument("translation values should be between 0 and 1");
      }
    }
  }
  if (args.Has("scale")) {
    HR_TRY(const std::vector<UniformBounds> scale, ReadBounds(args, "scale"));
    if (scale.size() != 1) return Unsupported("scale is not two bounds");
    if (scale.front().low <= 0) return InvalidArgument("scale values should be positive");
    options.scale = scale.front();
  }
  if (args.Has("shear")) {
    HR_TRY(options.shear, ReadBounds(args, "shear"));
    if (options.shear.empty() || options.shear.size() > 2) {
      return Unsupported("shear is not two or four bounds");
    }
  }
  if (args.Has("center")) {
    const std::vector<double> center = args.Numbers("center");
    if (center.size() != 2) return Unsupported("center is not x and y");
    options.center = {center[0], center[1]};
  }
  return MakeSchema<RandomAffineSchema>(pixels, std::move(options));
}

struct Drawn {
  double angle = 0;  // degrees
  double x = 0, y = 0;
  double scale = 1;
  double shear_x = 0, shear_y = 0;  // degrees
};

// Source: torchvision's _get_inverse_affine_matrix, of v1 and of v2. Each operation is one there.
AffineSchema::Matrix Inverse(int api, const Drawn& drawn, double cx, double cy) {
  const double rot = Radians(drawn.angle);
  const double sx = Radians(drawn.shear_x);
  const double sy = Radians(drawn.shear_y);
  const double turned = rot - sy;
  AffineSchema::Matrix m;
  if (api == 1) {
    const double a = std::cos(turned) / std::cos(sy);
    const double b = -std::cos(turned) * std::tan(sx) / std::cos(sy) - std::sin(rot);
    const double c = std::sin(turned) / std::cos(sy);
    const double d = -std::sin(turned) * std::tan(sx) / std::cos(sy) + std::cos(rot);
    m = {d / drawn.scale, -b / drawn.scale, 0, -c / drawn.scale, a / drawn.scale, 0};
    m[2] = m[0] * (-cx - drawn.x) + m[1] * (-cy - drawn.y) + cx;
    m[5] = m[3] * (-cx - drawn.x) + m[4] * (-cy - drawn.y) + cy;
  } else {
    const double cos_sy = std::cos(sy);
    const double tan_sx = std::tan(sx);
    const double a = std::cos(turned) / cos_sy;
    const double b = -(a * tan_sx + std::sin(rot));
    const double c = std::sin(turned) / cos_sy;
    const double d = std::cos(rot) - c * tan_sx;
    m = {d / drawn.scale, -b / drawn.scale, 0, -c / drawn.scale, a / drawn.scale, 0};
    m[2] = cx - m[0] * (cx + drawn.x) - m[1] * (cy + drawn.y);
    m[5] = cy - m[3] * (cx + drawn.x) - m[4] * (cy + drawn.y);
  }
  return m;
}

}  // namespace

Status RandomAffineSchema::Draw(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                                ImageSpec* out) const {
  const auto uniform = [&](const UniformBounds& bounds) {
    return static_cast<double>(rng.Uniform(bounds.low, bounds.high, pixels().rounding));
  };
  const auto shift = [&](double part, std::int64_t side) {
    const auto most = static_cast<float>(part * static_cast<double>(side));
    return static_cast<double>(RoundHalfEven(uniform({-most, most})));
  };
  Drawn drawn;
  drawn.angle = uniform(options_.degrees);
  if (!options_.translate.empty()) {
    drawn.x = shift(options_.translate[0], in.width);
    drawn.y = shift(options_.translate[1], in.height);
  }
  if (options_.scale) drawn.scale = uniform(*options_.scale);
  if (!options_.shear.empty()) drawn.shear_x = uniform(options_.shear[0]);
  if (options_.shear.size() == 2) drawn.shear_y = uniform(options_.shear[1]);
  const std::array<double, 2> center = options_.center.value_or(std::array<double, 2>{
      static_cast<double>(in.width) * 0.5, static_cast<double>(in.height) * 0.5});
  const Matrix matrix = Inverse(options_.api, drawn, center[0], center[1]);
  for (const double value : matrix) {
    if (!std::isfinite(value)) return Unsupported("the image is turned into a line");
  }
  Write(matrix, params);
  return Shape(in, out);
}

void RegisterSchemaRandomAffine(SchemaRegistry& registry) {
  std::vector<ArgSpec> args = {
      {"degrees", ArgType::kNumbers, std::nullopt, "bounds of the angle, clockwise", true},
      {"translate", ArgType::kNumbers, std::nullopt,
       "greatest translations, as parts of the width and of the height"},
      {"scale", ArgType::kNumbers, std::nullopt, "bounds of the scale"},
      {"shear", ArgType::kNumbers, std::nullopt,
       "bounds of the shear along x in degrees, or those and bounds of the shear along y"}};
  for (ArgSpec& arg : AffineSchema::ArgSpecs()) args.push_back(std::move(arg));
  args.push_back(ApiArg());
  registry.Add({.name = "random_affine",
                .doc = "Rotates, translates, scales and shears a PIL image, as PIL does.",
                .args = std::move(args),
                .classes = {"v1.RandomAffine", "v2.RandomAffine"}},
               Make);
}

}  // namespace headrace::ops
