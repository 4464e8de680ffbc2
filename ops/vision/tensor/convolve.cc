#include "ops/vision/tensor/convolve.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/vision/geometry/border.h"
#include "ops/vision/tensor/convolve_kernels.h"

namespace headrace::ops {
namespace {

// Bytes of input that are converted at a time: they stay in the second-level cache.
constexpr std::size_t kBandBytes = std::size_t{1} << 20;
constexpr std::size_t kLeastRows = 16;

ConvolveKernel KernelOf(PointwiseLevel level) {
#if defined(__x86_64__)
  if (level == PointwiseLevel::kAvx512Vbmi) return ConvolveAvx512;
  if (level == PointwiseLevel::kAvx2) return ConvolveAvx2;
#endif
  return ConvolveScalar;
}

// Position of a border's pixel in the side itself, when `half` pixels are before it.
std::int64_t Reflected(std::int64_t i, std::int64_t side) {
  return BorderSource(i, side, PaddingMode::kReflect);
}

// Converts one row with its borders to floats.
void FillRow(const Image& in, std::int64_t y, std::int64_t left, std::int64_t count, float* out) {
  const auto channels = static_cast<std::size_t>(in.spec.channels);
  const std::int64_t width = in.spec.width;
  std::int64_t x = left;
  const auto one = [&](std::int64_t from) {
    const std::uint8_t* p = in.At(y, from);
    for (std::size_t c = 0; c < channels; ++c) *out++ = static_cast<float>(p[c]);
  };
  for (; x < std::min(left + count, std::int64_t{0}); ++x) one(Reflected(x, width));
  const std::int64_t inside = std::min(left + count, width);
  if (x < inside && in.pixel_stride == channels) {
    const std::uint8_t* p = in.At(y, x);
    const std::size_t values = static_cast<std::size_t>(inside - x) * channels;
    for (std::size_t i = 0; i < values; ++i) out[i] = static_cast<float>(p[i]);
    out += values;
    x = inside;
  }
  for (; x < inside; ++x) one(x);
  for (; x < left + count; ++x) one(Reflected(x, width));
}

// The products of the weights, between rows of zeros.
const float* Products(const ConvolveWeights& weights, ScratchBuffer& memory) {
  const std::size_t rows = weights.y.size(), columns = weights.x.size();
  const std::size_t spare = ConvolveBand::kSpareRows * columns;
  const std::size_t count = rows * columns + 2 * spare;
  auto* products = reinterpret_cast<float*>(memory.Ensure(count * sizeof(float)));
  std::fill(products, products + count, 0.0F);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      products[spare + i * columns + j] = weights.y[i] * weights.x[j];
    }
  }
  return products;
}

}  // namespace

void ConvolveScalar(const ConvolveBand& band) {
  const auto columns = static_cast<std::size_t>(band.weight_columns);
  for (std::size_t row = 0; row < band.rows; ++row) {
    for (std::size_t value = 0; value < band.values; ++value) {
      const float* in = band.in + row * band.in_stride + value;
      const float* weight = band.weights + ConvolveBand::kSpareRows * columns;
      float sum = 0;
      for (int i = 0; i < band.weight_rows; ++i, in += band.in_stride) {
        for (std::size_t j = 0; j < columns; ++j, ++weight) {
          sum = std::fma(*weight, in[j * band.channels], sum);
        }
      }
      band.out[row * band.out_stride + value] = static_cast<std::uint8_t>(std::nearbyint(sum));
    }
  }
}

Window ConvolveReads(const ImageSpec& in, std::int64_t columns, std::int64_t rows,
                     const Window& wanted) {
  const std::int64_t x = columns / 2, y = rows / 2;
  const std::int64_t top = std::max(wanted.top - y, std::int64_t{0});
  const std::int64_t left = std::max(wanted.left - x, std::int64_t{0});
  const std::int64_t bottom = std::min(wanted.top + wanted.height + y, in.height);
  const std::int64_t right = std::min(wanted.left + wanted.width + x, in.width);
  return {top, left, bottom - top, right - left};
}

void Convolve(const Image& in, const ConvolveWeights& weights, const Window& wanted,
              OpContext& context, std::uint8_t* out, PointwiseLevel level) {
  const auto weight_rows = static_cast<std::int64_t>(weights.y.size());
  const auto weight_columns = static_cast<std::int64_t>(weights.x.size());
  ConvolveBand band;
  band.weights = Products(weights, context.scratch(0));
  band.weight_rows = static_cast<int>(weight_rows);
  band.weight_columns = static_cast<int>(weight_columns);
  band.channels = static_cast<std::size_t>(in.spec.channels);
  band.values = static_cast<std::size_t>(wanted.width) * band.channels;
  band.out_stride = band.values;
  const std::int64_t columns = wanted.width + weight_columns - 1;
  band.in_stride = static_cast<std::size_t>(columns) * band.channels;
  const std::size_t fits = kBandBytes / (band.in_stride * sizeof(float));
  const auto extra = static_cast<std::size_t>(weight_rows - 1);
  const std::size_t most = std::max(fits > extra ? fits - extra : 0, kLeastRows);
  const auto height = static_cast<std::size_t>(wanted.height);
  const std::size_t numbers =
      (std::min(most, height) + extra) * band.in_stride + ConvolveBand::kSlack;
  auto* memory = reinterpret_cast<float*>(context.scratch(1).Ensure(numbers * sizeof(float)));
  band.in = memory;
  for (std::size_t row = 0; row < height; row += band.rows) {
    band.rows = std::min(most, height - row);
    band.out = out + row * band.out_stride;
    float* to = memory;
    for (std::size_t i = 0; i < band.rows + extra; ++i, to += band.in_stride) {
      const std::int64_t y = wanted.top + static_cast<std::int64_t>(row + i) - weight_rows / 2;
      FillRow(in, Reflected(y, in.spec.height), wanted.left - weight_columns / 2, columns, to);
    }
    std::fill(to, to + ConvolveBand::kSlack, 0.0F);
    KernelOf(level)(band);
  }
}

}  // namespace headrace::ops
