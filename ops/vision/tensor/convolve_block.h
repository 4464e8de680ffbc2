#pragma once

#include <algorithm>
#include <cstring>

#include "ops/vision/tensor/convolve_kernels.h"

// Included in the .cc file of each instruction set, which defines HR_TARGET before. V has the
// vectors: Float, kSize, Zero, Load, All and Add (sum + a * b, rounded once),
// Out, the type of what is stored, and Store.
namespace headrace::ops {

// Makes kRows rows of kVectors vectors. Each number of the input is loaded once for all rows: the
// row r has the weights of one row less than the row before. Where it has none, they are zero, and
// the sum stays the same.
template <typename V, int kRows, int kVectors>
HR_TARGET void ConvolveBlock(const ConvolveBand& band, std::size_t row, std::size_t first) {
  static_assert(kRows <= ConvolveBand::kSpareRows + 1);
  typename V::Float sums[kRows][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[r][v] = V::Zero();
  }
  const std::ptrdiff_t columns = band.weight_columns;
  const float* in = band.in + row * band.in_stride + first;
  const float* weight = band.weights + ConvolveBand::kSpareRows * columns;
  for (int i = 0; i < band.weight_rows + kRows - 1; ++i, in += band.in_stride) {
    const float* at = in;
    for (std::ptrdiff_t j = 0; j < columns; ++j, ++weight, at += band.channels) {
      typename V::Float values[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) values[v] = V::Load(at + v * V::kSize);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const typename V::Float factor = V::All(weight[-r * columns]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[r][v] = V::Add(sums[r][v], factor, values[v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    typename V::Out* out = band.OutOf<typename V::Out>(row + static_cast<std::size_t>(r)) + first;
    std::size_t left = band.values - first;
    for (int v = 0; v < kVectors; ++v, out += V::kSize, left -= V::kSize) {
      if (left >= V::kSize) {
        V::Store(out, sums[r][v]);
        continue;
      }
      typename V::Out last[V::kSize];
      V::Store(last, sums[r][v]);
      std::memcpy(out, last, left * sizeof(*out));
      break;
    }
  }
}

template <typename V, int kRows, int kMost>
HR_TARGET void ConvolveRows(const ConvolveBand& band, std::size_t row) {
  std::size_t first = 0;
  for (; first + (kMost - 1) * V::kSize < band.values; first += kMost * V::kSize) {
    ConvolveBlock<V, kRows, kMost>(band, row, first);
  }
  for (; first < band.values; first += V::kSize) ConvolveBlock<V, kRows, 1>(band, row, first);
}

// kMost: vectors of a block, so that its sums stay in registers.
template <typename V, int kMost>
HR_TARGET void ConvolveWith(const ConvolveBand& band) {
  constexpr int kRows = ConvolveBand::kSpareRows + 1;
  // With few rows of weights, most of what the rows of a block share would be zeros.
  constexpr int kFewRows = 6;
  std::size_t row = 0;
  if (band.weight_rows > kFewRows) {
    for (; row + kRows <= band.rows; row += kRows) ConvolveRows<V, kRows, kMost>(band, row);
  }
  for (; row < band.rows; ++row) ConvolveRows<V, 1, 4>(band, row);
}

}  // namespace headrace::ops
