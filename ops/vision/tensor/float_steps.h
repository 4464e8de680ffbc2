#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include "ops/vision/tensor/float_kernels.h"

// Included in the .cc file of each instruction set, which defines HR_TARGET before. V has the
// vectors: Float (a multiple of four floats), Mask, kSize and the operations below. Of two equal
// numbers Max and Min give the second, and of a pair with a NaN, too.
namespace headrace::ops {

#define HR_STEP HR_TARGET static inline

// Values by themselves.
template <typename V>
struct FloatSteps {
  using F = typename V::Float;

  // Cuts to [0, most]. Keeps -0 and NaN, as torch does.
  HR_STEP F Cut(F value, float most) { return V::Min(V::All(most), V::Max(V::All(0.0F), value)); }

  template <int kApi>
  HR_STEP F Blend(F value, F other, F ratio, F rest) {
    const F scaled = V::Mul(ratio, value);
    return Cut(kApi == 1 ? V::Add(scaled, V::Mul(rest, other)) : V::Fma(rest, other, scaled), 1.0F);
  }

  template <int kApi>
  HR_STEP F Gray(F r, F g, F b) {
    const F red = V::Mul(V::All(0.2989F), r);
    if (kApi == 1) {
      return V::Add(V::Add(red, V::Mul(V::All(0.587F), g)), V::Mul(V::All(0.114F), b));
    }
    return V::Fma(V::All(0.114F), b, V::Fma(V::All(0.587F), g, red));
  }

  HR_STEP F Invert(F value) { return V::Sub(V::All(1.0F), value); }
};

// Replaces all values by change(vector). The last vector is filled up with 0.
template <typename V, typename Change>
HR_TARGET inline void ChangeValues(const FloatRun& run, const Change& change) {
  std::size_t i = 0;
  for (; i + V::kSize <= run.count; i += V::kSize) {
    V::Store(run.data + i, change(V::Load(run.data + i)));
  }
  if (i == run.count) return;
  float rest[V::kSize] = {};
  std::memcpy(rest, run.data + i, (run.count - i) * sizeof(float));
  V::Store(rest, change(V::Load(rest)));
  std::memcpy(run.data + i, rest, (run.count - i) * sizeof(float));
}

template <typename V>
struct FloatScale {
  typename V::Float ratio;
  HR_TARGET inline typename V::Float operator()(typename V::Float value) const {
    return FloatSteps<V>::Cut(V::Mul(value, ratio), 1.0F);
  }
};

template <typename V, int kApi>
struct FloatBlendWith {
  typename V::Float ratio, rest, other;
  HR_TARGET inline typename V::Float operator()(typename V::Float value) const {
    return FloatSteps<V>::template Blend<kApi>(value, other, ratio, rest);
  }
};

template <typename V>
struct FloatInvert {
  HR_TARGET inline typename V::Float operator()(typename V::Float value) const {
    return FloatSteps<V>::Invert(value);
  }
};

template <typename V>
struct FloatSolarize {
  typename V::Float threshold;
  HR_TARGET inline typename V::Float operator()(typename V::Float value) const {
    return V::Select(V::AtLeast(value, threshold), FloatSteps<V>::Invert(value), value);
  }
};

template <typename V>
struct FloatPosterize {
  typename V::Float levels, inverse;
  float most;
  HR_TARGET inline typename V::Float operator()(typename V::Float value) const {
    return V::Mul(FloatSteps<V>::Cut(V::Floor(V::Mul(value, levels)), most), inverse);
  }
};

template <typename V, int kApi>
struct FloatStretchBy {
  typename V::Float low, scale;
  HR_TARGET inline typename V::Float operator()(typename V::Float value) const {
    const typename V::Float above = V::Sub(value, low);
    return FloatSteps<V>::Cut(kApi == 1 ? V::Mul(above, scale) : V::Div(above, scale), 1.0F);
  }
};

template <typename V, int kApi>
HR_TARGET inline typename V::Float Sharpened(typename V::Float value, typename V::Float other,
                                             typename V::Float ratio, typename V::Float rest) {
  using Steps = FloatSteps<V>;
  if (kApi == 1) return Steps::template Blend<1>(value, other, ratio, rest);
  return Steps::Cut(V::Fma(rest, V::Sub(other, value), value), 1.0F);
}

template <typename V, int kApi>
HR_TARGET inline void SharpenRun(const FloatRun& run, const float* others, const FloatBlend& by) {
  const typename V::Float ratio = V::All(by.ratio), rest = V::All(by.rest);
  std::size_t i = 0;
  for (; i + V::kSize <= run.count; i += V::kSize) {
    V::Store(run.data + i,
             Sharpened<V, kApi>(V::Load(run.data + i), V::Load(others + i), ratio, rest));
  }
  if (i == run.count) return;
  const std::size_t bytes = (run.count - i) * sizeof(float);
  float last[V::kSize] = {}, last_others[V::kSize] = {};
  std::memcpy(last, run.data + i, bytes);
  std::memcpy(last_others, others + i, bytes);
  V::Store(last, Sharpened<V, kApi>(V::Load(last), V::Load(last_others), ratio, rest));
  std::memcpy(run.data + i, last, bytes);
}

// kSize colour pixels.
template <typename V>
struct FloatColors {
  typename V::Float r, g, b, rest;
};

// The gray of pixels, blended with them.
template <typename V, int kApi>
struct FloatGrayBlend {
  typename V::Float ratio, rest;
  HR_TARGET inline typename V::Mask operator()(FloatColors<V>& p) const {
    using Steps = FloatSteps<V>;
    const typename V::Float gray = Steps::template Gray<kApi>(p.r, p.g, p.b);
    p.r = Steps::template Blend<kApi>(p.r, gray, ratio, rest);
    p.g = Steps::template Blend<kApi>(p.g, gray, ratio, rest);
    p.b = Steps::template Blend<kApi>(p.b, gray, ratio, rest);
    return V::IsNumber(gray);
  }
};

// Source: torchvision's _rgb2hsv and _hsv2rgb.
template <typename V, int kApi>
struct FloatHueTurn {
  using F = typename V::Float;
  F factor;

