#include <cstring>

#include "ops/vision/pil/pixels_avx2.h"
#include "ops/vision/tensor/grid_kernels.h"

#if defined(__x86_64__)

#define HR_TARGET HR_AVX2

// Does the same as grid_sample.cc, for 8 pixels of a row.
namespace headrace::ops {
namespace {

using avx2::All, avx2::Channel, avx2::Float, avx2::Join, avx2::kStep, avx2::Store, avx2::StoreBytes;

template <bool kFused>
HR_TARGET inline __m256 Line(const GridAxis& axis, __m256 x, float y) {
  const __m256 by_x = _mm256_mul_ps(x, All(axis.by_x));
  const __m256 sum = kFused ? _mm256_fmadd_ps(All(y), All(axis.by_y), by_x)
                            : _mm256_add_ps(by_x, All(y * axis.by_y));
  return _mm256_add_ps(sum, All(axis.shift));
}

template <bool kFused>
HR_TARGET inline __m256 Coordinate(const GridJob& job, const GridAxis& axis, __m256 x, float y) {
  __m256 at = Line<kFused>(axis, x, y);
  if (job.divisor) {
    at = _mm256_sub_ps(_mm256_div_ps(at, Line<kFused>(*job.divisor, x, y)), All(1.0F));
  }
  return _mm256_fmadd_ps(_mm256_add_ps(at, All(1.0F)), All(axis.half), All(-0.5F));
}

// The same of places that are given.
HR_TARGET inline __m256 GivenCoordinate(const GridAxis& axis, const float* places) {
  return _mm256_fmadd_ps(_mm256_add_ps(_mm256_loadu_ps(places), All(1.0F)), All(axis.half),
                         All(-0.5F));
}

HR_TARGET inline __m256 Has(const GridAxis& axis, __m256 at) {
  return _mm256_and_ps(_mm256_cmp_ps(at, All(-1.0F), _CMP_GT_OQ),
                       _mm256_cmp_ps(at, All(axis.count), _CMP_LT_OQ));
}

// The pixels at whole coordinates; zero where `inside` is zero. Reads up to 3 bytes past them.
template <std::size_t kChannels>
HR_TARGET inline __m256i PixelsAt(const Image& in, __m256 x, __m256 y, __m256 inside) {
  const __m256i row =
      _mm256_mullo_epi32(_mm256_cvttps_epi32(y), All(static_cast<int>(in.row_stride)));
  const __m256i column =
      _mm256_mullo_epi32(_mm256_cvttps_epi32(x), All(static_cast<int>(kChannels)));
  return _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), reinterpret_cast<const int*>(in.data),
                                     _mm256_add_epi32(row, column), _mm256_castps_si256(inside), 1);
}

