#include "ops/timm_augment/timm_step.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace headrace::ops {
namespace {

constexpr double kLevels = 10;      // timm's _LEVEL_DENOM
constexpr double kMostValue = 1e7;  // no argument is larger

double Negated(double value, PythonGenerator& rng) { return rng.Random() > 0.5 ? -value : value; }

double Truncated(double value) { return std::trunc(value); }

double Increasing(double part, PythonGenerator& rng) {
  const double factor = 1.0 + Negated(part * .9, rng);
  return factor > 0.1 ? factor : 0.1;
}

double PosterizeBits(double part) { return Truncated(part * 4); }

double SolarizeBound(double part) { return std::min(256.0, Truncated(part * 256)); }

void WriteDouble(double value, MutableParams words) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  words[0] = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
  words[1] = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits >> 32));
}

double ReadDouble(Params words) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::uint32_t>(words[0])) |
                               static_cast<std::uint64_t>(static_cast<std::uint32_t>(words[1]))
                                   << 32);
}

}  // namespace

double TimmArgument(TimmOp op, double level, const TimmLevels& levels, const ImageSpec& image,
                    PythonGenerator& rng) {
  const double part = level / kLevels;
  switch (op) {
    case TimmOp::kAutoContrast:
    case TimmOp::kEqualize:
    case TimmOp::kInvert:
      return 0;
    case TimmOp::kRotate:
      return Negated(part * 30., rng);
    case TimmOp::kPosterize:
      return PosterizeBits(part);
    case TimmOp::kPosterizeIncreasing:
      return 4 - PosterizeBits(part);
    case TimmOp::kPosterizeOriginal:
      return PosterizeBits(part) + 4;
    case TimmOp::kSolarize:
      return SolarizeBound(part);
    case TimmOp::kSolarizeIncreasing:
      return 256 - SolarizeBound(part);
    case TimmOp::kSolarizeAdd:
      return std::min(128.0, Truncated(part * 110));
    case TimmOp::kColor:
    case TimmOp::kContrast:
    case TimmOp::kBrightness:
    case TimmOp::kSharpness:
      return part * 1.8 + 0.1;
    case TimmOp::kColorIncreasing:
    case TimmOp::kContrastIncreasing:
    case TimmOp::kBrightnessIncreasing:
    case TimmOp::kSharpnessIncreasing:
      return Increasing(part, rng);
    case TimmOp::kShearX:
    case TimmOp::kShearY:
      return Negated(part * 0.3, rng);
    case TimmOp::kTranslateX:
    case TimmOp::kTranslateY:
      return Negated(part * levels.translate_pixels, rng);
    case TimmOp::kTranslateXRel:
      return Negated(part * levels.translate_part, rng) * static_cast<double>(image.width);
    case TimmOp::kTranslateYRel:
      return Negated(part * levels.translate_part, rng) * static_cast<double>(image.height);
  }
  return 0;
}

bool TimmStep::moves() const { return op == TimmOp::kRotate || op >= TimmOp::kShearX; }

AffineMatrix TimmStep::MatrixFor(const ImageSpec& image) const {
  switch (op) {
    case TimmOp::kRotate:
      return PilRotation(value, sine, static_cast<double>(image.width) / 2,
                         static_cast<double>(image.height) / 2);
    case TimmOp::kShearX:
      return {1, value, 0, 0, 1, 0};
    case TimmOp::kShearY:
      return {1, 0, 0, value, 1, 0};
    case TimmOp::kTranslateX:
    case TimmOp::kTranslateXRel:
      return {1, 0, value, 0, 1, 0};
    case TimmOp::kTranslateY:
    case TimmOp::kTranslateYRel:
      return {1, 0, 0, 0, 1, value};
    default:
      return kUnmoved;
  }
}

void TimmStep::Write(MutableParams words) const {
  words[0] = happens ? static_cast<std::int32_t>(op) + 1 : 0;
  words[1] = static_cast<std::int32_t>(way);
  WriteDouble(value, words.subspan(2, 2));
  WriteDouble(sine, words.subspan(4, 2));
}

Result<TimmStep> TimmStep::Read(Params words) {
  TimmStep step;
  if (words[0] == 0) return step;
  if (words[0] < 0 || words[0] > kTimmOps) {
    return InvalidArgument("operation " + std::to_string(words[0]) + " is none");
  }
  step.happens = true;
  step.op = static_cast<TimmOp>(words[0] - 1);
  step.value = ReadDouble(words.subspan(2, 2));
  step.sine = ReadDouble(words.subspan(4, 2));
  if (!(std::abs(step.value) <= kMostValue) || !(std::abs(step.sine) <= 1)) {
    return InvalidArgument("an operation's argument is out of range");
  }
  step.way = static_cast<Interpolation>(words[1]);
  if (step.way != Interpolation::kNearest && step.way != Interpolation::kBilinear &&
      step.way != Interpolation::kBicubic) {
    return InvalidArgument("interpolation " + std::to_string(words[1]) + " is never drawn");
  }
  return step;
}

}  // namespace headrace::ops
