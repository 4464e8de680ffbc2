#include "ops/vision/tensor/tensor_mean.h"

#include <algorithm>

#include "base/check.h"

namespace headrace::ops {

void TensorSum::Add(const std::uint8_t* values, std::size_t count) {
  const std::size_t end = at_ + count;
  HR_CHECK(end <= left_);
  const auto one = [&] {
    if (at_ < whole_) {
      sums_[at_ % kBlock] += *values++;
    } else {
      rest_[at_ - whole_] = *values++;
    }
    ++at_;
  };
  while (at_ < end && at_ % kBlock != 0) one();
  for (const std::size_t blocks = std::min(end, whole_); at_ + kBlock <= blocks; at_ += kBlock) {
    for (std::size_t i = 0; i < kBlock; ++i) sums_[i] += values[i];
    values += kBlock;
  }
  while (at_ < end) one();
}

float TensorSum::Total() const {
  HR_CHECK(at_ == left_);
  const std::size_t left = left_ - whole_, vectors = left / kLanes;
  float total = 0;
  for (std::size_t i = vectors * kLanes; i < left; ++i) total += static_cast<float>(rest_[i]);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    auto sum = static_cast<float>(sums_[lane]);
    for (std::size_t v = 0; v < vectors; ++v) sum += static_cast<float>(rest_[v * kLanes + lane]);
    for (std::size_t v = 1; v < kVectors; ++v) sum += static_cast<float>(sums_[v * kLanes + lane]);
    total += sum;
  }
  return total;
}

}  // namespace headrace::ops
