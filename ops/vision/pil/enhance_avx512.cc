#include <algorithm>

#include "ops/vision/pil/enhance_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define HR_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))

namespace headrace::ops {
namespace {

constexpr std::size_t kStep = 16;  // pixels

template <std::size_t kStride>
HR_TARGET inline __mmask64 BytesOf(std::size_t pixels) {
  return ~__mmask64{0} >> (64 - std::min(pixels, kStep) * kStride);
}

// Loads the first of `pixels`, at most 16, as pixels of 4 bytes. REQUIRES: pixels > 0.
template <std::size_t kStride>
HR_TARGET inline __m512i Load(const std::uint8_t* p, std::size_t pixels) {
  const __m512i bytes = _mm512_maskz_loadu_epi8(BytesOf<kStride>(pixels), p);
  if (kStride == 4) return bytes;
  const __m512i spread =
      _mm512_setr_epi32(0x00020100, 0x00050403, 0x00080706, 0x000B0A09, 0x000E0D0C, 0x0011100F,
                        0x00141312, 0x00171615, 0x001A1918, 0x001D1C1B, 0x00201F1E, 0x00232221,
                        0x00262524, 0x00292827, 0x002C2B2A, 0x002F2E2D);
  return _mm512_permutexvar_epi8(spread, bytes);
}

template <std::size_t kStride>
HR_TARGET inline void Store(std::uint8_t* p, std::size_t pixels, __m512i bytes) {
  if (kStride == 3) {
    const __m512i joined = _mm512_setr_epi32(
        0x04020100, 0x09080605, 0x0E0D0C0A, 0x14121110, 0x19181615, 0x1E1D1C1A, 0x24222120,
        0x29282625, 0x2E2D2C2A, 0x34323130, 0x39383635, 0x3E3D3C3A, 0, 0, 0, 0);
    bytes = _mm512_permutexvar_epi8(joined, bytes);
    if (pixels >= kStep) {
      // A masked store would delay the next load, which starts among the bytes that it omits.
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_castsi512_si256(bytes));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 32), _mm512_extracti32x4_epi32(bytes, 2));
      return;
    }
  }
  _mm512_mask_storeu_epi8(p, BytesOf<kStride>(pixels), bytes);
}

// Replaces the pixels by change(16 pixels of 4 bytes).
template <std::size_t kStride, typename Change>
HR_TARGET inline void Replace(const PixelRun& run, const Change& change) {
  for (std::size_t x = 0; x < run.pixels; x += kStep) {
    std::uint8_t* const p = run.data + x * kStride;
    Store<kStride>(p, run.pixels - x, change(Load<kStride>(p, run.pixels - x)));
  }
}

template <int kChannel>
HR_TARGET inline __m512i Channel(__m512i pixels) {
  return _mm512_and_si512(_mm512_srli_epi32(pixels, 8 * kChannel), _mm512_set1_epi32(255));
}

constexpr int kOrOfThree = 0xFE, kXorOfThree = 0x96;  // truth tables

HR_TARGET inline __m512i Join(__m512i first, __m512i second, __m512i third) {
  return _mm512_ternarylogic_epi32(first, _mm512_slli_epi32(second, 8),
                                   _mm512_slli_epi32(third, 16), kOrOfThree);
}

HR_TARGET inline __m512 Float(__m512i v) { return _mm512_cvtepi32_ps(v); }
HR_TARGET inline __m512 All(float v) { return _mm512_set1_ps(v); }
HR_TARGET inline __m512i All(int v) { return _mm512_set1_epi32(v); }

// v / 6, rounded like a division. Source: Markstein, Computation of elementary functions on the IBM
// RISC System/6000 processor, 1990.
HR_TARGET inline __m512 SixthOf(__m512 v) {
  const __m512 near = _mm512_mul_ps(v, All(1.0F / 6.0F));
  return _mm512_fmadd_ps(_mm512_fnmadd_ps(near, All(6.0F), v), All(1.0F / 6.0F), near);
}

struct HueTurn {
  int shift;

