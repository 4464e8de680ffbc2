#pragma once

#include <cstdint>
#include <cstring>

#include "base/graph.h"

// Elements of tensors as double, which holds every value of an image's elements exactly.
namespace headrace::ops {

// float16, bfloat16, float32 or float64.
[[nodiscard]] bool IsFloat(DType type);

// The type's nearest value, half to even. The 16-bit types go by way of float32, as torch converts
// Python numbers and computes. One float32 operation made in double and rounded like this equals
// the float32 operation: double has more than twice the digits. Integers are whole numbers already.
[[nodiscard]] double RoundTo(DType type, double value);

// The bits of an element, in the low bytes. REQUIRES: RoundTo(type, value) == value.
[[nodiscard]] std::uint64_t ElementBits(DType type, double value);

// REQUIRES: T has the type's size.
template <typename T>
[[nodiscard]] T ElementAs(DType type, double value) {
  const std::uint64_t bits = ElementBits(type, value);
  T element;
  std::memcpy(&element, &bits, sizeof(element));  // little endian, as all of the wire
  return element;
}

}  // namespace headrace::ops
