#pragma once

#include <span>

#include "base/result.h"

namespace headrace::ops {

// Functions of the torch that this process has loaded, on contiguous float32 of the CPU. Their bits
// depend on the torch build and on the CPU. So draws that go through them are made where torch is:
// in the trainer, and in the stage hosts. Thread-safe.
class TorchFunctions {
 public:
  virtual ~TorchFunctions() = default;
  // torch.exp(in). REQUIRES: in.size() == out.size(), as for Softmax.
  virtual Status Exp(std::span<const float> in, std::span<float> out) const = 0;
  // torch.sum(in)
  virtual Status Sum(std::span<const float> in, float* out) const = 0;
  // torch.softmax(in, 0)
  virtual Status Softmax(std::span<const float> in, std::span<float> out) const = 0;

  // Null where no torch is loaded, or one without the C interface (`aoti_torch_call_dispatcher`).
  static const TorchFunctions* Loaded();
};

// torchvision's _get_gaussian_kernel1d. `positions`: its torch.linspace. `api`: 1 for
// torchvision.transforms, 2 for torchvision.transforms.v2. Errors of the functions.
// REQUIRES: weights.size() == positions.size(), sigma > 0.
Status GaussianWeights(const TorchFunctions& torch, std::span<const float> positions, float sigma,
                       int api, std::span<float> weights);

}  // namespace headrace::ops
