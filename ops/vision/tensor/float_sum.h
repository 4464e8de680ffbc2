#pragma once

#include <span>

namespace headrace::ops {

// torch.sum of float32 numbers that follow one another in memory, on one thread. Four vectors of
// eight each add up every 32nd number, in sums of sums so that the errors stay small. Source:
// ATen/native/cpu/SumKernel.cpp, vectorized_inner_sum and multi_row_sum, whose vectors have eight
// floats in torch's AVX512 builds too. Numbers that are whole and few have TensorSum.
[[nodiscard]] float TorchSum(std::span<const float> numbers);

}  // namespace headrace::ops