  HR_TARGET inline typename V::Mask operator()(FloatColors<V>& pixel) const {
    const F zero = V::All(0.0F), one = V::All(1.0F), six = V::All(6.0F);
    // Of equal channels the first: there may be zeros of both signs.
    const F most = V::Max(pixel.b, V::Max(pixel.g, pixel.r));
    const F least = V::Min(pixel.b, V::Min(pixel.g, pixel.r));
    const typename V::Mask flat = V::Equal(most, least);
    const F span = V::Sub(most, least);
    const F s = V::Div(span, V::Select(flat, one, most));
    const F range = V::Select(flat, one, span);
    const F rc = V::Div(V::Sub(most, pixel.r), range);
    const F gc = V::Div(V::Sub(most, pixel.g), range);
    const F bc = V::Div(V::Sub(most, pixel.b), range);
    // These are parts of 1, except where a channel or the range is no finite number.
    const typename V::Mask finite =
        V::And(V::And(V::AtLeast(one, rc), V::AtLeast(one, gc)), V::AtLeast(one, bc));
    const F of_red = V::Sub(bc, gc);
    const F of_green = V::Sub(V::Add(V::All(2.0F), rc), bc);
    const F of_blue = V::Sub(V::Add(V::All(4.0F), gc), rc);
    const F sixths = V::Select(V::Equal(most, pixel.r), of_red,
                               V::Select(V::Equal(most, pixel.g), of_green, of_blue));
    const F turns = V::Add(
        kApi == 1 ? V::Div(sixths, six) : V::Mul(sixths, V::All(static_cast<float>(1.0 / 6.0))),
        one);
    F h = V::Add(V::Sub(turns, V::Floor(turns)), factor);
    h = V::Sub(h, V::Trunc(h));
    h = V::Select(V::AtLeast(h, zero), h, V::Add(h, one));

    const F h6 = V::Mul(h, six);
    const F sixth = V::Floor(h6);
    const F f = V::Sub(h6, sixth);
    const F sf = V::Mul(s, f);
    const F rest = V::Sub(one, s);
    const F away = kApi == 1 ? V::Sub(one, V::Mul(s, V::Sub(one, f))) : V::Add(sf, rest);
    using Steps = FloatSteps<V>;
    const F p = Steps::Cut(V::Mul(most, rest), 1.0F);
    const F q = Steps::Cut(V::Mul(most, V::Sub(one, sf)), 1.0F);
    const F t = Steps::Cut(V::Mul(most, away), 1.0F);
    const F values[4] = {most, p, q, t};
    // v1 adds up products with 0 and 1. So a NaN in one of them is one in all, and -0 becomes 0.
    const F others = V::Mul(V::Add(V::Add(p, q), t), zero);
    F* const channels[3] = {&pixel.r, &pixel.g, &pixel.b};
    for (int c = 0; c < 3; ++c) {
      const F chosen = V::Choose(values, kFloatPlaces[c], sixth);
      *channels[c] = kApi == 1 ? V::Add(V::Add(chosen, others), zero) : chosen;
    }
    return finite;
  }
};

// Calls change(FloatColors&) for the pixels of a run, four floats each. The last ones are filled up
// with 0. True if it always said that all are numbers.
template <typename V, typename Change>
HR_TARGET inline bool ChangePixels(const FloatRun& run, const Change& change) {
  constexpr std::size_t kFloats = 4 * V::kSize;
  typename V::Mask numbers = V::AllTrue();
  std::size_t i = 0;
  for (; i + kFloats <= run.count; i += kFloats) {
    FloatColors<V> pixels;
    V::LoadPixels(run.data + i, &pixels.r, &pixels.g, &pixels.b, &pixels.rest);
    numbers = V::And(numbers, change(pixels));
    V::StorePixels(run.data + i, pixels.r, pixels.g, pixels.b, pixels.rest);
  }
  if (i < run.count) {
    float last[kFloats] = {};
    std::memcpy(last, run.data + i, (run.count - i) * sizeof(float));
    FloatColors<V> pixels;
    V::LoadPixels(last, &pixels.r, &pixels.g, &pixels.b, &pixels.rest);
    numbers = V::And(numbers, change(pixels));
    V::StorePixels(last, pixels.r, pixels.g, pixels.b, pixels.rest);
    std::memcpy(run.data + i, last, (run.count - i) * sizeof(float));
  }
  return V::Everywhere(numbers);
}

template <typename V, int kApi>
HR_TARGET inline typename V::Mask GrayVector(const float* from, float* to) {
  FloatColors<V> p;
  V::LoadPixels(from, &p.r, &p.g, &p.b, &p.rest);
  const typename V::Float gray = FloatSteps<V>::template Gray<kApi>(p.r, p.g, p.b);
  V::StoreInOrder(to, gray);
  return V::IsNumber(gray);
}

template <typename V, int kApi>
HR_TARGET inline bool GrayPixels(const float* pixels, std::size_t count, float* out) {
  typename V::Mask numbers = V::AllTrue();
  std::size_t i = 0;
  for (; i + V::kSize <= count; i += V::kSize) {
    numbers = V::And(numbers, GrayVector<V, kApi>(pixels + 4 * i, out + i));
  }
  if (i < count) {
    float last[4 * V::kSize] = {}, grays[V::kSize];
    std::memcpy(last, pixels + 4 * i, 4 * (count - i) * sizeof(float));
    numbers = V::And(numbers, GrayVector<V, kApi>(last, grays));
    std::memcpy(out + i, grays, (count - i) * sizeof(float));
  }
  return V::Everywhere(numbers);
}

// The table of one instruction set.
template <typename V>
struct FloatTable {
  HR_STEP void Scale(const FloatRun& run, float ratio) {
    ChangeValues<V>(run, FloatScale<V>{V::All(ratio)});
  }
  HR_STEP void Blend(const FloatRun& run, const FloatBlend& by, float other) {
    const typename V::Float ratio = V::All(by.ratio), rest = V::All(by.rest);
    if (by.api == 1) {
      ChangeValues<V>(run, FloatBlendWith<V, 1>{ratio, rest, V::All(other)});
    } else {
      ChangeValues<V>(run, FloatBlendWith<V, 2>{ratio, rest, V::All(other)});
    }
  }
  HR_STEP void Invert(const FloatRun& run) { ChangeValues<V>(run, FloatInvert<V>{}); }
  HR_STEP void Solarize(const FloatRun& run, float threshold) {
    ChangeValues<V>(run, FloatSolarize<V>{V::All(threshold)});
  }
  HR_STEP void Posterize(const FloatRun& run, float levels) {
    ChangeValues<V>(run, FloatPosterize<V>{V::All(levels), V::All(1.0F / levels), levels - 1.0F});
  }
  HR_STEP void BoundsOf(const float* values, std::size_t count, float* least, float* most) {
    constexpr float kEndless = std::numeric_limits<float>::infinity();
    typename V::Float low = V::All(kEndless), high = V::All(-kEndless);
    std::size_t i = 0;
    for (; i + V::kSize <= count; i += V::kSize) {
      const typename V::Float value = V::Load(values + i);
      low = V::Min(value, low);
      high = V::Max(value, high);
    }
    float lows[V::kSize], highs[V::kSize];
    V::Store(lows, low);
    V::Store(highs, high);
    for (; i < count; ++i) {
      lows[i % V::kSize] = std::min(lows[i % V::kSize], values[i]);
      highs[i % V::kSize] = std::max(highs[i % V::kSize], values[i]);
    }
    for (std::size_t lane = 0; lane < 4; ++lane) {
      least[lane] = lows[lane];
      most[lane] = highs[lane];
      for (std::size_t more = lane + 4; more < V::kSize; more += 4) {
        least[lane] = std::min(least[lane], lows[more]);
        most[lane] = std::max(most[lane], highs[more]);
      }
    }
  }
  HR_STEP void Stretch(const FloatRun& run, const FloatStretch& by) {
    const typename V::Float low = V::Four(by.low), scale = V::Four(by.scale);
    if (by.api == 1) {
      ChangeValues<V>(run, FloatStretchBy<V, 1>{low, scale});
    } else {
      ChangeValues<V>(run, FloatStretchBy<V, 2>{low, scale});
    }
  }
  HR_STEP void Sharpen(const FloatRun& run, const float* others, const FloatBlend& by) {
    by.api == 1 ? SharpenRun<V, 1>(run, others, by) : SharpenRun<V, 2>(run, others, by);
  }
  HR_STEP bool Finite(const float* values, std::size_t count, const float* lanes) {
    const typename V::Mask outside = V::Equal(V::Four(lanes), V::All(0.0F));
    typename V::Mask numbers = V::AllTrue();
    std::size_t i = 0;
    for (; i + V::kSize <= count; i += V::kSize) {
      const typename V::Float value = V::Select(outside, V::All(0.0F), V::Load(values + i));
      numbers = V::And(numbers, V::IsNumber(V::Sub(value, value)));
    }
    float last[V::kSize] = {};
    if (i < count) std::memcpy(last, values + i, (count - i) * sizeof(float));
    const typename V::Float value = V::Select(outside, V::All(0.0F), V::Load(last));
    return V::Everywhere(V::And(numbers, V::IsNumber(V::Sub(value, value))));
  }
  HR_STEP bool Gray(const float* pixels, std::size_t count, int api, float* out) {
    return api == 1 ? GrayPixels<V, 1>(pixels, count, out) : GrayPixels<V, 2>(pixels, count, out);
  }
  HR_STEP bool BlendWithGray(const FloatRun& run, const FloatBlend& by) {
    const typename V::Float ratio = V::All(by.ratio), rest = V::All(by.rest);
    return by.api == 1 ? ChangePixels<V>(run, FloatGrayBlend<V, 1>{ratio, rest})
                       : ChangePixels<V>(run, FloatGrayBlend<V, 2>{ratio, rest});
  }
  HR_STEP bool TurnHue(const FloatRun& run, float factor, int api) {
    return api == 1 ? ChangePixels<V>(run, FloatHueTurn<V, 1>{V::All(factor)})
                    : ChangePixels<V>(run, FloatHueTurn<V, 2>{V::All(factor)});
  }

  static constexpr FloatKernels With(void (*sample)(const GridJob& job, float* out)) {
    return {Scale,   Blend,  Invert, Solarize,      Posterize, BoundsOf, Stretch,
            Sharpen, Finite, Gray,   BlendWithGray, TurnHue,   sample};
  }
};

#undef HR_STEP

}  // namespace headrace::ops
