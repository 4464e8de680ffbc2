#include <algorithm>

#include "ops/vision/resample/resample_passes.h"

namespace headrace::ops {
namespace {

std::int32_t Half(const ResampleAxis& axis) { return 1 << (axis.precision_bits - 1); }

std::uint8_t Clip(const ResampleAxis& axis, std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> axis.precision_bits, 0, 255));
}

void Horizontal(const ResampleAxis& axis, std::int32_t begin, std::int32_t end, ConstRows src,
                std::int32_t src_begin, std::int64_t rows, MutableRows dst) {
  const std::size_t taps_stride = static_cast<std::size_t>(axis.groups) * ResampleAxis::kGroup;
  for (std::int64_t y = 0; y < rows; ++y) {
    std::uint8_t* out = dst.data + y * dst.stride;
    for (std::int32_t x = begin; x < end; ++x, out += 4) {
      const std::int32_t* weight = &axis.weight[x * taps_stride];
      const std::uint8_t* in =
          src.data + y * src.stride + static_cast<std::size_t>(axis.first[x] - src_begin) * 4;
      std::int32_t sum[4];
      std::fill_n(sum, 4, Half(axis));
      for (std::int32_t tap = 0; tap < axis.count[x]; ++tap, in += 4) {
        for (int c = 0; c < 4; ++c) sum[c] += in[c] * weight[tap];
      }
      for (int c = 0; c < 4; ++c) out[c] = Clip(axis, sum[c]);
    }
  }
}

void Vertical(const ResampleAxis& axis, std::int32_t begin, std::int32_t end, ConstRows src,
              std::int32_t src_begin, std::int64_t /*src_rows*/, std::size_t row_bytes,
              MutableRows dst) {
  constexpr std::size_t kBlock = 256;  // sums stay in the first-level cache
  const std::size_t taps_stride = static_cast<std::size_t>(axis.groups) * ResampleAxis::kGroup;
  std::int32_t sum[kBlock];
  for (std::int32_t y = begin; y < end; ++y) {
    const std::int32_t* weight = &axis.weight[y * taps_stride];
    const std::uint8_t* in = src.data + (axis.first[y] - src_begin) * src.stride;
    std::uint8_t* out = dst.data + (y - begin) * dst.stride;
    for (std::size_t block = 0; block < row_bytes; block += kBlock) {
      const std::size_t n = std::min(kBlock, row_bytes - block);
      std::fill_n(sum, n, Half(axis));
      for (std::int32_t tap = 0; tap < axis.count[y]; ++tap) {
        const std::uint8_t* row = in + tap * src.stride + block;
        for (std::size_t x = 0; x < n; ++x) sum[x] += row[x] * weight[tap];
      }
      for (std::size_t x = 0; x < n; ++x) out[block + x] = Clip(axis, sum[x]);
    }
  }
}

}  // namespace

const ResamplePasses kScalarPasses = {Horizontal, Vertical};

}  // namespace headrace::ops
