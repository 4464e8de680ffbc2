#include "ops/core/generators.h"

#include <algorithm>

namespace headrace::ops {

Bytes Generators::State() const {
  Bytes state = torch.TorchState();
  const auto add = [&](const KeptTwister& more) {
    const Bytes bytes = more.State();
    state.insert(state.end(), bytes.begin(), bytes.end());
  };
  if (python) add(*python);
  if (numpy) add(*numpy);
  return state;
}

Status Generators::SetState(ByteSpan state) {
  const std::size_t of_torch = std::min(TorchGenerator::kTorchStateBytes, state.size());
  ByteSpan rest = state.subspan(of_torch);
  Generators other = *this;
  const auto take = [&](KeptTwister& from) {
    const std::size_t bytes = std::min(KeptTwister::kStateBytes, rest.size());
    const Status status = from.SetState(rest.first(bytes));
    rest = rest.subspan(bytes);
    return status;
  };
  HR_RETURN_IF_ERROR(other.torch.SetTorchState(state.first(of_torch)));
  if (other.python) HR_RETURN_IF_ERROR(take(*other.python));
  if (other.numpy) HR_RETURN_IF_ERROR(take(*other.numpy));
  if (!rest.empty()) return InvalidArgument("a state of more generators than there are");
  *this = other;
  return Status::Ok();
}

}  // namespace headrace::ops
