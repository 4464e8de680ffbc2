#include "ops/core/graph.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"

namespace headrace::ops {
namespace {

constexpr const char* kStack = "stack";

std::string NameOf(const std::vector<Node>& nodes, std::int32_t number) {
  const Node& node = nodes[static_cast<std::size_t>(number)];
  return "node " + std::to_string(number) + " " + (node.label.empty() ? node.op : node.label);
}

// The node before this one; -1: it takes the source.
std::int32_t Before(const std::vector<Node>& nodes, std::int32_t number) {
  const Node& node = nodes[static_cast<std::size_t>(number)];
  return node.inputs.empty() ? number - 1 : node.inputs[0];
}

// The nodes from the source to this one. kUnsupported: one of them takes several values.
Result<std::vector<std::int32_t>> PathTo(const std::vector<Node>& nodes, std::int32_t last) {
  std::vector<std::int32_t> path;
  for (std::int32_t node = last; node >= 0; node = Before(nodes, node)) {
    if (nodes[static_cast<std::size_t>(node)].inputs.size() > 1) {
      return Unsupported(NameOf(nodes, node) + ": takes several values");
    }
    path.push_back(node);
  }
  std::ranges::reverse(path);
  return path;
}

}  // namespace

Result<Graph> Graph::Compile(const std::vector<Node>& nodes, std::vector<std::int32_t> values,
                             const ClientLibraries& libraries, const Constants& constants,
                             const TorchFunctions* torch) {
  if (nodes.empty()) return Unsupported("an empty operator chain");
  if (nodes.size() > kMostNodes) {
    return Unsupported("a plan of " + std::to_string(nodes.size()) + " nodes; " +
                       std::to_string(kMostNodes) + " are possible");
  }
  if (values.empty()) values.push_back(static_cast<std::int32_t>(nodes.size()) - 1);
  Plan numbers;  // what CheckGraph looks at
  numbers.chain = nodes;
  for (const std::int32_t value : values) {
    numbers.fields.push_back({FieldSpec::Kind::kValue, value});
  }
  HR_RETURN_IF_ERROR(CheckGraph(numbers));

  Graph graph;
  std::vector<bool> used(nodes.size());
  for (const std::int32_t value : values) {
    const Node& node = nodes[static_cast<std::size_t>(value)];
    std::vector<std::int32_t> ends{value};
    const bool stacked = node.op == kStack && node.form == Form::kNative;
    if (stacked) {
      if (!node.args.empty()) return Unsupported(NameOf(nodes, value) + ": arguments of a stack");
      if (value == 0) return Unsupported(NameOf(nodes, value) + ": a stack of nothing");
      ends = node.inputs.empty() ? std::vector{value - 1} : node.inputs;
      used[static_cast<std::size_t>(value)] = true;
    }
    if (ends.size() > kMostChains - std::min(kMostChains, graph.chains_.size())) {
      return Unsupported("a plan with more than " + std::to_string(kMostChains) + " chains");
    }
    graph.values_.push_back({graph.chains_.size(), ends.size(), stacked});
    for (const std::int32_t end : ends) {
      HR_TRY(std::vector<std::int32_t> path, PathTo(nodes, end));
      std::vector<Node> straight;
      for (const std::int32_t number : path) {
        used[static_cast<std::size_t>(number)] = true;
        straight.push_back(nodes[static_cast<std::size_t>(number)]);
        straight.back().inputs.clear();
      }
      HR_TRY(Chain chain, Chain::Compile(std::move(straight), libraries, constants, torch, path));
      graph.chains_.push_back({std::make_shared<Chain>(std::move(chain)), std::move(path), {}});
    }
  }
  if (const auto unused = std::ranges::find(used, false); unused != used.end()) {
    return InvalidArgument(NameOf(nodes, static_cast<std::int32_t>(unused - used.begin())) +
                           ": no field is made of its value");
  }
  graph.Arrange(nodes.size());
  return graph;
}

// Finds the shared prefix, the order of draws, and where each chain's words are.
void Graph::Arrange(std::size_t nodes) {
  nodes_ = nodes;
  const std::vector<std::int32_t>& first = chains_[0].nodes;
  std::size_t shared = first.size();
  int pure = chains_[0].chain->pure_prefix();
  for (const Path& path : chains_) {
    const auto ends = std::ranges::mismatch(first, path.nodes);
    shared = std::min(shared, static_cast<std::size_t>(ends.in1 - first.begin()));
    pure = std::min(pure, path.chain->pure_prefix());
  }
  HR_CHECK(shared > 0);
  for (Path& path : chains_) {
    Chain limited = *path.chain;
    limited.LimitPrefix(std::min(pure, static_cast<int>(shared)));
    path.chain = std::make_shared<const Chain>(std::move(limited));
  }

  std::vector<Words> words(nodes);
  std::vector<bool> placed(nodes);
  // Paths go upwards, so the chain that meets a number first has all nodes before it, too.
  for (std::size_t number = 0; number < nodes; ++number) {
    for (std::size_t c = 0; c < chains_.size() && !placed[number]; ++c) {
      const Path& path = chains_[c];
      const auto at = std::ranges::find(path.nodes, static_cast<std::int32_t>(number));
      if (at == path.nodes.end()) continue;
      placed[number] = true;
      const auto place = static_cast<int>(at - path.nodes.begin());
      words[number] = {static_cast<std::size_t>(param_words_),
                       static_cast<std::size_t>(path.chain->schema(place).param_words())};
      param_words_ += path.chain->schema(place).param_words();
      Run* last = runs_.empty() ? nullptr : &runs_.back();
      if (last != nullptr && last->chain == c &&
          last->first + static_cast<int>(last->count) == place &&
          last->node + static_cast<std::int32_t>(last->count) ==
              static_cast<std::int32_t>(number)) {
        ++last->count;
        last->words.count += words[number].count;
      } else {
        runs_.push_back({.chain = c,
                         .first = place,
                         .node = static_cast<std::int32_t>(number),
                         .count = 1,
                         .input = place == 0 ? -1 : path.nodes[static_cast<std::size_t>(place) - 1],
                         .words = words[number]});
      }
    }
  }
  for (Path& path : chains_) {
    for (const std::int32_t number : path.nodes) {
      const Words& of_node = words[static_cast<std::size_t>(number)];
      if (of_node.count == 0) continue;
      if (!path.words.empty() && path.words.back().from + path.words.back().count == of_node.from) {
        path.words.back().count += of_node.count;
      } else {
        path.words.push_back(of_node);
      }
    }
  }
}

std::vector<ExpRange> Graph::exp_ranges() const {
  std::vector<ExpRange> all;
  for (const Path& path : chains_) {
    for (const ExpRange& range : path.chain->exp_ranges()) {
      if (std::ranges::find(all, range) == all.end()) all.push_back(range);
    }
  }
  return all;
}

Result<TensorSpec> Graph::Stacked(std::span<const TensorSpec> parts) const {
  for (const TensorSpec& part : parts) {
    if (part != parts[0]) {
      return Unsupported("values of different shapes are stacked: " + parts[0].ToString() +
                         " and " + part.ToString());
    }
  }
  const Dims& dims = parts[0].dims;
  if (dims.rank() == Dims::kMost) return Unsupported("a stack of tensors of too many dimensions");
  std::vector<std::int64_t> sizes{static_cast<std::int64_t>(parts.size())};
  sizes.insert(sizes.end(), dims.begin(), dims.end());
  return TensorSpec{parts[0].dtype, Layout::kPlain, Dims(sizes)};
}

Status Graph::MakeValues(std::span<const TensorSpec> chains, std::span<TensorSpec> out) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Value& value = values_[i];
    out[i] = chains[value.first];
    if (value.stacked) {
      HR_TRY(out[i], Stacked(chains.subspan(value.first, value.count)));
    }
  }
  return Status::Ok();
}

