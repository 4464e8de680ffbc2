#include "ops/torch/torch_functions.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

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

// LAPACK's dgels, as torch's linear algebra calls it. Its integers have 32 or 64 bits by the build:
// small numbers of 64 bits, whose first half is the number too, serve both.
using Gels = void(const char* transpose, const std::int64_t* rows, const std::int64_t* columns,
                  const std::int64_t* sides, double* a, const std::int64_t* stride_a, double* b,
                  const std::int64_t* stride_b, double* work, const std::int64_t* size_of_work,
                  std::int64_t* info, std::size_t length_of_transpose);

template <typename Function>
bool Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

class LoadedFunctions final : public TorchFunctions {
 public:
  LoadedFunctions(const Interface& torch, Gels* gels) : torch_(torch), gels_(gels) {}

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

  Status LeastSquares(std::span<const double> rows, std::span<const double> values,
                      std::span<double> solution) const override {
    if (gels_ == nullptr) return Unsupported("this torch solves no equations");
    const auto height = static_cast<std::int64_t>(values.size());
    const auto width = std::ssize(rows) / height;
    std::vector<double> columns(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      columns[static_cast<std::size_t>(at % width * height + at / width)] = rows[i];
    }
    std::vector<double> right(values.begin(), values.end());
    std::vector<double> work(1);
    const auto call = [&](std::int64_t size_of_work) {
      const std::int64_t one = 1;
      std::int64_t info = 0;
      gels_("N", &height, &width, &one, columns.data(), &height, right.data(), &height, work.data(),
            &size_of_work, &info, 1);
      return static_cast<std::int32_t>(info);
    };
    // As torch does: the library says first how much room it likes, which decides its blocks.
    if (call(-1) != 0) return Internal("LAPACK says no size of its workspace");
    work.resize(static_cast<std::size_t>(work.front()));
    if (call(std::ssize(work)) != 0) return Unsupported("the equations have no solution");
    std::copy_n(right.begin(), solution.size(), solution.begin());
    return Status::Ok();
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
  Gels* gels_;  // null: torch has none
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
  Gels* gels = nullptr;
  Find(library, "dgels_", gels);
  static const LoadedFunctions functions(torch, gels);
  return &functions;
}

std::atomic<const TorchFunctions*> known{nullptr};

// Twice the area of a triangle; 0: its corners lie on a line.
std::int64_t Area(const std::array<std::int64_t, 2>& a, const std::array<std::int64_t, 2>& b,
                  const std::array<std::int64_t, 2>& c) {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

bool HasLine(const Corners& corners) {
  for (std::size_t i = 0; i < 4; ++i) {
    if (Area(corners[i], corners[(i + 1) % 4], corners[(i + 2) % 4]) == 0) return true;
  }
  return false;
}

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

// Source: torchvision/transforms/functional.py. All numbers of the equations are whole, so exact.
Status SolvePerspective(const TorchFunctions& torch, const Corners& start, const Corners& end,
                        std::span<float, 8> coefficients) {
  if (HasLine(start) || HasLine(end)) return Unsupported("corners of an image lie on a line");
  std::array<double, 64> rows{};
  std::array<double, 8> values{}, solution{};
  for (std::size_t corner = 0; corner < 4; ++corner) {
    const auto [x, y] = end[corner];
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const std::int64_t to = start[corner][axis];
      const std::size_t row = 2 * corner + axis;
      double* const equation = &rows[8 * row];
      equation[3 * axis] = static_cast<double>(x);
      equation[3 * axis + 1] = static_cast<double>(y);
      equation[3 * axis + 2] = 1;
      equation[6] = static_cast<double>(-to * x);
      equation[7] = static_cast<double>(-to * y);
      values[row] = static_cast<double>(to);
    }
  }
  HR_RETURN_IF_ERROR(torch.LeastSquares(rows, values, solution));
  std::ranges::transform(solution, coefficients.begin(),
                         [](double value) { return static_cast<float>(value); });
  if (!std::ranges::all_of(coefficients, [](float value) { return std::isfinite(value); })) {
    return Unsupported("the equations have no solution in float32");
  }
  return Status::Ok();
}

}  // namespace headrace::ops
