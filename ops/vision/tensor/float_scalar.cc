#include <algorithm>
#include <cmath>
#include <cstddef>

#define HR_TARGET

#include "ops/vision/tensor/float_grid.h"
#include "ops/vision/tensor/float_steps.h"

namespace headrace::ops {
namespace {

// The floats of one pixel, or one channel of four pixels. Methods: one for each instruction.
struct FloatScalar {
  struct Float {
    float at[4];
  };
  struct Mask {
    bool at[4];
  };
  static constexpr std::size_t kSize = 4, kFloats = 4;

  template <typename Make>
  static Float Each(Make make) {
    return {{make(0), make(1), make(2), make(3)}};
  }
  template <typename Look>
  static Mask EachMask(Look look) {
    return {{look(0), look(1), look(2), look(3)}};
  }

  static Float Load(const float* p) {
    return Each([&](int i) { return p[i]; });
  }
  static void Store(float* p, const Float& v) {
    for (int i = 0; i < 4; ++i) p[i] = v.at[i];
  }
  static void StoreInOrder(float* p, const Float& v) { Store(p, v); }
  static Float All(float value) { return {{value, value, value, value}}; }
  static Float Four(const float* p) { return Load(p); }
  static void LoadPixels(const float* p, Float* r, Float* g, Float* b, Float* rest) {
    for (int i = 0; i < 4; ++i, p += 4) {
      r->at[i] = p[0];
      g->at[i] = p[1];
      b->at[i] = p[2];
      rest->at[i] = p[3];
    }
  }
  static void StorePixels(float* p, const Float& r, const Float& g, const Float& b,
                          const Float& rest) {
    for (int i = 0; i < 4; ++i, p += 4) {
      p[0] = r.at[i];
      p[1] = g.at[i];
      p[2] = b.at[i];
      p[3] = rest.at[i];
    }
  }

  static Float Add(const Float& a, const Float& b) {
    return Each([&](int i) { return a.at[i] + b.at[i]; });
  }
  static Float Sub(const Float& a, const Float& b) {
    return Each([&](int i) { return a.at[i] - b.at[i]; });
  }
  static Float Mul(const Float& a, const Float& b) {
    return Each([&](int i) { return a.at[i] * b.at[i]; });
  }
  static Float Div(const Float& a, const Float& b) {
    return Each([&](int i) { return a.at[i] / b.at[i]; });
  }
  static Float Fma(const Float& a, const Float& b, const Float& c) {
    return Each([&](int i) { return std::fma(a.at[i], b.at[i], c.at[i]); });
  }
  static Float Max(const Float& a, const Float& b) {
    return Each([&](int i) { return a.at[i] > b.at[i] ? a.at[i] : b.at[i]; });
  }
  static Float Min(const Float& a, const Float& b) {
    return Each([&](int i) { return a.at[i] < b.at[i] ? a.at[i] : b.at[i]; });
  }
  static Float Floor(const Float& a) {
    return Each([&](int i) { return std::floor(a.at[i]); });
  }
  static Float Round(const Float& a) {
    return Each([&](int i) { return std::nearbyint(a.at[i]); });
  }
  static Float Steps() { return {{0, 1, 2, 3}}; }
  static Float Trunc(const Float& a) {
    return Each([&](int i) { return std::trunc(a.at[i]); });
  }
  static Mask AtLeast(const Float& a, const Float& b) {
    return EachMask([&](int i) { return a.at[i] >= b.at[i]; });
  }
  static Mask Equal(const Float& a, const Float& b) {
    return EachMask([&](int i) { return a.at[i] == b.at[i]; });
  }
  static Mask IsNumber(const Float& a) { return Equal(a, a); }
  static Mask And(const Mask& a, const Mask& b) {
    return EachMask([&](int i) { return a.at[i] && b.at[i]; });
  }
  static Mask AllTrue() { return {{true, true, true, true}}; }
  static bool Everywhere(const Mask& a) { return a.at[0] && a.at[1] && a.at[2] && a.at[3]; }
  static Float Select(const Mask& mask, const Float& yes, const Float& no) {
    return Each([&](int i) { return mask.at[i] ? yes.at[i] : no.at[i]; });
  }
  // Of four vectors, the one that each sixth of the circle has.
  static Float Choose(const Float (&values)[4], const std::int32_t (&places)[8],
                      const Float& sixth) {
    return Each([&](int i) {
      const bool known = sixth.at[i] >= 0 && sixth.at[i] < 8;
      return values[places[known ? static_cast<int>(sixth.at[i]) : 0]].at[i];
    });
  }
};

}  // namespace

const FloatKernels kScalarFloats =
    FloatTable<FloatScalar>::With(SampleFloats<FloatScalar, FloatScalar>);

}  // namespace headrace::ops
