#include <algorithm>
#include <cmath>

#include "ops/vision/resample/resample_passes.h"

namespace headrace::ops {
namespace {

constexpr int kBlock = FloatPasses::kBlock;

// value(tap): the factor for the tap's weight.
template <typename Value>
float Sum(const float* weights, std::int32_t count, Value value) {
  if (count == 0) return 0;
  float sum = value(0) * weights[0];
  std::int32_t tap = 1;
  const std::int32_t whole = tap + (count - tap) / kBlock * kBlock;
  for (; tap < whole; ++tap) sum += value(tap) * weights[tap];
  for (; tap < count; ++tap) sum = std::fma(value(tap), weights[tap], sum);
  return sum;
}

void Store(float sum, float* out) { *out = sum; }
void Store(float sum, std::uint8_t* out) {
  *out = static_cast<std::uint8_t>(std::clamp(std::nearbyint(sum), 0.0F, 255.0F));
}

template <typename Out, typename In = std::uint8_t>
void Horizontal(const ResampleAxis& axis, std::int32_t begin, std::int32_t end, ConstRows src,
                std::int32_t src_begin, std::int64_t rows, MutableRows dst) {
  for (std::int64_t y = 0; y < rows; ++y) {
    Out* out = reinterpret_cast<Out*>(dst.data + y * dst.stride);
    for (std::int32_t x = begin; x < end; ++x) {
      const float* weights = &axis.factor[static_cast<std::size_t>(x) * axis.groups * kBlock];
      const In* in = reinterpret_cast<const In*>(src.data + y * src.stride) +
                     static_cast<std::size_t>(axis.first[x] - src_begin) * 4;
      for (int c = 0; c < 4; ++c) {
        Store(Sum(weights, axis.count[x],
                  [&](std::int32_t tap) { return static_cast<float>(in[tap * 4 + c]); }),
              out++);
      }
    }
  }
}

template <typename In, typename Out = std::uint8_t>
void Vertical(const ResampleAxis& axis, std::int32_t begin, std::int32_t end, ConstRows src,
              std::int32_t src_begin, std::size_t row_values, MutableRows dst) {
  for (std::int32_t y = begin; y < end; ++y) {
    const float* weights = &axis.factor[static_cast<std::size_t>(y) * axis.groups * kBlock];
    const std::uint8_t* first = src.data + (axis.first[y] - src_begin) * src.stride;
    Out* out = reinterpret_cast<Out*>(dst.data + (y - begin) * dst.stride);
    for (std::size_t x = 0; x < row_values; ++x) {
      Store(
          Sum(weights, axis.count[y],
              [&](std::int32_t tap) {
                return static_cast<float>(reinterpret_cast<const In*>(first + tap * src.stride)[x]);
              }),
          out + x);
    }
  }
}

}  // namespace

const FloatPasses kScalarFloatPasses = {Horizontal<float>,        Horizontal<std::uint8_t>,
                                        Vertical<float>,          Vertical<std::uint8_t>,
                                        Horizontal<float, float>, Vertical<float, float>};

}  // namespace headrace::ops
