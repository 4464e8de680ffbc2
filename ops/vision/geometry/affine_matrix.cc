#include "ops/vision/geometry/affine_matrix.h"

#include <charconv>
#include <cmath>
#include <numbers>

namespace headrace::ops {
namespace {

// Python's round(value, 15).
double Round15(double value) {
  char text[64];
  const auto end =
      std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed, 15).ptr;
  double rounded = 0;
  std::from_chars(text, end, rounded);
  return rounded;
}

}  // namespace

// Each operation here is one operation there.
AffineMatrix InverseAffine(int api, const AffineMotion& motion, double cx, double cy) {
  const double rot = Radians(motion.angle);
  const double sx = Radians(motion.shear_x);
  const double sy = Radians(motion.shear_y);
  const double turned = rot - sy;
  AffineMatrix m;
  if (api == 1) {
    const double a = std::cos(turned) / std::cos(sy);
    const double b = -std::cos(turned) * std::tan(sx) / std::cos(sy) - std::sin(rot);
    const double c = std::sin(turned) / std::cos(sy);
    const double d = -std::sin(turned) * std::tan(sx) / std::cos(sy) + std::cos(rot);
    m = {d / motion.scale, -b / motion.scale, 0, -c / motion.scale, a / motion.scale, 0};
    m[2] = m[0] * (-cx - motion.x) + m[1] * (-cy - motion.y) + cx;
    m[5] = m[3] * (-cx - motion.x) + m[4] * (-cy - motion.y) + cy;
  } else {
    const double cos_sy = std::cos(sy);
    const double tan_sx = std::tan(sx);
    const double a = std::cos(turned) / cos_sy;
    const double b = -(a * tan_sx + std::sin(rot));
    const double c = std::sin(turned) / cos_sy;
    const double d = std::cos(rot) - c * tan_sx;
    m = {d / motion.scale, -b / motion.scale, 0, -c / motion.scale, a / motion.scale, 0};
    m[2] = cx - m[0] * (cx + motion.x) - m[1] * (cy + motion.y);
    m[5] = cy - m[3] * (cx + motion.x) - m[4] * (cy + motion.y);
  }
  return m;
}

// A float32 number of degrees next to a quarter turn is far enough from it that the comparisons
// with 1 are exact.
std::optional<int> QuarterTurns(double cosine, double sine, const ImageSpec& image) {
  if (cosine == 1 && sine == 0) return 0;
  if (cosine == -1) return 2;
  if (image.height != image.width) return std::nullopt;
  if (sine == -1) return 1;
  if (sine == 1) return 3;
  return std::nullopt;
}

Status CheckTurn(std::optional<int> turns, const ImageSpec& image) {
  constexpr std::int64_t kMostExact = (1 << 24) / 255;  // pixels of 255 that float32 adds up
  if (!turns || *turns % 2 == 0 || image.height * image.width <= kMostExact) return Status::Ok();
  return Unsupported("a quarter turn of that many pixels");
}

PilTurn PilTurnOf(double degrees) {
  const double angle = -Radians(FullTurn(degrees));
  return {Round15(std::cos(angle)), Round15(std::sin(angle))};
}

// Source: PIL/Image.py, rotate.
AffineMatrix PilRotation(double cosine, double sine, double x, double y) {
  return {cosine, sine, cosine * -x + sine * -y + x, -sine, cosine, -sine * -x + cosine * -y + y};
}

double Radians(double degrees) { return degrees * (std::numbers::pi / 180.0); }

double FullTurn(double angle) {
  const double rest = std::fmod(angle, 360.0);
  return rest < 0 ? rest + 360.0 : rest;
}

}  // namespace headrace::ops