  // The hue, 0..255; without meaning where range is 0.
  HR_TARGET static inline __m512i HueOf(__m512i r, __m512i g, __m512i b, __m512i most,
                                        __m512i least, __m512 range) {
    __m512i order = _mm512_maskz_mov_epi32(_mm512_cmplt_epi32_mask(r, g), All(1));
    order = _mm512_mask_or_epi32(order, _mm512_cmplt_epi32_mask(g, b), order, All(2));
    order = _mm512_mask_or_epi32(order, _mm512_cmplt_epi32_mask(b, r), order, All(4));
    const __m512 base =
        _mm512_permutexvar_ps(order, _mm512_castps256_ps512(_mm256_loadu_ps(kHueBase)));
    // The bit for this order in kFallingOrders is the sign of the part.
    const __m512i sign = _mm512_slli_epi32(_mm512_srlv_epi32(All(kFallingOrders), order), 31);
    const __m512i middle = _mm512_ternarylogic_epi32(
        _mm512_ternarylogic_epi32(r, g, b, kXorOfThree), most, least, kXorOfThree);
    const __m512 part =
        _mm512_div_ps(Float(_mm512_sub_epi32(most, middle)), _mm512_max_ps(range, All(1.0F)));
    const __m512 sixths =
        _mm512_add_ps(base, _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(part), sign)));
    const __mmask16 negative = _mm512_cmp_ps_mask(sixths, _mm512_setzero_ps(), _CMP_LT_OQ);
    const __m512 turn = SixthOf(sixths);
    return _mm512_cvttps_epi32(
        _mm512_mul_ps(_mm512_mask_add_ps(turn, negative, turn, All(1.0F)), All(255.0F)));
  }

  HR_TARGET inline __m512i operator()(__m512i pixels) const {
    const __m512i r = Channel<0>(pixels), g = Channel<1>(pixels), b = Channel<2>(pixels);
    const __m512i most = _mm512_max_epi32(_mm512_max_epi32(r, g), b);
    const __m512i least = _mm512_min_epi32(_mm512_min_epi32(r, g), b);
    const __m512 value = Float(most), range = Float(_mm512_sub_epi32(most, least));
    const __m512i hue = _mm512_and_si512(
        _mm512_add_epi32(HueOf(r, g, b, most, least, range), All(shift)), All(255));

    const __m512 saturation = _mm512_roundscale_ps(
        _mm512_div_ps(_mm512_mul_ps(range, All(255.0F)), _mm512_max_ps(value, All(1.0F))),
        _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    const __m512i third = _mm512_mulhi_epu16(hue, All(kThirds));
    const __m512i away = _mm512_abs_epi32(
        _mm512_sub_epi32(_mm512_add_epi32(_mm512_mullo_epi16(third, All(2 * kThird)), All(kThird)),
                         _mm512_add_epi32(hue, hue)));
    const __m512 least_255 = _mm512_mul_ps(value, _mm512_sub_ps(All(255.0F), saturation));
    const __m512 middle_whole =
        _mm512_mul_ps(value, _mm512_fnmadd_ps(saturation, Float(away), All(float{kWhole})));
    const __m512i values =
        Join(most, _mm512_cvtps_epi32(_mm512_mul_ps(middle_whole, All(1.0F / kWhole))),
             _mm512_cvtps_epi32(_mm512_mul_ps(least_255, All(1.0F / 255))));

    const __m512i places = _mm512_permutexvar_epi32(
        _mm512_mulhi_epu16(hue, All(kSixths)),
        _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(kPlaces))));
    const __m512i pixel_begin =
        _mm512_broadcast_i32x4(_mm_setr_epi32(0x00000000, 0x04040404, 0x08080808, 0x0C0C0C0C));
    return _mm512_shuffle_epi8(values, _mm512_or_si512(places, pixel_begin));
  }
};

HR_TARGET inline __m512i LumaOf(__m512i pixels) {
  // Green's weight is divided between red's and blue's products: a weight is a signed 16-bit
  // number.
  const __m512i red_green =
      _mm512_shuffle_epi8(pixels, _mm512_broadcast_i32x4(_mm_setr_epi8(
                                      0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1)));
  const __m512i green_blue =
      _mm512_shuffle_epi8(pixels, _mm512_broadcast_i32x4(_mm_setr_epi8(
                                      1, -1, 2, -1, 5, -1, 6, -1, 9, -1, 10, -1, 13, -1, 14, -1)));
  const __m512i sum = _mm512_add_epi32(_mm512_madd_epi16(red_green, All(kLumaRedGreen)),
                                       _mm512_madd_epi16(green_blue, All(kLumaGreenBlue)));
  return _mm512_srli_epi32(_mm512_add_epi32(sum, All(0x8000)), 16);
}

// Does the same as Blend, for 16 values.
HR_TARGET inline __m512i BlendOf(__m512i degenerate, __m512i value, __m512 factor) {
  const __m512 mixed = _mm512_add_ps(
      Float(degenerate), _mm512_mul_ps(factor, Float(_mm512_sub_epi32(value, degenerate))));
  return _mm512_cvttps_epi32(_mm512_min_ps(_mm512_max_ps(mixed, _mm512_setzero_ps()), All(255.0F)));
}

struct LumaBlend {
  float factor;

  HR_TARGET inline __m512i operator()(__m512i pixels) const {
    const __m512i gray = LumaOf(pixels);
    return Join(BlendOf(gray, Channel<0>(pixels), All(factor)),
                BlendOf(gray, Channel<1>(pixels), All(factor)),
                BlendOf(gray, Channel<2>(pixels), All(factor)));
  }
};

template <std::size_t kStride>
HR_TARGET std::uint64_t SumRun(const PixelRun& run) {
  __m512i sums = _mm512_setzero_si512();  // 64 bits each
  for (std::size_t x = 0; x < run.pixels; x += kStep) {
    const __m512i luma = LumaOf(Load<kStride>(run.data + x * kStride, run.pixels - x));
    sums = _mm512_add_epi64(sums, _mm512_sad_epu8(luma, _mm512_setzero_si512()));
  }
  return static_cast<std::uint64_t>(_mm512_reduce_add_epi64(sums));
}

HR_TARGET void TurnHue(const PixelRun& run, std::uint8_t shift) {
  const HueTurn turn{shift};
  run.pixel_stride == 4 ? Replace<4>(run, turn) : Replace<3>(run, turn);
}

HR_TARGET void BlendWithLuma(const PixelRun& run, float factor) {
  const LumaBlend blend{factor};
  run.pixel_stride == 4 ? Replace<4>(run, blend) : Replace<3>(run, blend);
}

std::uint64_t SumLuma(const PixelRun& run) {
  return run.pixel_stride == 4 ? SumRun<4>(run) : SumRun<3>(run);
}

}  // namespace

const EnhanceKernels kAvx512VbmiEnhance = {TurnHue, BlendWithLuma, SumLuma};

}  // namespace headrace::ops
#endif
