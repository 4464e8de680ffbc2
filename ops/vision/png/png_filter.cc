#include "ops/vision/png/png_filter.h"

#include <cstring>

#include "base/check.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headrace::ops {
namespace {

enum Filter : std::uint8_t { kNone, kSub, kUp, kAverage, kPaeth };

constexpr std::uint8_t Low8(int value) { return static_cast<std::uint8_t>(value); }

template <std::size_t kUnit, std::size_t kStep>
void UnfilterScalar(std::uint8_t filter, const std::uint8_t* in, const std::uint8_t* above,
                    std::size_t pixels, std::uint8_t* out) {
  if (filter == kNone && kUnit == kStep) {
    std::memcpy(out, in, pixels * kUnit);
    return;
  }
  std::uint8_t left[kUnit] = {}, corner[kUnit] = {};
  for (std::size_t x = 0; x < pixels; ++x, in += kUnit, above += kStep, out += kStep) {
    for (std::size_t i = 0; i < kUnit; ++i) {
      int predicted = 0;
      if (filter == kSub) predicted = left[i];
      if (filter == kUp) predicted = above[i];
      if (filter == kAverage) predicted = (left[i] + above[i]) / 2;
      if (filter == kPaeth) predicted = Paeth(left[i], above[i], corner[i]);
      corner[i] = above[i];
      left[i] = out[i] = Low8(in[i] + predicted);
    }
  }
}

#if defined(__x86_64__)
#define HR_SSE4 __attribute__((target("sse4.1")))

// A pixel in the low bytes; bytes after it are of no interest.
template <std::size_t kUnit>
HR_SSE4 inline __m128i LoadPixel(const std::uint8_t* p) {
  if constexpr (kUnit <= 4) {
    std::int32_t bytes;
    std::memcpy(&bytes, p, 4);
    return _mm_cvtsi32_si128(bytes);
  } else {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  }
}

template <std::size_t kUnit>
HR_SSE4 inline void StorePixel(__m128i pixel, std::uint8_t* p) {
  if constexpr (kUnit <= 4) {
    const std::int32_t bytes = _mm_cvtsi128_si32(pixel);
    std::memcpy(p, &bytes, 4);
  } else {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), pixel);
  }
}

template <std::size_t kUnit, std::size_t kStep>
HR_SSE4 void PaethSse4(const std::uint8_t* in, const std::uint8_t* above, std::size_t pixels,
                       std::uint8_t* out) {
  __m128i left = _mm_setzero_si128(), corner = left;
  for (std::size_t x = 0; x < pixels; ++x, in += kUnit, above += kStep, out += kStep) {
    // Lanes of 16 bits. Only what depends on `left` lies on the way from pixel to pixel.
    const __m128i up = _mm_cvtepu8_epi16(LoadPixel<kUnit>(above));
    const __m128i rest = _mm_sub_epi16(_mm_add_epi16(corner, _mm_add_epi16(corner, corner)), up);
    const __m128i t = _mm_sub_epi16(rest, left);
    const __m128i low = _mm_min_epi16(left, up), high = _mm_max_epi16(left, up);
    const __m128i inner = _mm_blendv_epi8(low, corner, _mm_cmpgt_epi16(high, t));
    const __m128i predicted = _mm_blendv_epi8(high, inner, _mm_cmpgt_epi16(t, low));
    left = _mm_add_epi8(_mm_cvtepu8_epi16(LoadPixel<kUnit>(in)), predicted);
    corner = up;
    StorePixel<kUnit>(_mm_packus_epi16(left, left), out);
  }
}

template <std::size_t kUnit, std::size_t kStep>
HR_SSE4 void AverageSse4(const std::uint8_t* in, const std::uint8_t* above, std::size_t pixels,
                         std::uint8_t* out) {
  const __m128i one = _mm_set1_epi8(1);
  __m128i left = _mm_setzero_si128();
  for (std::size_t x = 0; x < pixels; ++x, in += kUnit, above += kStep, out += kStep) {
    const __m128i up = LoadPixel<kUnit>(above);
    // _mm_avg_epu8 rounds up, PNG down.
    const __m128i odd = _mm_and_si128(_mm_xor_si128(left, up), one);
    left = _mm_add_epi8(LoadPixel<kUnit>(in), _mm_sub_epi8(_mm_avg_epu8(left, up), odd));
    StorePixel<kUnit>(left, out);
  }
}

