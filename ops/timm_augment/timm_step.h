#pragma once

#include <cstdint>

#include "ops/core/op.h"
#include "ops/vision/geometry/affine_matrix.h"
#include "ops/vision/geometry/interpolation.h"
#include "ops/vision/image.h"

namespace headrace::ops {

// timm's operations by their names there. Values go over the wire.
enum class TimmOp : std::uint8_t {
  kAutoContrast = 0,
  kEqualize = 1,
  kInvert = 2,
  kRotate = 3,
  kPosterize = 4,
  kPosterizeIncreasing = 5,
  kPosterizeOriginal = 6,
  kSolarize = 7,
  kSolarizeIncreasing = 8,
  kSolarizeAdd = 9,
  kColor = 10,
  kColorIncreasing = 11,
  kContrast = 12,
  kContrastIncreasing = 13,
  kBrightness = 14,
  kBrightnessIncreasing = 15,
  kSharpness = 16,
  kSharpnessIncreasing = 17,
  kShearX = 18,
  kShearY = 19,
  kTranslateX = 20,
  kTranslateY = 21,
  kTranslateXRel = 22,
  kTranslateYRel = 23,
};
inline constexpr std::int64_t kTimmOps = 24;

// How the operations' arguments follow from a magnitude, which timm calls a level.
struct TimmLevels {
  double translate_pixels = 250;  // at level 10
  double translate_part = 0.45;
};

// An operation as it is done to one image: its kind without the way to its argument.
struct TimmStep {
  static constexpr std::size_t kWords = 6;  // of Params

  bool happens = false;
  TimmOp op = TimmOp::kInvert;
  Interpolation way = Interpolation::kNearest;  // of one that moves pixels
  // Bits, a threshold, what is added, a factor, a shear or pixels; a rotation's cosine and sine.
  double value = 0;
  double sine = 0;

  // Whether it moves pixels, and so has an interpolation.
  [[nodiscard]] bool moves() const;
  // The transform of one that moves pixels.
  [[nodiscard]] AffineMatrix MatrixFor(const ImageSpec& image) const;

  void Write(MutableParams words) const;
  // kInvalidArgument: no draw writes such words.
  static Result<TimmStep> Read(Params words);
};

// The argument of an operation at that level, with its draws: half of the signed ones are negated.
// Source: timm/data/auto_augment.py, the functions *_level_to_arg. Of a rotation the degrees.
[[nodiscard]] double TimmArgument(TimmOp op, double level, const TimmLevels& levels,
                                  const ImageSpec& image, PythonGenerator& rng);

}  // namespace headrace::ops
