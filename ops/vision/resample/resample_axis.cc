#include "ops/vision/resample/resample_axis.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headrace::ops {
namespace {

constexpr int kPillowBits = ResampleAxis::kPillowBits;

int TorchBits(double largest) {
  for (int bits = 0; bits < kPillowBits; ++bits) {
    if (static_cast<int>(0.5 + largest * (1 << (bits + 1))) >= 1 << 15) return bits;
  }
  return kPillowBits;
}

std::int32_t ToFixed(double weight, int bits) {
  const double scaled = weight * (1 << bits);
  return static_cast<std::int32_t>(scaled + std::copysign(0.5, scaled));
}

// Splits the weights into signed bytes, one word for each part of each group. False: a weight needs
// more parts.
template <int kParts>
bool SplitBytes(const std::vector<std::int32_t>& weights, std::vector<std::uint32_t>& words) {
  constexpr int kGroup = ResampleAxis::kGroup;
  const std::size_t groups = weights.size() / kGroup;
  words.resize(groups * kParts);
  const std::int32_t* weight = weights.data();
  std::uint32_t* word = words.data();
  std::int32_t left = 0;
  for (std::size_t g = 0; g < groups; ++g, weight += kGroup) {
    std::int32_t rest[kGroup] = {weight[0], weight[1], weight[2], weight[3]};
    for (int part = 0; part < kParts; ++part) {
      std::uint32_t bytes = 0;
      for (int tap = 0; tap < kGroup; ++tap) {
        bytes |= (static_cast<std::uint32_t>(rest[tap]) & 0xffU) << (8 * tap);
        rest[tap] = (rest[tap] + 128) >> 8;  // without the signed byte
      }
      *word++ = bytes;
    }
    left |= rest[0] | rest[1] | rest[2] | rest[3];
  }
  return left == 0;
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
  if (HasFloatWeights(axis.arithmetic)) {
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

void ResampleAxis::MakeFixed(SimdLevel level) {
  const bool pillow = spec.arithmetic == ResizeArithmetic::kPillow;
  precision_bits = pillow ? kPillowBits : TorchBits(exact_.largest);
  weight.resize(exact_.weight.size());
  for (std::size_t i = 0; i < weight.size(); ++i) {
    weight[i] = ToFixed(exact_.weight[i], precision_bits);
  }
  if (level == SimdLevel::kAvx512Vnni) {
    // torch's weights fit two bytes, except those close to 2^15.
    const bool two = !pillow && SplitBytes<2>(weight, bytes);
    parts = two ? 2 : 3;
    fits_simd = two || SplitBytes<3>(weight, bytes);
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
