#include "ops/vision/resample/resample_weights.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "base/check.h"

namespace headrace::ops {
namespace {

// The filters are those of libImaging and torch, operation by operation, since every rounding
// counts.
template <typename T>
T BoxFilter(T x) {
  return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
}

template <typename T>
T BilinearFilter(T x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

template <typename T>
T HammingFilter(T x) {
  x = std::abs(x);
  if (x == 0.0) return 1.0;
  if (x >= 1.0) return 0.0;
  x = x * std::numbers::pi;
  return std::sin(x) / x * (0.54F + 0.46F * std::cos(x));
}

template <typename T>
T BicubicFilter(T x);

template <>
double BicubicFilter(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0.0;
}

// The float32 filter of torch, whose compiler fused what it could.
template <>
float BicubicFilter(float x) {
  constexpr float kA = -0.5F;
  x = std::abs(x);
  if (x < 1.0F) return std::fma(std::fma(kA + 2, x, -(kA + 3)) * x, x, 1.0F);
  if (x < 2.0F) return std::fma(std::fma(std::fma(kA, x, -5 * kA), x, 8 * kA), x, -4 * kA);
  return 0.0F;
}

// The filter of torch without antialias, with OpenCV's constant.
double SharpBicubicFilter(double x) {
  constexpr double kA = -0.75;
  x = std::abs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
  if (x < 2.0) return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
  return 0.0;
}

template <typename T>
T Sinc(T x) {
  if (x == 0.0) return 1.0;
  x = x * std::numbers::pi;
  return std::sin(x) / x;
}

template <typename T>
T LanczosFilter(T x) {
  return -3.0 <= x && x < 3.0 ? Sinc(x) * Sinc(x / 3) : 0.0;
}

double Support(Filter filter) {
  switch (filter) {
    case Filter::kBox:
      return 0.5;
    case Filter::kBilinear:
    case Filter::kHamming:
      return 1.0;
    case Filter::kBicubic:
      return 2.0;
    case Filter::kLanczos:
      return 3.0;
    case Filter::kNearest:
    case Filter::kNearestExact:
      break;
  }
  return 0.0;
}

template <typename T>
void Allocate(const AxisSpec& spec, int max_taps, Weights<T>& out) {
  out.largest = 0;
  out.groups = (max_taps + Weights<T>::kGroup - 1) / Weights<T>::kGroup;
  const auto size = static_cast<std::size_t>(spec.out_size);
  out.first.resize(size);
  out.count.resize(size);
  out.weight.assign(size * static_cast<std::size_t>(out.groups) * Weights<T>::kGroup, T{0});
}

// Widens the filter where the image shrinks. Sources: Pillow Resample.c, precompute_coeffs; torch
// UpSampleKernel.cpp, _compute_indices_min_size_weights_aa.
template <auto kFilter, typename T>
void MakeAntialiased(const AxisSpec& spec, Weights<T>& out) {
  const T scale = static_cast<T>(spec.in_end - spec.in_begin) / static_cast<T>(spec.out_size);
  const T support = static_cast<T>(Support(spec.filter) * std::max<double>(scale, 1.0));
  const T inverse_scale = static_cast<T>(1.0 / std::max<double>(scale, 1.0));
  const int max_taps = static_cast<int>(std::ceil(support)) * 2 + 1;
  Allocate(spec, max_taps, out);
  T* weight = out.weight.data();
  for (int i = 0; i < spec.out_size; ++i, weight += out.groups * Weights<T>::kGroup) {
    const T center = static_cast<T>(spec.in_begin + (i + 0.5) * scale);
    const int low = std::max(static_cast<int>(center - support + 0.5), 0);
    const int high = std::min(static_cast<int>(center + support + 0.5), spec.in_size);
    const int taps = std::clamp(high - low, 0, max_taps);
    T sum = 0;
    for (int tap = 0; tap < taps; ++tap) {
      const T from_center = static_cast<T>(tap + low) - center;
      weight[tap] = kFilter(static_cast<T>((from_center + 0.5) * inverse_scale));
      sum += weight[tap];
    }
    for (int tap = 0; tap < taps && sum != 0; ++tap) {
      weight[tap] /= sum;
      out.largest = std::max(out.largest, weight[tap]);
    }
    out.first[static_cast<std::size_t>(i)] = low;
    out.count[static_cast<std::size_t>(i)] = taps;
  }
}

// Uses the same number of taps even where the image shrinks. Taps outside the image are added to
// the edge's tap. Source: torch UpSampleKernel.cpp, _compute_indices_min_size_weights.
void MakeSharp(const AxisSpec& spec, Weights<double>& out) {
  const bool cubic = spec.filter == Filter::kBicubic;
  HR_CHECK(cubic || spec.filter == Filter::kBilinear);
  const auto filter = cubic ? SharpBicubicFilter : BilinearFilter<double>;
  const int reach = cubic ? 2 : 1;
  Allocate(spec, 2 * reach, out);
  const double scale = static_cast<double>(spec.in_size) / spec.out_size;
  double* weight = out.weight.data();
  for (int i = 0; i < spec.out_size; ++i, weight += out.groups * Weights<double>::kGroup) {
    double at = scale * (i + 0.5) - 0.5;
    if (!cubic && at < 0) at = 0;
    // Goes through float, as torch's floorf does.
    const int index =
        std::min(static_cast<int>(std::floor(static_cast<float>(at))), spec.in_size - 1);
    const double lambda = std::clamp(at - index, 0.0, 1.0);
    const int begin = index - reach + 1;
    const int low = std::max(begin, 0);
    const int taps = std::min(index + reach + 1, spec.in_size) - low;
    int to = 0;
    for (int j = 0; j < 2 * reach; ++j, ++to) {
      if (begin + j <= 0) {
        to = 0;
      } else if (begin + j >= spec.in_size - 1) {
        to = taps - 1;
      }
      weight[to] += filter(static_cast<double>(j + 1 - reach) - lambda);
      out.largest = std::max(out.largest, weight[to]);
    }
    out.first[static_cast<std::size_t>(i)] = low;
    out.count[static_cast<std::size_t>(i)] = taps;
  }
}

}  // namespace

template <typename T>
void Weights<T>::Make(const AxisSpec& spec) {
  HR_CHECK(spec.in_size > 0 && spec.out_size > 0 && Support(spec.filter) > 0);
  if constexpr (std::is_same_v<T, double>) {
    if (!spec.antialias) return MakeSharp(spec, *this);
  }
  switch (spec.filter) {
    case Filter::kBox:
      return MakeAntialiased<BoxFilter<T>>(spec, *this);
    case Filter::kBilinear:
      return MakeAntialiased<BilinearFilter<T>>(spec, *this);
    case Filter::kHamming:
      return MakeAntialiased<HammingFilter<T>>(spec, *this);
    case Filter::kBicubic:
      return MakeAntialiased<BicubicFilter<T>>(spec, *this);
    case Filter::kLanczos:
      return MakeAntialiased<LanczosFilter<T>>(spec, *this);
    case Filter::kNearest:
    case Filter::kNearestExact:
      break;
  }
}

template struct Weights<double>;
template struct Weights<float>;

}  // namespace headrace::ops
