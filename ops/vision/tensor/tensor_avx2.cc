#include <cstring>

#include "ops/vision/pil/pixels_avx2.h"
#include "ops/vision/tensor/tensor_kernels.h"
#include "ops/vision/tensor/tensor_sharpen.h"

#if defined(__x86_64__)

#define HR_TARGET HR_AVX2

// Does the same as tensor_scalar.cc, for 8 pixels.
namespace headrace::ops {
namespace {

using avx2::All, avx2::Channel, avx2::Float, avx2::Join, avx2::kStep, avx2::Load, avx2::Replace,
    avx2::StoreBytes;

// The gray of 8 pixels, as whole numbers.
template <int kApi>
HR_TARGET inline __m256i GrayOf(__m256i pixels) {
  const __m256 r = Float(Channel<0>(pixels));
  const __m256 g = Float(Channel<1>(pixels));
  const __m256 b = Float(Channel<2>(pixels));
  __m256 sum = _mm256_mul_ps(All(0.2989F), r);
  if (kApi == 1) {
    sum = _mm256_add_ps(_mm256_add_ps(sum, _mm256_mul_ps(All(0.587F), g)),
                        _mm256_mul_ps(All(0.114F), b));
  } else {
    sum = _mm256_fmadd_ps(All(0.114F), b, _mm256_fmadd_ps(All(0.587F), g, sum));
  }
  return _mm256_cvttps_epi32(sum);
}

template <std::size_t kStride, int kApi>
HR_TARGET void GrayRun(const std::uint8_t* p, std::size_t pixels, std::uint8_t* out) {
  for (; pixels >= kStep; pixels -= kStep, p += kStep * kStride, out += kStep) {
    StoreBytes(out, GrayOf<kApi>(Load<kStride>(p)));
  }
  if (pixels == 0) return;
  std::uint8_t rest[kStep * kStride] = {}, grays[kStep];
  std::memcpy(rest, p, pixels * kStride);
  StoreBytes(grays, GrayOf<kApi>(Load<kStride>(rest)));
  std::memcpy(out, grays, pixels);
}

void Gray(const std::uint8_t* data, std::size_t pixels, std::size_t pixel_stride, int api,
          std::uint8_t* out) {
  if (pixel_stride == 4) {
    api == 1 ? GrayRun<4, 1>(data, pixels, out) : GrayRun<4, 2>(data, pixels, out);
  } else {
    api == 1 ? GrayRun<3, 1>(data, pixels, out) : GrayRun<3, 2>(data, pixels, out);
  }
}

template <int kApi>
struct GrayBlend {
  TensorBlend blend;

  HR_TARGET inline __m256i One(__m256i value, __m256 gray) const {
    const __m256 scaled = _mm256_mul_ps(All(blend.ratio), Float(value));
    const __m256 mixed = kApi == 1 ? _mm256_add_ps(scaled, _mm256_mul_ps(All(blend.rest), gray))
                                   : _mm256_fmadd_ps(All(blend.rest), gray, scaled);
    return _mm256_cvttps_epi32(
        _mm256_min_ps(_mm256_max_ps(mixed, _mm256_setzero_ps()), All(255.0F)));
  }
  HR_TARGET inline __m256i operator()(__m256i pixels) const {
    const __m256 gray = Float(GrayOf<kApi>(pixels));
    return Join(One(Channel<0>(pixels), gray), One(Channel<1>(pixels), gray),
                One(Channel<2>(pixels), gray));
  }
};

template <int kApi>
struct HueTurn {
  float factor;

