#if defined(__x86_64__)
#include <immintrin.h>

#define HR_TARGET __attribute__((target("avx2,fma")))

#include "ops/vision/tensor/convolve_block.h"

namespace headrace::ops {
namespace {

struct Avx2 {
  using Float = __m256;
  using Out = std::uint8_t;
  static constexpr std::size_t kSize = 8;
  HR_TARGET static inline Float Zero() { return _mm256_setzero_ps(); }
  HR_TARGET static inline Float Load(const float* p) { return _mm256_loadu_ps(p); }
  HR_TARGET static inline Float All(float value) { return _mm256_set1_ps(value); }
  HR_TARGET static inline Float Add(Float sum, Float a, Float b) {
    return _mm256_fmadd_ps(a, b, sum);
  }
  HR_TARGET static inline void Store(std::uint8_t* p, Float sum) {
    const __m256i rounded = _mm256_cvtps_epi32(sum);
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
  }
};

struct Avx2Floats : Avx2 {
  using Out = float;
  HR_TARGET static inline void Store(float* p, Float sum) { _mm256_storeu_ps(p, sum); }
};

}  // namespace

void ConvolveAvx2(const ConvolveBand& band) { ConvolveWith<Avx2, 2>(band); }
void ConvolveAvx2Floats(const ConvolveBand& band) { ConvolveWith<Avx2Floats, 2>(band); }

}  // namespace headrace::ops
#endif
