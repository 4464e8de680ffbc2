#include "ops/torch/torch_functions.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>

namespace headrace::ops {
namespace {

using Tensor = void*;         // AtenTensorHandle
using Value = std::uint64_t;  // StableIValue: a handle, a number, or 0 for None

// torch's stable C interface, for torch 2.13 (torch/csrc/inductor/aoti_torch/c/shim.h).
struct Interface {
  std::int32_t (*call)(const char* op, const char* overload, Value* stack) = nullptr;
  std::int32_t (*tensor_of)(void* data, std::int64_t dims, const std::int64_t* sizes,
                            const std::int64_t* strides, std::int64_t offset, std::int32_t dtype,
                            std::int32_t device, std::int32_t index, Tensor* out) = nullptr;
  std::int32_t (*data_of)(Tensor tensor, void** out) = nullptr;
  std::int32_t (*remove)(Tensor tensor) = nullptr;
  std::int32_t (*float32)() = nullptr;
  std::int32_t (*cpu)() = nullptr;
};

template <typename Function>
bool Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

class LoadedFunctions final : public TorchFunctions {
 public:
  explicit LoadedFunctions(const Interface& torch) : torch_(torch) {}

  Status Exp(std::span<const float> in, std::span<float> out) const override {
    Value stack[1];
    return Call("aten::exp", in, stack, out);
  }
  Status Sum(std::span<const float> in, float* out) const override {
    Value stack[2] = {0, 0 /* dtype */};
    return Call("aten::sum", in, stack, {out, 1});
  }
  Status Softmax(std::span<const float> in, std::span<float> out) const override {
    Value stack[3] = {0, 0 /* dim */, 0 /* half_to_float */};
    return Call("aten::_softmax", in, stack, out);
  }

 private:
  // The call takes the arguments off the stack, and leaves its result there.
  Status Call(const char* op, std::span<const float> in, Value* stack, std::span<float> out) const {
    const auto size = static_cast<std::int64_t>(in.size());
    const std::int64_t stride = 1;
    Tensor argument = nullptr;
    if (torch_.tensor_of(const_cast<float*>(in.data()), 1, &size, &stride, 0, torch_.float32(),
                         torch_.cpu(), 0, &argument) != 0) {
      return Internal("torch makes no tensor");
    }
    stack[0] = reinterpret_cast<Value>(argument);
    if (torch_.call(op, "", stack) != 0) return Internal(std::string("torch fails in ") + op);
    const auto result = reinterpret_cast<Tensor>(stack[0]);
    void* data = nullptr;
    const bool read = torch_.data_of(result, &data) == 0;
    if (read) std::memcpy(out.data(), data, out.size_bytes());
    torch_.remove(result);
    return read ? Status::Ok() : Internal(std::string("torch has no result of ") + op);
  }

  Interface torch_;
};

const TorchFunctions* FindLoaded() {
  // Only one that is loaded already. It stays loaded until the process ends.
  void* library = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return nullptr;
  Interface torch;
  if (!Find(library, "aoti_torch_call_dispatcher", torch.call) ||
      !Find(library, "aoti_torch_create_tensor_from_blob", torch.tensor_of) ||
      !Find(library, "aoti_torch_get_data_ptr", torch.data_of) ||
      !Find(library, "aoti_torch_delete_tensor_object", torch.remove) ||
      !Find(library, "aoti_torch_dtype_float32", torch.float32) ||
      !Find(library, "aoti_torch_device_type_cpu", torch.cpu)) {
    return nullptr;
  }
  static const LoadedFunctions functions(torch);
  return &functions;
}

std::atomic<const TorchFunctions*> known{nullptr};

}  // namespace

const TorchFunctions* TorchFunctions::Loaded() {
  const TorchFunctions* functions = known.load();
  if (functions == nullptr) known.store(functions = FindLoaded());
  return functions;
}

// Source: torchvision/transforms/_functional_tensor.py and v2/functional/_misc.py.
Status GaussianWeights(const TorchFunctions& torch, std::span<const float> positions, float sigma,
                       int api, std::span<float> weights) {
  std::ranges::transform(positions, weights.begin(), [&](float position) {
    const float scaled = position / sigma;
    const float square = scaled * scaled;
    return api == 1 ? -0.5F * square : -square;
  });
  if (api == 2) return torch.Softmax(weights, weights);
  HR_RETURN_IF_ERROR(torch.Exp(weights, weights));
  float sum = 0;
  HR_RETURN_IF_ERROR(torch.Sum(weights, &sum));
  for (float& weight : weights) weight /= sum;
  return Status::Ok();
}

}  // namespace headrace::ops
