#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headrace::ops {

// torch.sum of float32 numbers that are whole and below 256, on one thread. Four vectors of eight
// each add up every 32nd number. Then come, one after the other, the vectors that do not fill four,
// the four vectors, the rest and the eight lanes. Until then the sums are exact. Source:
// ATen/native/cpu/SumKernel.cpp, vectorized_inner_sum, whose vectors have eight floats in torch's
// AVX512 builds too. REQUIRES: no more than kMostPixelsOfMean numbers.
class TensorSum {
 public:
  explicit TensorSum(std::size_t count) : whole_(count / kBlock * kBlock), left_(count) {}
  // Adds the next numbers.
  void Add(const std::uint8_t* values, std::size_t count);
  // The sum. REQUIRES: all numbers were added.
  [[nodiscard]] float Total() const;

 private:
  static constexpr std::size_t kLanes = 8, kVectors = 4, kBlock = kLanes * kVectors;

  std::size_t whole_;  // how many of them fill blocks
  std::size_t left_;
  std::size_t at_ = 0;
  std::array<std::uint32_t, kBlock> sums_{};
  std::array<std::uint8_t, kBlock> rest_{};  // the numbers that do not
};

}  // namespace headrace::ops