template <std::size_t kUnit, std::size_t kStep>
HR_SSE4 void SubSse4(const std::uint8_t* in, std::size_t pixels, std::uint8_t* out) {
  __m128i left = _mm_setzero_si128();
  for (std::size_t x = 0; x < pixels; ++x, in += kUnit, out += kStep) {
    left = _mm_add_epi8(LoadPixel<kUnit>(in), left);
    StorePixel<kUnit>(left, out);
  }
}

template <std::size_t kUnit, std::size_t kStep>
HR_SSE4 void UpSse4(const std::uint8_t* in, const std::uint8_t* above, std::size_t pixels,
                    std::uint8_t* out) {
  if constexpr (kUnit == kStep) {
    for (std::size_t i = 0; i < pixels * kUnit; ++i) out[i] = Low8(in[i] + above[i]);
  } else {
    for (std::size_t x = 0; x < pixels; ++x, in += kUnit, above += kStep, out += kStep) {
      StorePixel<kUnit>(_mm_add_epi8(LoadPixel<kUnit>(in), LoadPixel<kUnit>(above)), out);
    }
  }
}

template <std::size_t kUnit, std::size_t kStep>
HR_SSE4 void CopySse4(const std::uint8_t* in, std::size_t pixels, std::uint8_t* out) {
  for (std::size_t x = 0; x < pixels; ++x, in += kUnit, out += kStep) {
    StorePixel<kUnit>(LoadPixel<kUnit>(in), out);
  }
}

template <std::size_t kUnit, std::size_t kStep>
void UnfilterSse4(std::uint8_t filter, const std::uint8_t* in, const std::uint8_t* above,
                  std::size_t pixels, std::uint8_t* out) {
  switch (filter) {
    case kSub:
      return SubSse4<kUnit, kStep>(in, pixels, out);
    case kUp:
      return UpSse4<kUnit, kStep>(in, above, pixels, out);
    case kAverage:
      return AverageSse4<kUnit, kStep>(in, above, pixels, out);
    case kPaeth:
      return PaethSse4<kUnit, kStep>(in, above, pixels, out);
    default:
      return CopySse4<kUnit, kStep>(in, pixels, out);
  }
}
#undef HR_SSE4
#endif

template <std::size_t kUnit, std::size_t kStep = kUnit>
void UnfilterPixels(std::uint8_t filter, const std::uint8_t* in, const std::uint8_t* above,
                    std::size_t pixels, std::uint8_t* out) {
#if defined(__x86_64__)
  // The scalar form copies whole rows at once.
  static const bool kHasSse4 = __builtin_cpu_supports("sse4.1") != 0;
  if (kHasSse4 && kUnit > 2 && (filter != kNone || kUnit != kStep)) {
    UnfilterSse4<kUnit, kStep>(filter, in, above, pixels, out);
    return;
  }
#endif
  UnfilterScalar<kUnit, kStep>(filter, in, above, pixels, out);
}

}  // namespace

void Unfilter(std::uint8_t filter, const std::uint8_t* in, const std::uint8_t* above,
              std::size_t pixels, std::size_t unit, std::size_t step, std::uint8_t* out) {
  if (unit == 3 && step == 4) return UnfilterPixels<3, 4>(filter, in, above, pixels, out);
  HR_CHECK(unit == step);
  switch (unit) {
    case 1:
      return UnfilterPixels<1>(filter, in, above, pixels, out);
    case 2:
      return UnfilterPixels<2>(filter, in, above, pixels, out);
    case 3:
      return UnfilterPixels<3>(filter, in, above, pixels, out);
    case 4:
      return UnfilterPixels<4>(filter, in, above, pixels, out);
    case 6:
      return UnfilterPixels<6>(filter, in, above, pixels, out);
    default:
      return UnfilterPixels<8>(filter, in, above, pixels, out);
  }
}

}  // namespace headrace::ops
