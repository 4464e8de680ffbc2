#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cmath>

#define HR_TARGET __attribute__((target("avx2,fma")))

#include "ops/vision/tensor/float_grid.h"
#include "ops/vision/tensor/float_steps.h"

namespace headrace::ops {
namespace {

// One channel of eight pixels. Methods: one for each instruction.
struct FloatAvx2 {
  using Float = __m256;
  using Mask = __m256;
  static constexpr std::size_t kSize = 8;

  HR_TARGET static inline Float Load(const float* p) { return _mm256_loadu_ps(p); }
  HR_TARGET static inline void Store(float* p, Float v) { _mm256_storeu_ps(p, v); }
  HR_TARGET static inline Float All(float value) { return _mm256_set1_ps(value); }
  HR_TARGET static inline Float Four(const float* p) {
    return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(p));
  }

  // Four rows of four floats in each half become their columns: a channel has the pixels
  // 0 2 4 6 and 1 3 5 7.
  HR_TARGET static inline void Turn(Float* a, Float* b, Float* c, Float* d) {
    const Float ab_low = _mm256_unpacklo_ps(*a, *b), ab_high = _mm256_unpackhi_ps(*a, *b);
    const Float cd_low = _mm256_unpacklo_ps(*c, *d), cd_high = _mm256_unpackhi_ps(*c, *d);
    *a = _mm256_shuffle_ps(ab_low, cd_low, 0x44);
    *b = _mm256_shuffle_ps(ab_low, cd_low, 0xEE);
    *c = _mm256_shuffle_ps(ab_high, cd_high, 0x44);
    *d = _mm256_shuffle_ps(ab_high, cd_high, 0xEE);
  }
  HR_TARGET static inline void LoadPixels(const float* p, Float* r, Float* g, Float* b,
                                          Float* rest) {
    *r = Load(p);
    *g = Load(p + 8);
    *b = Load(p + 16);
    *rest = Load(p + 24);
    Turn(r, g, b, rest);
  }
  HR_TARGET static inline void StorePixels(float* p, Float r, Float g, Float b, Float rest) {
    Turn(&r, &g, &b, &rest);
    Store(p, r);
    Store(p + 8, g);
    Store(p + 16, b);
    Store(p + 24, rest);
  }
  // Stores a channel of LoadPixels.
  HR_TARGET static inline void StoreInOrder(float* p, Float v) {
    Store(p, _mm256_permutevar8x32_ps(v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
  }

  HR_TARGET static inline Float Add(Float a, Float b) { return _mm256_add_ps(a, b); }
  HR_TARGET static inline Float Sub(Float a, Float b) { return _mm256_sub_ps(a, b); }
  HR_TARGET static inline Float Mul(Float a, Float b) { return _mm256_mul_ps(a, b); }
  HR_TARGET static inline Float Div(Float a, Float b) { return _mm256_div_ps(a, b); }
  HR_TARGET static inline Float Fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  HR_TARGET static inline Float Max(Float a, Float b) { return _mm256_max_ps(a, b); }
  HR_TARGET static inline Float Min(Float a, Float b) { return _mm256_min_ps(a, b); }
  HR_TARGET static inline Float Floor(Float a) { return _mm256_floor_ps(a); }
  HR_TARGET static inline Float Round(Float a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  HR_TARGET static inline Float Steps() { return _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7); }
  HR_TARGET static inline Float Trunc(Float a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  }
  HR_TARGET static inline Mask AtLeast(Float a, Float b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
  HR_TARGET static inline Mask Equal(Float a, Float b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
  HR_TARGET static inline Mask IsNumber(Float a) { return _mm256_cmp_ps(a, a, _CMP_ORD_Q); }
  HR_TARGET static inline Mask And(Mask a, Mask b) { return _mm256_and_ps(a, b); }
  HR_TARGET static inline Mask AllTrue() { return _mm256_castsi256_ps(_mm256_set1_epi32(-1)); }
  HR_TARGET static inline bool Everywhere(Mask a) { return _mm256_movemask_ps(a) == 0xFF; }
  HR_TARGET static inline Float Select(Mask mask, Float yes, Float no) {
    return _mm256_blendv_ps(no, yes, mask);
  }
  // Of four vectors, the one that each sixth of the circle has.
  HR_TARGET static inline Float Choose(const Float (&values)[4], const std::int32_t (&places)[8],
                                       Float sixth) {
    const __m256i place = _mm256_permutevar8x32_epi32(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(places)), _mm256_cvttps_epi32(sixth));
    // The place's bits say which: the sign of a number decides in a blend.
    const Float low = _mm256_castsi256_ps(_mm256_slli_epi32(place, 31));
    const Float high = _mm256_castsi256_ps(_mm256_slli_epi32(place, 30));
    return _mm256_blendv_ps(_mm256_blendv_ps(values[0], values[1], low),
                            _mm256_blendv_ps(values[2], values[3], low), high);
  }
};

// One colour pixel.
struct FloatSse {
  using Float = __m128;
  static constexpr std::size_t kFloats = 4;
  HR_TARGET static inline Float Load(const float* p) { return _mm_loadu_ps(p); }
  HR_TARGET static inline void Store(float* p, Float v) { _mm_storeu_ps(p, v); }
  HR_TARGET static inline Float All(float value) { return _mm_set1_ps(value); }
  HR_TARGET static inline Float Add(Float a, Float b) { return _mm_add_ps(a, b); }
  HR_TARGET static inline Float Sub(Float a, Float b) { return _mm_sub_ps(a, b); }
  HR_TARGET static inline Float Mul(Float a, Float b) { return _mm_mul_ps(a, b); }
  HR_TARGET static inline Float Fma(Float a, Float b, Float c) { return _mm_fmadd_ps(a, b, c); }
};

}  // namespace

const FloatKernels kAvx2Floats = FloatTable<FloatAvx2>::With(SampleFloats<FloatAvx2, FloatSse>);

}  // namespace headrace::ops
#endif
