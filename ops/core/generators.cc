#include "ops/core/generators.h"

#include <algorithm>
#include <string>

namespace headrace::ops {

Bytes Generators::State() const {
  Bytes state = torch.TorchState();
  if (python) {
    const Bytes more = python->State();
    state.insert(state.end(), more.begin(), more.end());
  }
  return state;
}

Status Generators::SetState(ByteSpan state) {
  if (!python) return torch.SetTorchState(state);
  const std::size_t of_torch = std::min(TorchGenerator::kTorchStateBytes, state.size());
  PythonGenerator other;
  HR_RETURN_IF_ERROR(other.SetState(state.subspan(of_torch)));
  HR_RETURN_IF_ERROR(torch.SetTorchState(state.first(of_torch)));
  python = other;
  return Status::Ok();
}

}  // namespace headrace::ops