  HR_TARGET static inline __m256 ToUnit(__m256i value) {
    return kApi == 1 ? _mm256_div_ps(Float(value), All(255.0F))
                     : _mm256_mul_ps(Float(value), All(static_cast<float>(1.0 / 255.0)));
  }
  // Converts 0..1 to 0..255.
  HR_TARGET static inline __m256i ToByte(__m256 value) {
    value = _mm256_min_ps(_mm256_max_ps(value, _mm256_setzero_ps()), All(1.0F));
    return _mm256_cvttps_epi32(_mm256_mul_ps(value, All(kToBytes)));
  }
  HR_TARGET inline __m256i operator()(__m256i pixels) const {
    const __m256 one = All(1.0F);
    const __m256 r = ToUnit(Channel<0>(pixels));
    const __m256 g = ToUnit(Channel<1>(pixels));
    const __m256 b = ToUnit(Channel<2>(pixels));
    const __m256 most = _mm256_max_ps(_mm256_max_ps(r, g), b);
    const __m256 least = _mm256_min_ps(_mm256_min_ps(r, g), b);
    const __m256 flat = _mm256_cmp_ps(most, least, _CMP_EQ_OQ);
    const __m256 span = _mm256_sub_ps(most, least);
    const __m256 s = _mm256_div_ps(span, _mm256_blendv_ps(most, one, flat));

    const __m256 range = _mm256_blendv_ps(span, one, flat);
    const __m256 rc = _mm256_div_ps(_mm256_sub_ps(most, r), range);
    const __m256 gc = _mm256_div_ps(_mm256_sub_ps(most, g), range);
    const __m256 bc = _mm256_div_ps(_mm256_sub_ps(most, b), range);
    const __m256 of_red = _mm256_sub_ps(bc, gc);
    const __m256 of_green = _mm256_sub_ps(_mm256_add_ps(All(2.0F), rc), bc);
    const __m256 of_blue = _mm256_sub_ps(_mm256_add_ps(All(4.0F), gc), rc);
    const __m256 sixths =
        _mm256_blendv_ps(_mm256_blendv_ps(of_blue, of_green, _mm256_cmp_ps(most, g, _CMP_EQ_OQ)),
                         of_red, _mm256_cmp_ps(most, r, _CMP_EQ_OQ));
    const __m256 turns =
        _mm256_add_ps(kApi == 1 ? _mm256_div_ps(sixths, All(6.0F))
                                : _mm256_mul_ps(sixths, All(static_cast<float>(1.0 / 6.0))),
                      one);
    __m256 h = _mm256_add_ps(_mm256_sub_ps(turns, _mm256_floor_ps(turns)), All(factor));
    h = _mm256_sub_ps(h, _mm256_round_ps(h, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
    h = _mm256_add_ps(h, _mm256_and_ps(_mm256_cmp_ps(h, _mm256_setzero_ps(), _CMP_LT_OQ), one));

    const __m256 h6 = _mm256_mul_ps(h, All(6.0F));
    const __m256 sixth = _mm256_floor_ps(h6);
    const __m256 f = _mm256_sub_ps(h6, sixth);
    const __m256 sf = _mm256_mul_ps(s, f);
    const __m256 rest = _mm256_sub_ps(one, s);
    const __m256 away = kApi == 1 ? _mm256_sub_ps(one, _mm256_mul_ps(s, _mm256_sub_ps(one, f)))
                                  : _mm256_add_ps(sf, rest);
    const __m256i value_p_q = Join(ToByte(most), ToByte(_mm256_mul_ps(most, rest)),
                                   ToByte(_mm256_mul_ps(most, _mm256_sub_ps(one, sf))));
    const __m256i values =
        _mm256_or_si256(value_p_q, _mm256_slli_epi32(ToByte(_mm256_mul_ps(most, away)), 24));
    const __m256i places = _mm256_permutevar8x32_epi32(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kTensorPlaces)),
        _mm256_cvttps_epi32(sixth));
    const __m256i pixel_begin =
        _mm256_broadcastsi128_si256(_mm_setr_epi32(0x00000000, 0x04040404, 0x08080808, 0x0C0C0C0C));
    return _mm256_shuffle_epi8(values, _mm256_or_si256(places, pixel_begin));
  }
};

template <typename Change>
HR_TARGET void ReplaceAny(const PixelRun& run, const Change& change) {
  run.pixel_stride == 4 ? Replace<4>(run, change) : Replace<3>(run, change);
}

void BlendWithGray(const PixelRun& run, const TensorBlend& blend) {
  blend.api == 1 ? ReplaceAny(run, GrayBlend<1>{blend}) : ReplaceAny(run, GrayBlend<2>{blend});
}

void TurnHue(const PixelRun& run, float factor, int api) {
  api == 1 ? ReplaceAny(run, HueTurn<1>{factor}) : ReplaceAny(run, HueTurn<2>{factor});
}

HR_TARGET void Sharpen(const RowAndNext& rows, std::size_t channels, std::size_t first,
                       std::size_t end, const TensorBlend& blend, std::uint8_t* out) {
  SharpenAny(rows, channels, first, end, blend, out);
}

}  // namespace

const TensorKernels kAvx2Tensor = {Gray, BlendWithGray, TurnHue, Sharpen};

}  // namespace headrace::ops
#endif