Status Graph::Shapes(const TensorSpec& in, std::span<TensorSpec> out, TensorSpec* prefix) const {
  HR_CHECK(out.size() == values_.size());
  std::vector<TensorSpec> after;
  std::vector<TensorSpec> ends(chains_.size());
  for (std::size_t i = 0; i < chains_.size(); ++i) {
    after.resize(chains_[i].nodes.size());
    HR_RETURN_IF_ERROR(chains_[i].chain->Shapes(in, after));
    ends[i] = after.back();
  }
  if (prefix != nullptr) *prefix = after[static_cast<std::size_t>(pure_prefix()) - 1];
  return MakeValues(ends, out);
}

Status Graph::Draw(const TensorSpec& in, TorchGenerator& rng, MutableParams params,
                   std::span<TensorSpec> out) const {
  HR_CHECK(out.size() == values_.size());
  HR_CHECK(params.size() == static_cast<std::size_t>(param_words_));
  if (chains_.size() == 1) {
    HR_RETURN_IF_ERROR(chain(0).Draw(in, rng, params, &out[0]));
    return MakeValues(std::span<const TensorSpec>(out).first(1), out);
  }
  std::vector<TensorSpec> after(nodes_);
  for (const Run& run : runs_) {
    const TensorSpec before = run.input < 0 ? in : after[static_cast<std::size_t>(run.input)];
    HR_RETURN_IF_ERROR(chain(run.chain).DrawNodes(
        run.first, before, rng, params.subspan(run.words.from, run.words.count),
        std::span(after).subspan(static_cast<std::size_t>(run.node), run.count)));
  }
  std::vector<TensorSpec> ends;
  ends.reserve(chains_.size());
  for (const Path& path : chains_)
    ends.push_back(after[static_cast<std::size_t>(path.nodes.back())]);
  return MakeValues(ends, out);
}

Params Graph::ParamsOf(std::size_t chain, Params params, std::vector<std::int32_t>& memory) const {
  const std::vector<Words>& words = chains_[chain].words;
  if (words.empty()) return {};
  if (words.size() == 1) return params.subspan(words[0].from, words[0].count);
  memory.clear();
  for (const Words& part : words) {
    const Params from = params.subspan(part.from, part.count);
    memory.insert(memory.end(), from.begin(), from.end());
  }
  return memory;
}

}  // namespace headrace::ops
