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
#include "ops/torch/torch_functions.h"

namespace headrace::ops {

// Contents of the plan's constants by name ("torch_exp"). Only Compile() reads them.
using Constants = std::map<std::string, ByteSpan>;

// A plan's operator chain with its arguments checked: the light half, which draws. Immutable after
// Compile; thread-safe. The client (planner), the coordinator (splitter) and the worker link it.
class Chain {
 public:
  // kUnsupported: an operator, argument or combination that has no native form (the message names
  // the node). kInvalidArgument: arguments that the framework would refuse too.
  // `torch` computes what draws need of it, and outlives the chain.
  static Result<Chain> Compile(std::vector<Node> nodes, ClientLibraries libraries,
                               Constants constants,
                               const TorchFunctions* torch = TorchFunctions::Loaded());

  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  // The node as errors name it: "node 1 RandomResizedCrop(...)".
  [[nodiscard]] std::string NodeName(int node) const;
  [[nodiscard]] const ClientLibraries& libraries() const { return libraries_; }
  [[nodiscard]] const OpSchema& schema(int node) const { return *schemas_[node]; }
  // The sources that the chain takes.
  [[nodiscard]] TensorSpec source() const { return *schemas_.front()->SourceSpec(); }
  // True if any operator draws.
  [[nodiscard]] bool is_random() const { return param_words_ > 0; }
  // Number of int32 words that Draw fills for one sample, for all operators together.
  [[nodiscard]] int param_words() const { return param_words_; }
  // Where node i's words start.
  [[nodiscard]] int param_offset(int node) const { return param_offsets_[node]; }
  // Number of leading nodes that are pure; the cache point follows them. At least 1 (decode).
  [[nodiscard]] int pure_prefix() const { return pure_prefix_; }
  // Identity of that prefix with the library versions that matter: part of the cache key.
  [[nodiscard]] std::uint64_t prefix_hash() const { return prefix_hash_; }
  // The number of nodes before the tail. The tail's nodes map each element by itself (OpSchema::maps),
  // or put elements in another order. They make wider elements, in CHW, of uint8 values. So a
  // receiver of those values can finish a sample (Finisher), with a quarter of the bytes on the
  // way. 0: the chain has no tail, or something else follows it.
  [[nodiscard]] int tail() const { return tail_; }
  // What the chain makes of samples of any size.
  [[nodiscard]] const TensorSpec& output() const { return output_; }

  // The uniform draws that go through torch.exp, which the constant "torch_exp" must cover. Without
  // it Draw fails with kInvalidArgument; everything else works.
  [[nodiscard]] std::vector<ExpRange> exp_ranges() const;
  // Gives the outputs for a source of spec `in`, after each node; like Draw without drawing.
  // Errors as OpSchema::Infer. REQUIRES: after_node.size() == nodes().size().
  Status Shapes(const TensorSpec& in, std::span<TensorSpec> after_node) const;

  // Draws for one sample whose source is `in`. REQUIRES: params.size() == param_words().
  Status Draw(const TensorSpec& in, TorchGenerator& rng, MutableParams params,
              TensorSpec* out) const;

  // The seed of one sample's generator in RngMode::kSample. For samples made in Python, it also
  // goes to torch.manual_seed, random.seed and numpy.random.seed (its low 32 bits). occurrence: how
  // often this key came before in this iteration (0 for the first time).
  [[nodiscard]] static std::uint64_t SampleSeed(std::uint64_t base_seed, std::int64_t key,
                                                std::uint64_t occurrence);

 private:
  std::vector<Node> nodes_;
  ClientLibraries libraries_;
  std::vector<std::shared_ptr<const OpSchema>> schemas_;
  std::vector<int> param_offsets_;
  int param_words_ = 0;
  int pure_prefix_ = 0;
  int tail_ = 0;
  TensorSpec output_;
  std::uint64_t prefix_hash_ = 0;
};

}  // namespace headrace::ops
