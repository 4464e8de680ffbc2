#include <cstring>

#include "ops/vision/pil/enhance_kernels.h"
#include "ops/vision/pil/pixels_avx2.h"

#if defined(__x86_64__)

#define HR_TARGET HR_AVX2

namespace headrace::ops {
namespace {

using avx2::All, avx2::Channel, avx2::Float, avx2::Join, avx2::kStep, avx2::Load, avx2::Replace;

struct HueTurn {
  int shift;

  // The hue, 0..255; without meaning where range is 0.
  HR_TARGET static inline __m256i HueOf(__m256i r, __m256i g, __m256i b, __m256i most,
                                        __m256i least, __m256 range) {
    const __m256i order =
        _mm256_or_si256(_mm256_and_si256(_mm256_cmpgt_epi32(g, r), All(1)),
                        _mm256_or_si256(_mm256_and_si256(_mm256_cmpgt_epi32(b, g), All(2)),
                                        _mm256_and_si256(_mm256_cmpgt_epi32(r, b), All(4))));
    const __m256 base = _mm256_permutevar8x32_ps(_mm256_loadu_ps(kHueBase), order);
    // The bit for this order in kFallingOrders is the sign of the part.
    const __m256i sign = _mm256_slli_epi32(_mm256_srlv_epi32(All(kFallingOrders), order), 31);
    const __m256i middle = _mm256_xor_si256(_mm256_xor_si256(_mm256_xor_si256(r, g), b),
                                            _mm256_xor_si256(most, least));
    const __m256 part =
        _mm256_div_ps(Float(_mm256_sub_epi32(most, middle)), _mm256_max_ps(range, All(1.0F)));
    const __m256 sixths = _mm256_add_ps(base, _mm256_xor_ps(part, _mm256_castsi256_ps(sign)));
    const __m256 negative = _mm256_cmp_ps(sixths, _mm256_setzero_ps(), _CMP_LT_OQ);
    const __m256 turned =
        _mm256_add_ps(_mm256_div_ps(sixths, All(6.0F)), _mm256_and_ps(negative, All(1.0F)));
    return _mm256_cvttps_epi32(_mm256_mul_ps(turned, All(255.0F)));
  }

  HR_TARGET inline __m256i operator()(__m256i pixels) const {
    const __m256i r = Channel<0>(pixels), g = Channel<1>(pixels), b = Channel<2>(pixels);
    const __m256i most = _mm256_max_epi32(_mm256_max_epi32(r, g), b);
    const __m256i least = _mm256_min_epi32(_mm256_min_epi32(r, g), b);
    const __m256 value = Float(most), range = Float(_mm256_sub_epi32(most, least));
    const __m256i hue = _mm256_and_si256(
        _mm256_add_epi32(HueOf(r, g, b, most, least, range), All(shift)), All(255));

    const __m256 saturation = _mm256_floor_ps(
        _mm256_div_ps(_mm256_mul_ps(range, All(255.0F)), _mm256_max_ps(value, All(1.0F))));
    const __m256i third = _mm256_mulhi_epu16(hue, All(kThirds));
    const __m256i away = _mm256_abs_epi32(
        _mm256_sub_epi32(_mm256_add_epi32(_mm256_mullo_epi16(third, All(2 * kThird)), All(kThird)),
                         _mm256_add_epi32(hue, hue)));
    const __m256 least_255 = _mm256_mul_ps(value, _mm256_sub_ps(All(255.0F), saturation));
    const __m256 middle_whole = _mm256_mul_ps(
        value, _mm256_sub_ps(All(float{kWhole}), _mm256_mul_ps(saturation, Float(away))));
    const __m256i values =
        Join(most, _mm256_cvtps_epi32(_mm256_mul_ps(middle_whole, All(1.0F / kWhole))),
             _mm256_cvtps_epi32(_mm256_mul_ps(least_255, All(1.0F / 255))));

    const __m256i places =
        _mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(kPlaces)),
                                    _mm256_mulhi_epu16(hue, All(kSixths)));
    const __m256i pixel_begin =
        _mm256_broadcastsi128_si256(_mm_setr_epi32(0x00000000, 0x04040404, 0x08080808, 0x0C0C0C0C));
    return _mm256_shuffle_epi8(values, _mm256_or_si256(places, pixel_begin));
  }
};

HR_TARGET inline __m256i LumaOf(__m256i pixels) {
  // Green's weight is divided between red's and blue's products: a weight is a signed 16-bit
  // number.
  const __m256i red_green =
      _mm256_shuffle_epi8(pixels, _mm256_broadcastsi128_si256(_mm_setr_epi8(
                                      0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1)));
  const __m256i green_blue =
      _mm256_shuffle_epi8(pixels, _mm256_broadcastsi128_si256(_mm_setr_epi8(
                                      1, -1, 2, -1, 5, -1, 6, -1, 9, -1, 10, -1, 13, -1, 14, -1)));
  const __m256i sum = _mm256_add_epi32(_mm256_madd_epi16(red_green, All(kLumaRedGreen)),
                                       _mm256_madd_epi16(green_blue, All(kLumaGreenBlue)));
  return _mm256_srli_epi32(_mm256_add_epi32(sum, All(0x8000)), 16);
}

// Does the same as Blend, for 8 values.
HR_TARGET inline __m256i BlendOf(__m256i degenerate, __m256i value, __m256 factor) {
  const __m256 mixed = _mm256_add_ps(
      Float(degenerate), _mm256_mul_ps(factor, Float(_mm256_sub_epi32(value, degenerate))));
  return _mm256_cvttps_epi32(_mm256_min_ps(_mm256_max_ps(mixed, _mm256_setzero_ps()), All(255.0F)));
}

struct LumaBlend {
  float factor;

  HR_TARGET inline __m256i operator()(__m256i pixels) const {
    const __m256i gray = LumaOf(pixels);
    return Join(BlendOf(gray, Channel<0>(pixels), All(factor)),
                BlendOf(gray, Channel<1>(pixels), All(factor)),
                BlendOf(gray, Channel<2>(pixels), All(factor)));
  }
};

// Sums 8 values below 256.
HR_TARGET inline __m256i SumsOf(__m256i values) {
  return _mm256_sad_epu8(values, _mm256_setzero_si256());
}

template <std::size_t kStride>
HR_TARGET std::uint64_t SumRun(const PixelRun& run) {
  const std::uint8_t* p = run.data;
  std::size_t left = run.pixels;
  __m256i sums = _mm256_setzero_si256();  // 64 bits each
  for (; left >= kStep; left -= kStep, p += kStep * kStride) {
    sums = _mm256_add_epi64(sums, SumsOf(LumaOf(Load<kStride>(p))));
  }
  std::uint8_t rest[kStep * kStride] = {};
  std::memcpy(rest, p, left * kStride);
  sums = _mm256_add_epi64(sums, SumsOf(LumaOf(Load<kStride>(rest))));
  alignas(32) std::uint64_t lanes[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sums);
  return lanes[0] + lanes[1] + lanes[2] + lanes[3];
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

const EnhanceKernels kAvx2Enhance = {TurnHue, BlendWithLuma, SumLuma};

}  // namespace headrace::ops
#endif
