#pragma once

#include <cstdint>
#include <optional>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/core/python_generator.h"
#include "ops/torch/torch_generator.h"

namespace headrace::ops {

// The random generators that the samples of a lane draw from: torch's, and Python's where the plan
// draws from it. Each goes its own way. Value type; thread-compatible.
struct Generators {
  // Seeds them alike. `with_python`: there is Python's, too.
  explicit Generators(std::uint64_t seed = 0, bool with_python = false) : torch(seed) {
    if (with_python) python.emplace(seed);
  }

  // Bytes of torch.get_rng_state(), and after them those of PythonGenerator::State, if there is one.
  [[nodiscard]] Bytes State() const;
  // kInvalidArgument: not such bytes, or without Python's where there is one.
  Status SetState(ByteSpan state);

  TorchGenerator torch;
  std::optional<PythonGenerator> python;
};

// The generators that a draw takes its numbers from. Torch's alone will do where nothing draws from
// Python's.
struct GeneratorRefs {
  GeneratorRefs(Generators& of)  // NOLINT(google-explicit-constructor): a reference
      : torch(of.torch), python(of.python ? &*of.python : nullptr) {}
  GeneratorRefs(TorchGenerator& of) : torch(of) {}  // NOLINT(google-explicit-constructor): as above

  TorchGenerator& torch;
  PythonGenerator* python = nullptr;
};

}  // namespace headrace::ops
