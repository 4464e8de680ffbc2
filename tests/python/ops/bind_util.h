#pragma once

#include <nanobind/nanobind.h>

#include <stdexcept>
#include <utility>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/torch/torch_generator.h"

// What the bindings share: errors, and bytes both ways.
namespace headrace::ops {

namespace nb = nanobind;

struct OpsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void Check(const Status& status) {
  if (!status.ok()) throw OpsError(status.ToString());
}
template <typename T>
T Take(Result<T> result) {
  Check(result.status());
  return std::move(result).value();
}

inline ByteSpan View(const nb::bytes& bytes) {
  return {reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size()};
}
inline nb::bytes ToPython(ByteSpan bytes) { return nb::bytes(bytes.data(), bytes.size()); }

inline TorchGenerator::Rounding ToRounding(int rounding) {
  return static_cast<TorchGenerator::Rounding>(rounding);
}

}  // namespace headrace::ops