template <std::size_t kChannels>
HR_TARGET inline __m256i Nearest(const GridJob& job, __m256 x, __m256 y) {
  x = _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  y = _mm256_round_ps(y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m256 inside = _mm256_and_ps(Has(job.across, x), Has(job.down, y));
  const __m256i pixels = PixelsAt<kChannels>(job.in, x, y, inside);
  if (!job.fill) return pixels;
  const auto& fill = *job.fill;
  const __m256i outside = Join(_mm256_cvtps_epi32(All(fill[0])), _mm256_cvtps_epi32(All(fill[1])),
                               _mm256_cvtps_epi32(All(fill[2])));
  return _mm256_blendv_epi8(outside, pixels, _mm256_castps_si256(inside));
}

struct Sums {
  __m256 channels[3];
  __m256 covered;  // part of the pixel that the image covers
};

template <std::size_t kChannels>
HR_TARGET inline void AddCorner(const Image& in, __m256 x, __m256 y, __m256 inside, __m256 weight,
                                Sums* sums) {
  const __m256i pixels = PixelsAt<kChannels>(in, x, y, inside);
  const auto add = [&](__m256i values, __m256& sum)
                       HR_TARGET { sum = _mm256_fmadd_ps(Float(values), weight, sum); };
  add(Channel<0>(pixels), sums->channels[0]);
  if (kChannels == 3) {
    add(Channel<1>(pixels), sums->channels[1]);
    add(Channel<2>(pixels), sums->channels[2]);
  }
  sums->covered = _mm256_add_ps(sums->covered, _mm256_and_ps(weight, inside));
}

HR_TARGET inline __m256i Finished(const GridJob& job, const Sums& sums, std::size_t channel) {
  __m256 value = sums.channels[channel];
  if (job.fill) {
    const __m256 fill = All((*job.fill)[channel]);
    if (job.api == 1) {
      value = _mm256_add_ps(_mm256_mul_ps(value, sums.covered),
                            _mm256_mul_ps(_mm256_sub_ps(All(1.0F), sums.covered), fill));
    } else {
      value = _mm256_add_ps(_mm256_mul_ps(_mm256_sub_ps(value, fill), sums.covered), fill);
    }
  }
  return _mm256_and_si256(_mm256_cvtps_epi32(value), All(255));
}

template <std::size_t kChannels>
HR_TARGET inline __m256i Bilinear(const GridJob& job, __m256 x, __m256 y) {
  const __m256 left = _mm256_floor_ps(x), right = _mm256_add_ps(left, All(1.0F));
  const __m256 top = _mm256_floor_ps(y), bottom = _mm256_add_ps(top, All(1.0F));
  const __m256 right_part = _mm256_sub_ps(x, left);
  const __m256 left_part = _mm256_sub_ps(All(1.0F), right_part);
  const __m256 low_part = _mm256_sub_ps(y, top);
  const __m256 top_part = _mm256_sub_ps(All(1.0F), low_part);
  const __m256 in_left = Has(job.across, left), in_right = Has(job.across, right);
  const __m256 in_top = Has(job.down, top), in_bottom = Has(job.down, bottom);
  Sums sums{{_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()}, _mm256_setzero_ps()};
  AddCorner<kChannels>(job.in, left, top, _mm256_and_ps(in_left, in_top),
                       _mm256_mul_ps(top_part, left_part), &sums);
  AddCorner<kChannels>(job.in, right, top, _mm256_and_ps(in_right, in_top),
                       _mm256_mul_ps(top_part, right_part), &sums);
  AddCorner<kChannels>(job.in, left, bottom, _mm256_and_ps(in_left, in_bottom),
                       _mm256_mul_ps(low_part, left_part), &sums);
  AddCorner<kChannels>(job.in, right, bottom, _mm256_and_ps(in_right, in_bottom),
                       _mm256_mul_ps(low_part, right_part), &sums);
  if (kChannels == 1) return Finished(job, sums, 0);
  return Join(Finished(job, sums, 0), Finished(job, sums, 1), Finished(job, sums, 2));
}

template <std::size_t kChannels>
HR_TARGET inline void StorePixels(std::uint8_t* out, __m256i pixels) {
  if (kChannels == 1) {
    StoreBytes(out, _mm256_and_si256(pixels, All(255)));
  } else {
    Store<3>(out, pixels);
  }
}

template <std::size_t kChannels, bool kFused, bool kBilinear>
HR_TARGET void Rows(const GridJob& job, std::uint8_t* out) {
  const auto width = static_cast<std::size_t>(job.in.spec.width);
  const auto height = static_cast<float>(job.in.spec.height);
  const float half_width = job.divisor ? 0.0F : static_cast<float>(width) * 0.5F;
  const float half_height = job.divisor ? 0.0F : height * 0.5F;
  const __m256 steps = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
  std::size_t first = 0;  // pixel of the row
  for (float row = 0; row < height; ++row, first += width) {
    const float y = row - half_height + 0.5F;
    for (std::size_t column = 0; column < width; column += kStep) {
      const __m256 columns = _mm256_add_ps(All(static_cast<float>(column)), steps);
      const __m256 x = _mm256_add_ps(_mm256_sub_ps(columns, All(half_width)), All(0.5F));
      const __m256 at_x = job.field ? GivenCoordinate(job.across, job.field->x + first + column)
                                    : Coordinate<kFused>(job, job.across, x, y);
      const __m256 at_y = job.field ? GivenCoordinate(job.down, job.field->y + first + column)
                                    : Coordinate<kFused>(job, job.down, x, y);
      const __m256i pixels =
          kBilinear ? Bilinear<kChannels>(job, at_x, at_y) : Nearest<kChannels>(job, at_x, at_y);
      if (width - column >= kStep) {
        StorePixels<kChannels>(out, pixels);
        out += kStep * kChannels;
        continue;
      }
      std::uint8_t rest[kStep * kChannels];
      StorePixels<kChannels>(rest, pixels);
      std::memcpy(out, rest, (width - column) * kChannels);
      out += (width - column) * kChannels;
    }
  }
}

template <std::size_t kChannels, bool kFused>
void ByMode(const GridJob& job, std::uint8_t* out) {
  job.bilinear ? Rows<kChannels, kFused, true>(job, out) : Rows<kChannels, kFused, false>(job, out);
}

}  // namespace

void SampleGridAvx2(const GridJob& job, std::uint8_t* out) {
  if (job.in.spec.channels == 1)
    return job.fused() ? ByMode<1, true>(job, out) : ByMode<1, false>(job, out);
  job.fused() ? ByMode<3, true>(job, out) : ByMode<3, false>(job, out);
}

}  // namespace headrace::ops
#endif
