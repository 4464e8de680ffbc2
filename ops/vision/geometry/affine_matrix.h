#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "ops/vision/image.h"

namespace headrace::ops {

// The pixel (x, y) of the result comes from (a x + b y + c, d x + e y + f) of the source.
using AffineMatrix = std::array<double, 6>;

inline constexpr AffineMatrix kUnmoved{1, 0, 0, 0, 1, 0};

// What torchvision's affine does, in its units.
struct AffineMotion {
  double angle = 0;                 // degrees
  double x = 0, y = 0;              // pixels
  double scale = 1;                 // not 0
  double shear_x = 0, shear_y = 0;  // degrees
};

// torchvision's _get_inverse_affine_matrix of v1 (api 1) or v2, around the center (cx, cy). Its
// sines and cosines are the C library's, as in the client's torch.
[[nodiscard]] AffineMatrix InverseAffine(int api, const AffineMotion& motion, double cx, double cy);

// Quarter turns counter-clockwise by which v2's rotate of a tensor around its center moves whole
// pixels. Only some angles have them. `cosine`, `sine`: of the negative angle, which is a float32
// number of degrees in [0, 360].
[[nodiscard]] std::optional<int> QuarterTurns(double cosine, double sine, const ImageSpec& image);

// After such a turn torch keeps the pixels column by column, and a mean adds them up in that order.
// kUnsupported: the order matters for this many pixels.
Status CheckTurn(std::optional<int> turns, const ImageSpec& image);

// The cosine and the sine that PIL's Image.rotate makes of an angle, rounded as it does.
struct PilTurn {
  double cosine = 1, sine = 0;
};
[[nodiscard]] PilTurn PilTurnOf(double degrees);
// The matrix of PIL's Image.rotate around (x, y). Its shortcuts for quarter turns give the same
// pixels.
[[nodiscard]] AffineMatrix PilRotation(double cosine, double sine, double x, double y);

// math.radians
[[nodiscard]] double Radians(double degrees);
// Python's angle % 360.0
[[nodiscard]] double FullTurn(double angle);

}  // namespace headrace::ops
