#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/graph.h"
#include "base/result.h"
#include "ops/core/chain.h"

namespace headrace::ops {

// A plan's nodes, compiled as straight chains from the source to each value that is wanted: two
// views of an image are two chains. The nodes that chains share draw once, and a sample has one
// record of draws for all nodes. A plan that is a single chain is a graph of one.
//
//   decode -> crop -> to_tensor          value 2   chain 0: nodes 0 1 2
//        \--> resize -> to_tensor        value 4   chain 1: nodes 0 3 4
//
// A sample may have several pictures, an image and its mask: each node that takes the sample's
// source (Node::kSource) is one, from the file that its argument "file" names. All have one height
// and width, which the source of a sample says. A node with the argument "draws_of" uses the draws
// of another node, and has no words of its own: the mask is cropped where the image is.
//
// Two nodes are at ends alone. The value of a node `stack` is made of the values of its inputs, one
// after the other: it has a chain for each of them. The value of a node `squeeze` is its input of one
// channel without that dimension: a mask of [H, W].
//
// Immutable after Compile; thread-safe. The client (planner), the coordinator (splitter) and the
// worker link it. Methods: each of them has its own.
class Graph {
 public:
  // The chains that make a value: [first, first + count).
  struct Value {
    std::size_t first = 0, count = 1;
    bool stacked = false;   // by a node `stack`, which adds a dimension
    bool squeezed = false;  // by a node `squeeze`, which drops the first of one channel
  };
  // The chains that begin with one node, in their order.
  struct Picture {
    std::int32_t node = 0;  // that node's number
    int file = 0;           // of the sample's files
    std::vector<std::size_t> chains;
  };

  // Most nodes, and most chains: a plan comes from a peer, and each chain is compiled by itself.
  static constexpr std::size_t kMostNodes = 256;
  static constexpr std::size_t kMostChains = 256;

  // `values`: the nodes whose values are wanted (ValuesOf of the plan); empty: the last one. Errors
  // as Chain::Compile; kUnsupported also for a node that takes several values, unless it stacks
  // them at the end, and for a node that cannot use the draws of the one that it names.
  // kInvalidArgument: inputs or values that are no node's, or a node that no value is made of.
  // `lists`: values whose size may depend on what is drawn (ListsOf of the plan).
  static Result<Graph> Compile(const std::vector<Node>& nodes, std::vector<std::int32_t> values,
                               const ClientLibraries& libraries, const Constants& constants,
                               const TorchFunctions* torch = TorchFunctions::Loaded(),
                               std::span<const std::int32_t> lists = {});

  [[nodiscard]] std::span<const Value> values() const { return values_; }
  [[nodiscard]] std::size_t chains() const { return chains_.size(); }
  [[nodiscard]] const Chain& chain(std::size_t i) const { return *chains_[i].chain; }
  [[nodiscard]] std::shared_ptr<const Chain> share_chain(std::size_t i) const {
    return chains_[i].chain;
  }
  // At least one. The first begins with node 0.
  [[nodiscard]] std::span<const Picture> pictures() const { return pictures_; }
  // Files of each sample: one more than the largest number of a picture's.
  [[nodiscard]] int files() const { return files_; }
  // The sources that the graph takes.
  [[nodiscard]] TensorSpec source() const { return chain(0).source(); }
  // Number of int32 words that Draw fills for one sample, for all nodes together.
  [[nodiscard]] int param_words() const { return param_words_; }
  // Number of leading nodes that are pure and that all values of a picture are made of; the cache
  // point follows them. At least 1 (decode). They are a chain.
  [[nodiscard]] int pure_prefix(std::size_t picture = 0) const {
    return chain(pictures_[picture].chains.front()).pure_prefix();
  }
  // As Chain::tail, of a graph that is a single chain. 0: another graph, or no tail.
  [[nodiscard]] int tail() const {
    const bool plain = chains_.size() == 1 && !values_[0].stacked && !values_[0].squeezed;
    return plain ? chain(0).tail() : 0;
  }
  // The same graph, whose cache point is after `most` nodes at most. It makes the same bits. REQUIRES: one
  // picture; most >= 1.
  [[nodiscard]] Graph LimitedTo(int most) const;
  // As Chain::prefix_text, of the prefixes of all pictures.
  [[nodiscard]] Bytes prefix_text() const;
  // As Chain::exp_ranges.
  [[nodiscard]] std::vector<ExpRange> exp_ranges() const;

  // Gives the values for a source of spec `in`, and what the pure prefixes of the pictures make of
  // it (unless null). Errors as OpSchema::Infer; kUnsupported: values of different shapes are
  // stacked. REQUIRES: out.size() == values().size().
  Status Shapes(const TensorSpec& in, std::span<TensorSpec> out,
                std::vector<TensorSpec>* prefixes) const;
  // Draws for one sample whose source is `in`, node by node in the order of the plan, and gives the
  // values. Errors as Shapes; kUnsupported also where a node uses the draws of one whose picture has
  // another size. REQUIRES: params.size() == param_words(), out.size() == values().size().
  Status Draw(const TensorSpec& in, GeneratorRefs rng, MutableParams params,
              std::span<TensorSpec> out) const;
  // The words of one chain, from those of all nodes: a part of `params`, or a copy in `memory`.
  [[nodiscard]] Params ParamsOf(std::size_t chain, Params params,
                                std::vector<std::int32_t>& memory) const;

 private:
  // Words that are neighbours in both orders.
  struct Words {
    std::size_t from = 0;  // in the sample's record
    std::size_t count = 0;
  };
  struct Path {
    std::shared_ptr<const Chain> chain;
    std::vector<std::int32_t> nodes;
    std::vector<Words> words;
  };
  // Where a node is: the first chain that has it, and its place there.
  struct Place {
    std::size_t chain = 0;
    int at = 0;
    std::int32_t input = -1;     // the node before it; -1: the source
    std::int32_t draws_of = -1;  // the node whose draws it uses; -1: its own
    Words words;
  };
  // Nodes that follow one another in the list and in every chain that has them all. A node that uses
  // another's draws is a run of its own.
  struct Run {
    std::int32_t node = 0;  // number of the first
    std::size_t count = 0;
    Words words;
  };
  [[nodiscard]] Result<TensorSpec> Stacked(std::span<const TensorSpec> parts) const;
  [[nodiscard]] static Result<TensorSpec> Squeezed(const TensorSpec& channel);
  Status MakeValues(std::span<const TensorSpec> chains, std::span<TensorSpec> out) const;
  // The innermost gate that governs a node, and in which of its parts the node is.
  struct Governor {
    std::int32_t gate = -1;  // -1: none
    int part = 0;
  };
  [[nodiscard]] Governor GovernorOf(std::int32_t node) const;
  // `nodes`: as they came.
  Status FindPictures(const std::vector<Node>& nodes);
  void FindPlaces(std::span<const std::int32_t> draws_of);
  // Checks the nodes that use others' draws.
  [[nodiscard]] Status CheckShared(const std::vector<Node>& nodes) const;
  void ArrangeWords();
  // Draws, or infers what another node's draws make.
  Status DrawRun(const Run& run, const TensorSpec& in, GeneratorRefs rng, MutableParams params,
                 std::span<TensorSpec> after) const;

  std::vector<Path> chains_;
  std::vector<Value> values_;
  std::vector<Picture> pictures_;
  std::vector<Place> places_;  // of each node; those of stack and squeeze are nowhere
  std::vector<Run> runs_;
  int files_ = 1;
  int param_words_ = 0;
};

}  // namespace headrace::ops
