#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/graph.h"
#include "base/result.h"
#include "ops/core/op.h"

namespace headrace::ops {

// Content of the plan's constants by name ("torch_exp"). Compile() alone reads them.
using Constants = std::map<std::string, ByteSpan>;

// A plan's operator chain with its arguments checked: the light half, which draws. Immutable after
// Compile; thread-safe. Linked by the client (planner), the coordinator (splitter) and the worker.
class Chain {
 public:
  // kUnsupported: an operator, argument or combination that has no native form (message names the
  // node). kInvalidArgument: arguments that the framework would refuse too.
  static Result<Chain> Compile(std::vector<Node> nodes, ClientLibraries libraries,
                               Constants constants);

  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] const ClientLibraries& libraries() const { return libraries_; }
  [[nodiscard]] const OpSchema& schema(int node) const { return *schemas_[node]; }
  // True if any operator draws.
  [[nodiscard]] bool is_random() const { return param_words_ > 0; }
  // int32 words that Draw fills for one sample, all operators together.
  [[nodiscard]] int param_words() const { return param_words_; }
  // Where node i's words start.
  [[nodiscard]] int param_offset(int node) const { return param_offsets_[node]; }
  // Number of leading nodes that are pure: the cache point is behind them. At least 1 (decode).
  [[nodiscard]] int pure_prefix() const { return pure_prefix_; }
  // Identity of that prefix with the library versions that matter: part of the cache key.
  [[nodiscard]] std::uint64_t prefix_hash() const { return prefix_hash_; }

  // The uniform draws that go through torch.exp: what the constant "torch_exp" must cover. Draw
  // fails with kInvalidArgument without it; everything else works.
  [[nodiscard]] std::vector<ExpRange> exp_ranges() const;
  // What comes out for a source image of spec `in`, and behind each node; as Draw without drawing.
  // Errors as OpSchema::Shape. REQUIRES: after_node.size() == nodes().size().
  Status Shapes(const ImageSpec& in, std::span<ImageSpec> after_node) const;

  // Draws for one sample whose source image is `in`. REQUIRES: params.size() == param_words().
  Status Draw(const ImageSpec& in, TorchGenerator& rng, MutableParams params, ImageSpec* out) const;

  // The generator of one sample in RngMode::kSample: the same seed also goes to torch.manual_seed,
  // random.seed and numpy.random.seed (its low 32 bits) where the sample is made in Python.
  // occurrence: how often this key came before in this iteration (0 for the first time).
  [[nodiscard]] static std::uint64_t SampleSeed(std::uint64_t base_seed, std::int64_t key,
                                                std::uint64_t occurrence);

 private:
  std::vector<Node> nodes_;
  ClientLibraries libraries_;
  std::vector<std::shared_ptr<const OpSchema>> schemas_;
  std::vector<int> param_offsets_;
  int param_words_ = 0;
  int pure_prefix_ = 0;
  std::uint64_t prefix_hash_ = 0;
};

}  // namespace headrace::ops
