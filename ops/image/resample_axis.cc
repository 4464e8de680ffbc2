#include "ops/image/resample_axis.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace headrace::ops {
namespace {

// The filters are libImaging's, operation by operation: every rounding counts.
double BoxFilter(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double BilinearFilter(double x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

double HammingFilter(double x) {
  x = std::abs(x);
  if (x == 0.0) return 1.0;
  if (x >= 1.0) return 0.0;
  x = x * std::numbers::pi;
  return std::sin(x) / x * (0.54F + 0.46F * std::cos(x));
}

double BicubicFilter(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0.0;
}

double Sinc(double x) {
  if (x == 0.0) return 1.0;
  x = x * std::numbers::pi;
  return std::sin(x) / x;
}

double LanczosFilter(double x) { return -3.0 <= x && x < 3.0 ? Sinc(x) * Sinc(x / 3) : 0.0; }

double Support(Filter filter) {
  switch (filter) {
    case Filter::kBox:
      return 0.5;
    case Filter::kNearest:
    case Filter::kBilinear:
    case Filter::kHamming:
      return 1.0;
    case Filter::kBicubic:
      return 2.0;
    case Filter::kLanczos:
      return 3.0;
  }
  return 0.0;
}

double (*FilterFunction(Filter filter))(double) {
  switch (filter) {
    case Filter::kBox:
      return BoxFilter;
    case Filter::kNearest:
    case Filter::kBilinear:
      return BilinearFilter;
    case Filter::kHamming:
      return HammingFilter;
    case Filter::kBicubic:
      return BicubicFilter;
    case Filter::kLanczos:
      return LanczosFilter;
  }
  return nullptr;
}

std::int32_t ToFixed(double weight) {
  constexpr double kOne = 1 << ResampleAxis::kPrecisionBits;
  return static_cast<std::int32_t>(weight < 0 ? -0.5 + weight * kOne : 0.5 + weight * kOne);
}

// Three signed bytes of four weights; false when the value needs more.
bool SplitBytes(const std::int32_t* weights, std::uint32_t* words) {
  words[0] = words[1] = words[2] = 0;
  bool fits = true;
  for (int tap = 0; tap < ResampleAxis::kGroup; ++tap) {
    std::int32_t rest = weights[tap];
    for (int part = 0; part < 3; ++part) {
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

void SplitPairs(const std::int32_t* weights, std::uint32_t* words) {
  for (int i = 0; i < ResampleAxis::kGroup; i += 2) {
    words[i] = Pair(weights[i] >> 12, weights[i + 1] >> 12);
    words[i + 1] = Pair(weights[i] & 4095, weights[i + 1] & 4095);
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

void ResampleAxis::Make(std::int32_t input_size, float begin, float end, std::int32_t output_size,
                        Filter kind, SimdLevel level) {
  HR_CHECK(input_size > 0 && output_size > 0 && kind != Filter::kNearest);
  in_size = input_size;
  out_size = output_size;
  in_begin = begin;
  in_end = end;
  filter = kind;
  fits_simd = true;
  const auto function = FilterFunction(kind);
  const double scale = static_cast<double>(end - begin) / output_size;
  const double filter_scale = std::max(scale, 1.0);
  const double support = Support(kind) * filter_scale;
  const double inverse_scale = 1.0 / filter_scale;
  const int max_taps = static_cast<int>(std::ceil(support)) * 2 + 1;
  groups = (max_taps + kGroup - 1) / kGroup;
  const int stride = groups * kGroup;
  first.resize(output_size);
  count.resize(output_size);
  weight.assign(static_cast<std::size_t>(output_size) * stride, 0);
  std::vector<double> exact(max_taps);
  for (int i = 0; i < output_size; ++i) {
    const double center = begin + (i + 0.5) * scale;
    const int low = std::max(static_cast<int>(center - support + 0.5), 0);
    const int high = std::min(static_cast<int>(center + support + 0.5), input_size);
    const int taps = high - low;
    double sum = 0.0;
    for (int tap = 0; tap < taps; ++tap) {
      exact[tap] = function((tap + low - center + 0.5) * inverse_scale);
      sum += exact[tap];
    }
    std::int32_t* out = &weight[static_cast<std::size_t>(i) * stride];
    for (int tap = 0; tap < taps; ++tap) {
      out[tap] = ToFixed(sum != 0.0 ? exact[tap] / sum : exact[tap]);
    }
    first[i] = low;
    count[i] = std::max(taps, 0);
  }
  const std::size_t all_groups = static_cast<std::size_t>(output_size) * groups;
  bytes.clear();
  pairs.clear();
  if (level == SimdLevel::kAvx512Vnni) {
    bytes.resize(all_groups * 3);
    for (std::size_t g = 0; g < all_groups; ++g) {
      fits_simd &= SplitBytes(&weight[g * kGroup], &bytes[g * 3]);
    }
  } else if (level == SimdLevel::kAvx2) {
    pairs.resize(all_groups * 4);
    for (std::size_t g = 0; g < all_groups; ++g) SplitPairs(&weight[g * kGroup], &pairs[g * 4]);
  }
}

}  // namespace headrace::ops
