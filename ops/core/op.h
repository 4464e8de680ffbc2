#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/graph.h"
#include "base/result.h"
#include "base/tensor_spec.h"
#include "ops/core/generators.h"
#include "ops/torch/torch_exp.h"

// An operator has two halves.
//
//   OpSchema  its arguments, its shapes and its random draws. No pixels, no heavy library: the
//             coordinator, the client's planner and the worker link it.
//   Kernel    its pixels. Only the worker links it.
//
// Both are immutable after construction and thread-safe.
namespace headrace::ops {

// The draws of one sample at one operator: param_words() int32 words, floats bit-cast.
using Params = std::span<const std::int32_t>;
using MutableParams = std::span<std::int32_t>;

// The light half. There is one object for each node of a compiled chain.
class OpSchema {
 public:
  virtual ~OpSchema() = default;
  [[nodiscard]] virtual Purity purity() const = 0;
  // The sources that a chain's first operator takes; nullopt: it is no first operator.
  [[nodiscard]] virtual std::optional<TensorSpec> SourceSpec() const { return std::nullopt; }
  // Gives the output for an input of spec `in`. Sizes of `in` may be Dims::kAny; a size of the output
  // is kAny where it depends on them, or on draws. kInvalidArgument, with the
  // framework's message: the framework itself raises (for example on a crop larger than the image).
  virtual Status Infer(const TensorSpec& in, TensorSpec* out) const = 0;
  // Number of words of Params that Draw fills; constant for the object.
  [[nodiscard]] virtual int param_words() const { return 0; }
  // Draws exactly what the framework's own transform draws from torch's generator, in its order,
  // for an input of spec `in`. Fills `params` and gives the output. Errors as Infer. REQUIRES:
  // in.known(), params.size() == param_words().
  virtual Status Draw(const TensorSpec& in, TorchGenerator& /*rng*/, MutableParams /*params*/,
                      TensorSpec* out) const {
    return Infer(in, out);
  }
  // Whether it draws from Python's generator, and nothing from torch's.
  [[nodiscard]] virtual bool draws_from_python() const { return false; }
  // As Draw, from Python's generator. Called where draws_from_python, unless draws_from_numpy.
  virtual Status DrawFromPython(const TensorSpec& in, PythonGenerator& /*rng*/,
                                MutableParams /*params*/, TensorSpec* out) const {
    return Infer(in, out);
  }
  // Whether it draws from NumPy's generator as well as from Python's. REQUIRES: draws_from_python.
  [[nodiscard]] virtual bool draws_from_numpy() const { return false; }
  // As Draw, from both. Called where draws_from_numpy.
  virtual Status DrawFromNumpy(const TensorSpec& in, PythonGenerator& /*python*/,
                               NumpyGenerator& /*numpy*/, MutableParams /*params*/,
                               TensorSpec* out) const {
    return Infer(in, out);
  }
  // Infer for a sample with these params, on which the output may depend. REQUIRES: in.known(),
  // params.size() == param_words().
  virtual Status InferDrawn(const TensorSpec& in, Params /*params*/, TensorSpec* out) const {
    return Infer(in, out);
  }
  // Whether the operator only maps elements, each by itself, and draws nothing: see Map.
  [[nodiscard]] virtual bool maps() const { return false; }
  // Maps one element (element.h) of channel `channel`. The result is an element of the output's
  // type, and each step is rounded as in torch. Other operators keep the element.
  [[nodiscard]] virtual double Map(int /*channel*/, double value) const { return value; }
  // Whether the operator only puts the elements of each channel in another order.
  [[nodiscard]] virtual bool reorders() const { return false; }
  // The uniform draws that this operator sends through torch.exp.
  [[nodiscard]] virtual std::vector<ExpRange> exp_ranges() const { return {}; }
};

// Scratch memory of one executor thread. Not thread-safe; reused from sample to sample.
class OpContext {
 public:
  // Buffers keep their memory from call to call. scratch(slot), `slot` < 8, is private to the
  // calling operator's Run. The two alternating `output` buffers belong to the chain runner.
  [[nodiscard]] ScratchBuffer& scratch(int slot) { return scratch_[slot]; }
  [[nodiscard]] ScratchBuffer& output(int which) { return output_[which]; }
  // The thread's own object of a type (a decoder, a resampler), made at first use.
  template <typename T>
  [[nodiscard]] T& Tool() {
    static const char key = 0;  // its address stands for T
    for (const auto& [tag, tool] : tools_) {
      if (tag == &key) return *static_cast<T*>(tool.get());
    }
    tools_.emplace_back(&key, std::make_shared<T>());
    return *static_cast<T*>(tools_.back().second.get());
  }

 private:
  ScratchBuffer scratch_[8];
  ScratchBuffer output_[2];
  std::vector<std::pair<const void*, std::shared_ptr<void>>> tools_;
};

// The heavy half of an operator. What it computes on is the matter of its kind: see
// ops/vision/image_kernel.h for images.
class Kernel {
 public:
  virtual ~Kernel() = default;
};

}  // namespace headrace::ops
