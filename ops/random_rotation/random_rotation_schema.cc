#include <charconv>
#include <cmath>

#include "ops/core/op_registry.h"
#include "ops/random_rotation/random_rotation.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_TRY(const AffineSchema::Pixels pixels, AffineSchema::ReadPixels(args, context));
  HR_TRY(const std::vector<UniformBounds> degrees, ReadBounds(args, "degrees"));
  if (degrees.size() != 1) return Unsupported("degrees are not two bounds");
  if (args.Int("expand") != 0) return Unsupported("expand makes images of random sizes");
  std::optional<RandomRotationSchema::Point> center;
  if (args.Has("center")) {
    const std::vector<double> point = args.Numbers("center");
    if (point.size() != 2) return Unsupported("center is not x and y");
    center = {point[0], point[1]};
  }
  return MakeSchema<RandomRotationSchema>(pixels, degrees.front(), center);
}

// Python's round(value, 15).
double Round15(double value) {
  char text[64];
  const auto end =
      std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed, 15).ptr;
  double rounded = 0;
  std::from_chars(text, end, rounded);
  return rounded;
}

// Python's angle % 360.0
double FullTurn(double angle) {
  const double rest = std::fmod(angle, 360.0);
  return rest < 0 ? rest + 360.0 : rest;
}

}  // namespace

// Source: PIL/Image.py, rotate. Its shortcuts for quarter turns give the same pixels.
Status RandomRotationSchema::Draw(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                                  ImageSpec* out) const {
  const double degrees = rng.Uniform(degrees_.low, degrees_.high, pixels().rounding);
  const double angle = -Radians(FullTurn(degrees));
  const double cosine = Round15(std::cos(angle));
  const double sine = Round15(std::sin(angle));
  const Point center = center_.value_or(
      Point{static_cast<double>(in.width) / 2, static_cast<double>(in.height) / 2});
  Write({cosine, sine, cosine * -center.x + sine * -center.y + center.x, -sine, cosine,
         -sine * -center.x + cosine * -center.y + center.y},
        params);
  return Shape(in, out);
}

void RegisterSchemaRandomRotation(SchemaRegistry& registry) {
  std::vector<ArgSpec> args = {
      {"degrees", ArgType::kNumbers, std::nullopt, "bounds of the angle, counter-clockwise", true},
      {"expand", ArgType::kBool, std::int64_t{0},
       "0; a pipeline whose images grow with the angle runs as a Python stage"}};
  for (ArgSpec& arg : AffineSchema::ArgSpecs()) args.push_back(std::move(arg));
  registry.Add({.name = "random_rotation",
                .doc = "Rotates a PIL image by a random angle, as PIL does.",
                .args = std::move(args),
                .classes = {"v1.RandomRotation", "v2.RandomRotation"}},
               Make);
}

}  // namespace headrace::ops
