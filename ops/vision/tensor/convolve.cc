#include "ops/vision/tensor/convolve.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/vision/geometry/border.h"
#include "ops/vision/tensor/convolve_kernels.h"
#include "ops/vision/tensor/float_ops.h"

namespace headrace::ops {
namespace {

// Bytes of input that are converted at a time: they stay in the second-level cache.
constexpr std::size_t kBandBytes = std::size_t{1} << 20;
constexpr std::size_t kLeastRows = 16;

ConvolveKernel KernelOf(PointwiseLevel level, bool floats) {
#if defined(__x86_64__)
  if (level == PointwiseLevel::kAvx512Vbmi) return floats ? ConvolveAvx512Floats : ConvolveAvx512;
  if (level == PointwiseLevel::kAvx2) return floats ? ConvolveAvx2Floats : ConvolveAvx2;
#endif
  return floats ? ConvolveScalarFloats : ConvolveScalar;
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

// Copies one row of floats with its borders.
void FillFloats(const Image& in, std::int64_t y, std::int64_t left, std::int64_t count,
                float* out) {
  const std::size_t step = in.pixel_stride / sizeof(float);
  const std::int64_t width = in.spec.width;
  std::int64_t x = left;
  const auto copy = [&](std::int64_t from, std::int64_t pixels) {
    const std::size_t values = static_cast<std::size_t>(pixels) * step;
    std::memcpy(out, in.At(y, from), values * sizeof(float));
    out += values;
  };
  for (; x < std::min(left + count, std::int64_t{0}); ++x) copy(Reflected(x, width), 1);
  const std::int64_t inside = std::min(left + count, width);
  if (x < inside) copy(x, inside - x);
  for (x = std::max(x, inside); x < left + count; ++x) copy(Reflected(x, width), 1);
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

template <typename Out>
void SumBand(const ConvolveBand& band) {
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
      if constexpr (!std::is_same_v<Out, float>) sum = std::nearbyint(sum);
      band.OutOf<Out>(row)[value] = static_cast<Out>(sum);
    }
  }
}

// Convolves the wanted pixels, by bands. fill(y, left, columns, to) makes a row of the input.
template <typename Fill>
void ConvolveBands(const Image& in, std::size_t channels, const ConvolveWeights& weights,
                   const Window& wanted, OpContext& context, ConvolveBand band,
                   ConvolveKernel kernel, Fill fill) {
  const auto weight_rows = static_cast<std::int64_t>(weights.y.size());
  const auto weight_columns = static_cast<std::int64_t>(weights.x.size());
  band.weights = Products(weights, context.scratch(0));
  band.weight_rows = static_cast<int>(weight_rows);
  band.weight_columns = static_cast<int>(weight_columns);
  band.channels = channels;
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
    float* to = memory;
    for (std::size_t i = 0; i < band.rows + extra; ++i, to += band.in_stride) {
      const std::int64_t y = wanted.top + static_cast<std::int64_t>(row + i) - weight_rows / 2;
      fill(Reflected(y, in.spec.height), wanted.left - weight_columns / 2, columns, to);
    }
    std::fill(to, to + ConvolveBand::kSlack, 0.0F);
    kernel(band);
    if (band.out != nullptr) band.out += band.rows * band.out_stride;
    if (band.out_floats != nullptr) band.out_floats += band.rows * band.out_stride;
  }
}

}  // namespace

void ConvolveScalar(const ConvolveBand& band) { SumBand<std::uint8_t>(band); }
void ConvolveScalarFloats(const ConvolveBand& band) { SumBand<float>(band); }

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
  ConvolveBand band;
  band.out = out;
  const auto fill = [&](std::int64_t y, std::int64_t left, std::int64_t columns, float* to) {
    FillRow(in, y, left, columns, to);
  };
  ConvolveBands(in, static_cast<std::size_t>(in.spec.channels), weights, wanted, context, band,
                KernelOf(level, false), fill);
}

Status ConvolveFloats(const Image& in, const ConvolveWeights& weights, const Window& wanted,
                      OpContext& context, float* out, PointwiseLevel level) {
  if (!AreFinite(in, level)) {
    return Unsupported("elements that are no finite numbers have other bits in torch");
  }
  ConvolveBand band;
  band.out_floats = out;
  const auto fill = [&](std::int64_t y, std::int64_t left, std::int64_t columns, float* to) {
    FillFloats(in, y, left, columns, to);
  };
  ConvolveBands(in, in.pixel_stride / sizeof(float), weights, wanted, context, band,
                KernelOf(level, true), fill);
  return {};
}

void ConvolveThree(const float* in, std::size_t rows, std::size_t in_stride, std::size_t step,
                   std::span<const float, 9> weights, OpContext& context, float* out,
                   PointwiseLevel level) {
  constexpr std::size_t kSpare = 3 * ConvolveBand::kSpareRows;
  auto* const spaced =
      reinterpret_cast<float*>(context.scratch(0).Ensure((9 + 2 * kSpare) * sizeof(float)));
  std::fill(spaced, spaced + 9 + 2 * kSpare, 0.0F);
  std::ranges::copy(weights, spaced + kSpare);
  ConvolveBand band;
  band.in = in;
  band.in_stride = in_stride;
  band.weights = spaced;
  band.weight_rows = band.weight_columns = 3;
  band.channels = step;
  band.rows = rows - 2;
  band.values = band.out_stride = in_stride - 2 * step;
  band.out_floats = out;
  KernelOf(level, true)(band);
}

}  // namespace headrace::ops
