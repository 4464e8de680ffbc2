#include "ops/image/resample_axis.h"

#include <algorithm>
#include <utility>

namespace headrace::ops {
namespace {

constexpr int kPillowBits = 22;
constexpr int kPillowParts = 3;  // bytes of a weight

int TorchBits(double largest) {
  for (int bits = 0; bits < kPillowBits; ++bits) {
    if (static_cast<int>(0.5 + largest * (1 << (bits + 1))) >= 1 << 15) return bits;
  }
  return kPillowBits;
}

std::int32_t ToFixed(double weight, int bits) {
  const double scaled = weight * (1 << bits);
  return static_cast<std::int32_t>(scaled < 0 ? -0.5 + scaled : 0.5 + scaled);
}

// Signed bytes of four weights, one word for each part; false when a value needs more.
bool SplitBytes(const std::int32_t* weights, int parts, std::uint32_t* words) {
  std::fill_n(words, parts, 0U);
  bool fits = true;
  for (int tap = 0; tap < ResampleAxis::kGroup; ++tap) {
    std::int32_t rest = weights[tap];
    for (int part = 0; part < parts; ++part) {
      const auto byte = static_cast<std::int8_t>(rest & 0xff);
      words[part] |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(byte)) << (8 * tap);
      rest = (rest - byte) >> 8;
    }
    fits &= rest == 0;
  }
  return fits;
}

std::uint32_t Pair(std::int32_t a, std::int32_t b) {
  return (static_cast<std::uint32_t>(a) & 0xffffU) | (static_cast<std::uint32_t>(b) << 16);
}

void SplitPairs(const std::int32_t* weights, int parts, std::uint32_t* words) {
  for (int i = 0; i < ResampleAxis::kGroup; i += 2) {
    if (parts == 1) {
      *words++ = Pair(weights[i], weights[i + 1]);
    } else {
      constexpr int kBits = ResampleAxis::kLowPartBits;
      constexpr std::int32_t kLow = (1 << kBits) - 1;
      *words++ = Pair(weights[i] >> kBits, weights[i + 1] >> kBits);
      *words++ = Pair(weights[i] & kLow, weights[i + 1] & kLow);
    }
  }
}

}  // namespace

std::int32_t ResampleAxis::InputBegin(std::int32_t begin, std::int32_t end) const {
  return *std::min_element(first.begin() + begin, first.begin() + end);
}

std::int32_t ResampleAxis::InputEnd(std::int32_t begin, std::int32_t end) const {
  std::int32_t last = 0;
  for (std::int32_t i = begin; i < end; ++i) last = std::max(last, first[i] + count[i]);
  return last;
}

void ResampleAxis::Make(const AxisSpec& axis, SimdLevel level) {
  spec = axis;
  fits_simd = true;
  if (axis.arithmetic == ResizeArithmetic::kTorchFloats) {
    floats_.Make(axis);
    groups = floats_.groups;
    std::swap(first, floats_.first);
    std::swap(count, floats_.count);
    std::swap(factor, floats_.weight);
    return;
  }
  exact_.Make(axis);
  groups = exact_.groups;
  std::swap(first, exact_.first);
  std::swap(count, exact_.count);
  MakeFixed(level);
}

bool ResampleAxis::FillBytes(int count_of_parts) {
  parts = count_of_parts;
  const std::size_t all_groups = weight.size() / kGroup;
  const auto words = static_cast<std::size_t>(parts);
  bytes.resize(all_groups * words);
  bool fits = true;
  for (std::size_t g = 0; g < all_groups; ++g) {
    fits &= SplitBytes(&weight[g * kGroup], parts, &bytes[g * words]);
  }
  return fits;
}

void ResampleAxis::MakeFixed(SimdLevel level) {
  const bool pillow = spec.arithmetic == ResizeArithmetic::kPillow;
  precision_bits = pillow ? kPillowBits : TorchBits(exact_.largest);
  weight.resize(exact_.weight.size());
  for (std::size_t i = 0; i < weight.size(); ++i) {
    weight[i] = ToFixed(exact_.weight[i], precision_bits);
  }
  if (level == SimdLevel::kAvx512Vnni) {
    // torch's weights fit two bytes, but for those close to 2^15.
    fits_simd = (!pillow && FillBytes(kPillowParts - 1)) || FillBytes(kPillowParts);
  } else if (level == SimdLevel::kAvx2) {
    parts = pillow ? 2 : 1;
    const std::size_t all_groups = weight.size() / kGroup;
    const std::size_t words = 2 * static_cast<std::size_t>(parts);
    pairs.resize(all_groups * words);
    for (std::size_t g = 0; g < all_groups; ++g) {
      SplitPairs(&weight[g * kGroup], parts, &pairs[g * words]);
    }
  }
}

}  // namespace headrace::ops
