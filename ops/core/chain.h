#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/graph.h"
#include "base/result.h"
#include "ops/core/gate.h"
#include "ops/core/op.h"
#include "ops/torch/torch_functions.h"

namespace headrace::ops {

// Contents of the plan's constants by name ("torch_exp"). Only Compile() reads them.
using Constants = std::map<std::string, ByteSpan>;
// The one that draws use, and nothing else.
inline constexpr std::string_view kTorchExp = "torch_exp";

// Operators one after the other with their arguments checked: the light half, which draws. A plan
// is one chain, or a graph of several (graph.h). Immutable after Compile; thread-safe.
// Methods: what client, coordinator and worker each ask of it.
class Chain {
 public:
  // kUnsupported: an operator, argument or combination that has no native form (the message names
  // the node). kInvalidArgument: arguments that the framework would refuse too.
  // `torch` computes what draws need of it, and outlives the chain. `numbers`: the nodes' numbers
  // in their plan, which messages name; empty: 0, 1, 2, ... `any_size`: the size of the value may
  // depend on what is drawn. REQUIRES: each node takes the value of the one before it, whatever its
  // inputs say.
  static Result<Chain> Compile(std::vector<Node> nodes, ClientLibraries libraries,
                               Constants constants,
                               const TorchFunctions* torch = TorchFunctions::Loaded(),
                               std::vector<std::int32_t> numbers = {}, bool any_size = false);

  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  // The node as errors name it: "node 1 RandomResizedCrop(...)".
  [[nodiscard]] std::string NodeName(int node) const;
  [[nodiscard]] const ClientLibraries& libraries() const { return libraries_; }
  [[nodiscard]] const OpSchema& schema(int node) const { return *schemas_[node]; }
  // What the node makes of samples of any size.
  [[nodiscard]] const TensorSpec& kind(int node) const {
    return kinds_[static_cast<std::size_t>(node)];
  }
  // The sources that the chain takes.
  [[nodiscard]] TensorSpec source() const { return *schemas_.front()->SourceSpec(); }
  // True if any operator draws.
  [[nodiscard]] bool is_random() const { return param_words_ > 0; }
  // Whether the size of the value depends on what is drawn.
  [[nodiscard]] bool draws_size() const { return draws_size_; }
  // True if an operator draws from Python's generator.
  [[nodiscard]] bool draws_from_python() const { return draws_from_python_; }
  [[nodiscard]] bool draws_from_numpy() const { return draws_from_numpy_; }
  // Number of int32 words that Draw fills for one sample, for all operators together.
  [[nodiscard]] int param_words() const { return param_words_; }
  // The number of node i in its plan.
  [[nodiscard]] std::int32_t number(int i) const { return numbers_[static_cast<std::size_t>(i)]; }
  // Where node i's words start.
  [[nodiscard]] int param_offset(int node) const { return param_offsets_[node]; }
  // Number of leading nodes that are pure; the cache point follows them. At least 1 (decode).
  [[nodiscard]] int pure_prefix() const { return pure_prefix_; }
  // Moves the cache point forward: the prefix has at most `most` nodes. REQUIRES: most >= 1.
  void LimitPrefix(int most);
  // That prefix with the library versions that matter, all of it. Two prefixes with one text make the same
  // of a picture, if the plan's constants but for kTorchExp are the same.
  [[nodiscard]] Bytes prefix_text() const;
  // The number of nodes before the tail. The tail's nodes map each element by itself (OpSchema::maps),
  // or put elements in another order. They make wider elements, in CHW, of uint8 values. So a
  // receiver of those values can finish a sample (Finisher), with a quarter of the bytes on the
  // way. 0: the chain has no tail, or something else follows it.
  [[nodiscard]] int tail() const { return tail_; }
  // What the chain makes of samples of any size.
  [[nodiscard]] const TensorSpec& output() const { return kinds_.back(); }

  // The uniform draws that go through torch.exp, which the constant "torch_exp" must cover. Without
  // it Draw fails with kInvalidArgument; everything else works.
  [[nodiscard]] std::vector<ExpRange> exp_ranges() const;
  // One part of a gate: nodes [first, last).
  struct Part {
    int gate = 0, first = 0, last = 0;
  };
  // The parts of all gates, in the order of the list.
  [[nodiscard]] std::span<const Part> parts() const { return parts_; }
  // Adds the nodes of [first, last) that run for a sample with these params (of the whole chain) to
  // `nodes`, in the order in which they run; gates are left out. kInvalidArgument: params that Draw
  // never makes.
  Status Route(int first, int last, Params params, std::vector<int>* nodes) const;
  // kUnsupported: a part of a gate changes the shape. `same(part)`: whether it does not.
  template <typename Same>
  Status CheckParts(Same same) const {
    for (const Part& part : parts_) {
      if (!same(part)) return PartChangesShape(part);
    }
    return Status::Ok();
  }

  // Gives the outputs for a source of spec `in`, after each node; like Draw without drawing, and as
  // if all parts of gates ran. Errors as OpSchema::Infer, and as CheckParts. REQUIRES: after_node.size() == nodes().size().
  Status Shapes(const TensorSpec& in, std::span<TensorSpec> after_node) const;

  // Draws for one sample whose source is `in`. REQUIRES: params.size() == param_words(), and `rng` has
  // Python's generator where draws_from_python().
  Status Draw(const TensorSpec& in, GeneratorRefs rng, MutableParams params, TensorSpec* out) const;
  // Draws for nodes [first, first + after.size()) alone, where `in` is the value before them, and
  // gives the value after each. REQUIRES: `params` are the words of these nodes.
  Status DrawNodes(int first, const TensorSpec& in, GeneratorRefs rng, MutableParams params,
                   std::span<TensorSpec> after) const;

  // The value of one node, where `in` is the value before it, with params that were drawn for
  // another picture of its size. Errors as OpSchema::Infer.
  Status InferNode(int node, const TensorSpec& in, Params params, TensorSpec* out) const;

  // The seed of one sample's generator in RngMode::kSample. For samples made in Python, it also
  // goes to torch.manual_seed, random.seed and numpy.random.seed (its low 32 bits). occurrence: how
  // often this key came before in this iteration (0 for the first time).
  [[nodiscard]] static std::uint64_t SampleSeed(std::uint64_t base_seed, std::int64_t key,
                                                std::uint64_t occurrence);

 private:
  [[nodiscard]] Status PartChangesShape(const Part& part) const;
  // Notes the gate's parts.
  Status AddGate(std::size_t i);
  Status CheckGates() const;
  [[nodiscard]] bool DrawsSize() const;
  Status DrawGated(std::size_t first, std::size_t last, TensorSpec* spec, GeneratorRefs rng,
                   MutableParams params, std::size_t begin, std::span<TensorSpec> after) const;
  Status DrawNode(std::size_t i, const TensorSpec& in, GeneratorRefs rng, MutableParams params,
                  TensorSpec* out) const;

  std::vector<Node> nodes_;
  std::vector<std::int32_t> numbers_;
  ClientLibraries libraries_;
  std::vector<std::shared_ptr<const OpSchema>> schemas_;
  std::vector<const GateSchema*> gates_;  // one a node; null: it is none
  std::vector<Part> parts_;
  std::vector<int> param_offsets_;
  int param_words_ = 0;
  bool draws_size_ = false;
  bool draws_from_python_ = false;
  bool draws_from_numpy_ = false;
  int pure_prefix_ = 0;
  int tail_ = 0;
  std::vector<TensorSpec> kinds_;
};

}  // namespace headrace::ops
