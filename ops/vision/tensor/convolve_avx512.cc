#if defined(__x86_64__)
#include <immintrin.h>

#define HR_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx2,fma")))

#include "ops/vision/tensor/convolve_block.h"

namespace headrace::ops {
namespace {

struct Avx512 {
  using Float = __m512;
  using Out = std::uint8_t;
  static constexpr std::size_t kSize = 16;
  HR_TARGET static inline Float Zero() { return _mm512_setzero_ps(); }
  HR_TARGET static inline Float Load(const float* p) { return _mm512_loadu_ps(p); }
  HR_TARGET static inline Float All(float value) { return _mm512_set1_ps(value); }
  HR_TARGET static inline Float Add(Float sum, Float a, Float b) {
    return _mm512_fmadd_ps(a, b, sum);
  }
  HR_TARGET static inline void Store(std::uint8_t* p, Float sum) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(sum)));
  }
};

struct Avx512Floats : Avx512 {
  using Out = float;
  HR_TARGET static inline void Store(float* p, Float sum) { _mm512_storeu_ps(p, sum); }
};

}  // namespace

void ConvolveAvx512(const ConvolveBand& band) { ConvolveWith<Avx512, 4>(band); }
void ConvolveAvx512Floats(const ConvolveBand& band) { ConvolveWith<Avx512Floats, 4>(band); }

}  // namespace headrace::ops
#endif
