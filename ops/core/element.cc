#include "ops/core/element.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace headrace::ops {
namespace {

// A binary floating-point type narrower than float32.
struct Narrow {
  int digits;          // digits of the significand, with the hidden one
  int least_exponent;  // for normal numbers, as std::ilogb counts
  double largest;      // finite
};
constexpr Narrow kHalf{11, -14, 65504};
constexpr Narrow kBrain{8, -126, 0x1.fep127};

double RoundNarrow(const Narrow& type, float value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), type.least_exponent) - (type.digits - 1);
  const double rounded =
      std::scalbn(std::nearbyint(std::scalbn(static_cast<double>(value), -exponent)), exponent);
  if (std::abs(rounded) <= type.largest) return rounded;
  return std::copysign(std::numeric_limits<double>::infinity(), rounded);
}

std::uint64_t HalfBits(double value) {
  const std::uint64_t sign = std::signbit(value) ? 0x8000U : 0U;
  const double size = std::abs(value);
  if (std::isnan(value)) return sign | 0x7e00U;
  if (std::isinf(value)) return sign | 0x7c00U;
  // Below the normal numbers the bits count steps of 2^-24. Above, the exponent precedes them.
  if (size < 0x1p-14) return sign | static_cast<std::uint64_t>(size * 0x1p24);
  const int exponent = std::ilogb(size);
  const auto significand = static_cast<std::uint64_t>(std::scalbn(size, 10 - exponent));
  return sign | (static_cast<std::uint64_t>(exponent + 15) << 10) | (significand - 1024);
}

}  // namespace

bool IsFloat(DType type) {
  return type == DType::kF16 || type == DType::kBF16 || type == DType::kF32 || type == DType::kF64;
}

double RoundTo(DType type, double value) {
  switch (type) {
    case DType::kF16:
      return RoundNarrow(kHalf, static_cast<float>(value));
    case DType::kBF16:
      return RoundNarrow(kBrain, static_cast<float>(value));
    case DType::kF32:
      return static_cast<float>(value);
    default:
      return value;
  }
}

std::uint64_t ElementBits(DType type, double value) {
  switch (type) {
    case DType::kF16:
      return HalfBits(value);
    case DType::kBF16:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16;
    case DType::kF32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case DType::kF64:
      return std::bit_cast<std::uint64_t>(value);
    default:
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
}

}  // namespace headrace::ops
