#pragma once

#include <cstdint>
#include <optional>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/core/numpy_generator.h"
#include "ops/core/python_generator.h"
#include "ops/torch/torch_generator.h"

namespace headrace::ops {

// The random generators that the samples of a lane draw from: torch's, and Python's and NumPy's
// where the plan draws from them. Each goes its own way. Value type; thread-compatible.
struct Generators {
  // Seeds them alike. `with_python`, `with_numpy`: there is Python's, too, and NumPy's.
  explicit Generators(std::uint64_t seed = 0, bool with_python = false, bool with_numpy = false)
      : torch(seed) {
    if (with_python) python.emplace(seed);
    if (with_numpy) numpy.emplace(static_cast<std::uint32_t>(seed));
  }

  // Bytes of torch.get_rng_state(), and after them the states of Python's and of NumPy's, if there
  // are such. NumPy's comes with Python's alone, so the length says which there are.
  [[nodiscard]] Bytes State() const;
  // kInvalidArgument: not such bytes, or of other generators than there are.
  Status SetState(ByteSpan state);

  TorchGenerator torch;
  std::optional<PythonGenerator> python;
  std::optional<NumpyGenerator> numpy;
};

// The generators that a draw takes its numbers from. Torch's alone will do where nothing draws from
// another.
struct GeneratorRefs {
  GeneratorRefs(Generators& of)  // NOLINT(google-explicit-constructor): a reference
      : torch(of.torch),
        python(of.python ? &*of.python : nullptr),
        numpy(of.numpy ? &*of.numpy : nullptr) {}
  GeneratorRefs(TorchGenerator& of) : torch(of) {}  // NOLINT(google-explicit-constructor): as above

  TorchGenerator& torch;
  PythonGenerator* python = nullptr;
  NumpyGenerator* numpy = nullptr;
};

}  // namespace headrace::ops
