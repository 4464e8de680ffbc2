#include "ops/vision/tensor/float_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

namespace headrace::ops {
namespace {

constexpr int kLevels = 4;

// The smallest n with 2^n >= size, as torch's CeilLog2.
int CeilLog2(std::size_t size) {
  return size <= 2 ? 1 : static_cast<int>(std::bit_width(size - 1));
}

// Adds up rows of kWide numbers, number by number: torch's multi_row_sum.
template <std::size_t kWide>
std::array<float, kWide> SumRows(const float* row, std::size_t rows) {
  std::array<float, kWide> sums[kLevels] = {};
  const auto add = [](std::array<float, kWide>& to, const float* from) {
    for (std::size_t k = 0; k < kWide; ++k) to[k] += from[k];
  };
  const int power = std::max(4, CeilLog2(rows) / kLevels);
  const std::size_t step = std::size_t{1} << power, mask = step - 1;
  std::size_t i = 0;
  while (i + step <= rows) {
    for (std::size_t j = 0; j < step; ++j, ++i, row += kWide) add(sums[0], row);
    for (int level = 1; level < kLevels; ++level) {
      add(sums[level], sums[level - 1].data());
      sums[level - 1].fill(0);
      if ((i & (mask << (level * power))) != 0) break;
    }
  }
  for (; i < rows; ++i, row += kWide) add(sums[0], row);
  for (int level = 1; level < kLevels; ++level) add(sums[0], sums[level].data());
  return sums[0];
}

// Adds up numbers in four sums, of kWide each: torch's row_sum.
template <std::size_t kWide>
std::array<float, kWide> SumOf(const float* numbers, std::size_t vectors) {
  constexpr std::size_t kSums = 4;
  const std::size_t rows = vectors / kSums;
  std::array<float, kSums* kWide> sums = SumRows<kSums * kWide>(numbers, rows);
  std::array<float, kWide> total;
  std::copy_n(sums.begin(), kWide, total.begin());
  for (std::size_t v = rows * kSums; v < vectors; ++v) {
    for (std::size_t k = 0; k < kWide; ++k) total[k] += numbers[v * kWide + k];
  }
  for (std::size_t s = 1; s < kSums; ++s) {
    for (std::size_t k = 0; k < kWide; ++k) total[k] += sums[s * kWide + k];
  }
  return total;
}

}  // namespace

float TorchSum(std::span<const float> numbers) {
  constexpr std::size_t kLanes = 8;
  // torch adds the sum to an output of 0.
  if (numbers.size() < kLanes) return 0.0F + SumOf<1>(numbers.data(), numbers.size())[0];
  const std::size_t vectors = numbers.size() / kLanes;
  const std::array<float, kLanes> lanes = SumOf<kLanes>(numbers.data(), vectors);
  float total = 0;
  for (std::size_t i = vectors * kLanes; i < numbers.size(); ++i) total += numbers[i];
  for (const float lane : lanes) total += lane;
  return 0.0F + total;
}

}  // namespace headrace::ops
