// This file is long because it compiles a plan's nodes and draws for them, by one numbering.
#include "ops/core/graph.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/file_group.h"
#include "base/hash.h"
#include "ops/core/op_registry.h"
#include "ops/core/shared_draws.h"

namespace headrace::ops {
namespace {

constexpr const char* kStack = "stack";
constexpr const char* kSqueeze = "squeeze";

std::string NameOf(const std::vector<Node>& nodes, std::int32_t number) {
  const Node& node = nodes[static_cast<std::size_t>(number)];
  return "node " + std::to_string(number) + " " + (node.label.empty() ? node.op : node.label);
}

// The node before this one; -1: it takes the source.
std::int32_t Before(const std::vector<Node>& nodes, std::int32_t number) {
  const Node& node = nodes[static_cast<std::size_t>(number)];
  return node.inputs.empty() ? number - 1 : node.inputs[0];
}

// Height and width of an image, whatever its layout.
std::pair<std::int64_t, std::int64_t> SizeOf(const TensorSpec& image) {
  if (image.layout == Layout::kChw) return {image.dims[1], image.dims[2]};
  return {image.dims[0], image.dims[1]};
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
                             const TorchFunctions* torch, std::span<const std::int32_t> lists) {
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
  HR_TRY(const std::vector<std::int32_t> draws_of, ReadSharedDraws(nodes));

  Graph graph;
  std::vector<bool> used(nodes.size());
  for (const std::int32_t value : values) {
    const Node& node = nodes[static_cast<std::size_t>(value)];
    std::vector<std::int32_t> ends{value};
    const bool stacked = node.op == kStack && node.form == Form::kNative;
    const bool squeezed = node.op == kSqueeze && node.form == Form::kNative;
    if (stacked || squeezed) {
      if (!node.args.empty()) return Unsupported(NameOf(nodes, value) + ": it has no arguments");
      if (Before(nodes, value) < 0) return Unsupported(NameOf(nodes, value) + ": of nothing");
      ends = node.inputs.empty() ? std::vector{value - 1} : node.inputs;
      used[static_cast<std::size_t>(value)] = true;
    }
    if (squeezed && ends.size() > 1) {
      return Unsupported(NameOf(nodes, value) + ": takes several values");
    }
    if (ends.size() > kMostChains - std::min(kMostChains, graph.chains_.size())) {
      return Unsupported("a plan with more than " + std::to_string(kMostChains) + " chains");
    }
    graph.values_.push_back({graph.chains_.size(), ends.size(), stacked, squeezed});
    for (const std::int32_t end : ends) {
      HR_TRY(std::vector<std::int32_t> path, PathTo(nodes, end));
      std::vector<Node> straight;
      for (const std::int32_t number : path) {
        used[static_cast<std::size_t>(number)] = true;
        straight.push_back(nodes[static_cast<std::size_t>(number)]);
        straight.back().inputs.clear();
        straight.back().args.erase(kDrawsOf);
      }
      const bool any_size = std::ranges::find(lists, value) != lists.end() && !stacked;
      HR_TRY(Chain chain,
             Chain::Compile(std::move(straight), libraries, constants, torch, path, any_size));
      graph.chains_.push_back({std::make_shared<Chain>(std::move(chain)), std::move(path), {}});
    }
  }
  if (const auto unused = std::ranges::find(used, false); unused != used.end()) {
    return InvalidArgument(NameOf(nodes, static_cast<std::int32_t>(unused - used.begin())) +
                           ": no field is made of its value");
  }
  for (const Value& value : graph.values_) {
    if (value.squeezed) HR_RETURN_IF_ERROR(Squeezed(graph.chain(value.first).output()).status());
  }
  graph.FindPlaces(draws_of);
  HR_RETURN_IF_ERROR(graph.FindPictures(nodes));
  HR_RETURN_IF_ERROR(graph.CheckShared(nodes));
  graph.ArrangeWords();
  return graph;
}

// Finds the chains of each picture, and limits their cache point to what they share.
Status Graph::FindPictures(const std::vector<Node>& nodes) {
  for (std::size_t c = 0; c < chains_.size(); ++c) {
    const std::int32_t first = chains_[c].nodes.front();
    auto picture = std::ranges::find(pictures_, first, &Picture::node);
    if (picture == pictures_.end()) picture = pictures_.insert(picture, Picture{first, 0, {}});
    picture->chains.push_back(c);
  }
  std::ranges::sort(pictures_, {}, &Picture::node);
  // What the cache keeps of them is one group.
  if (pictures_.size() > FileGroup::kMost) {
    return Unsupported("a plan with more than " + std::to_string(FileGroup::kMost) + " pictures");
  }
  for (Picture& picture : pictures_) {
    const Node& node = nodes[static_cast<std::size_t>(picture.node)];
    const auto file = node.args.find("file");
    if (file != node.args.end()) {  // the operator knows the argument, and its type is right
      const std::int64_t number = std::get<std::int64_t>(file->second);
      if (number < 0 || number >= static_cast<std::int64_t>(FileGroup::kMost)) {
        return InvalidArgument(NameOf(nodes, picture.node) + ": file " + std::to_string(number));
      }
      picture.file = static_cast<int>(number);
    }
    files_ = std::max(files_, picture.file + 1);
    if (chain(picture.chains.front()).source() != source()) {
      return Unsupported(NameOf(nodes, picture.node) + ": takes another source than node 0");
    }
    const std::vector<std::int32_t>& path = chains_[picture.chains.front()].nodes;
    std::size_t shared = path.size();
    int pure = chain(picture.chains.front()).pure_prefix();
    for (const std::size_t c : picture.chains) {
      const auto ends = std::ranges::mismatch(path, chains_[c].nodes);
      shared = std::min(shared, static_cast<std::size_t>(ends.in1 - path.begin()));
      pure = std::min(pure, chain(c).pure_prefix());
    }
    HR_CHECK(shared > 0);
    for (const std::size_t c : picture.chains) {
      Chain limited = chain(c);
      limited.LimitPrefix(std::min(pure, static_cast<int>(shared)));
      chains_[c].chain = std::make_shared<const Chain>(std::move(limited));
    }
  }
  if (pictures_.front().node == 0 && pictures_.front().file == 0) return {};
  return InvalidArgument("the first node does not take the first file");
}

void Graph::FindPlaces(std::span<const std::int32_t> draws_of) {
  places_.resize(draws_of.size());
  for (std::size_t number = 0; number < places_.size(); ++number) {
    Place& place = places_[number];
    place.draws_of = draws_of[number];
    // Paths go upwards, so the chain that meets a number first has all nodes before it, too.
    for (place.chain = 0; place.chain < chains_.size(); ++place.chain) {
      const std::vector<std::int32_t>& nodes = chains_[place.chain].nodes;
      const auto at = std::ranges::find(nodes, static_cast<std::int32_t>(number));
      if (at == nodes.end()) continue;
      place.at = static_cast<int>(at - nodes.begin());
      if (place.at > 0) place.input = *std::prev(at);
      break;
    }
  }
}

Graph::Governor Graph::GovernorOf(std::int32_t node) const {
  const Place& place = places_[static_cast<std::size_t>(node)];
  Governor found;
  int part_of_gate = 0, gate = -1;
  for (const Chain::Part& part : chain(place.chain).parts()) {
    part_of_gate = part.gate == gate ? part_of_gate + 1 : 0;
    gate = part.gate;
    if (part.first > place.at || place.at >= part.last) continue;
    // Gates are in the order of the chain, so the last one is the innermost.
    found = {chains_[place.chain].nodes[static_cast<std::size_t>(part.gate)], part_of_gate};
  }
  return found;
}

// A node must run exactly where the one runs whose draws it uses: what a gate skips has no draws.
Status Graph::CheckShared(const std::vector<Node>& nodes) const {
  for (std::int32_t number = 0; number < std::ssize(places_); ++number) {
    const Place& place = places_[static_cast<std::size_t>(number)];
    if (place.chain == chains_.size()) continue;  // stack or squeeze
    const auto refused = [&](const char* why) {
      return Unsupported(NameOf(nodes, number) + ": " + why);
    };
    const Governor mine = GovernorOf(number);
    const auto shared_gate =
        mine.gate < 0 ? -1 : places_[static_cast<std::size_t>(mine.gate)].draws_of;
    if (place.draws_of < 0) {
      const bool draws = chain(place.chain).schema(place.at).param_words() > 0;
      if (draws && shared_gate >= 0) return refused("draws in a gate that does not");
      continue;
    }
    const Place& other = places_[static_cast<std::size_t>(place.draws_of)];
    const std::vector<std::int32_t>& before = chains_[place.chain].nodes;
    if (other.chain == chains_.size() ||
        std::ranges::find(before, place.draws_of) != before.end()) {
      return refused("uses draws of its own chain");
    }
    const Governor theirs = GovernorOf(place.draws_of);
    if (shared_gate != theirs.gate || (mine.gate < 0) != (theirs.gate < 0) ||
        mine.part != theirs.part) {
      return refused("uses draws that another gate governs");
    }
    const Chain &here = chain(place.chain), &there = chain(other.chain);
    const TensorSpec &in = here.kind(place.at - 1), &drawn_for = there.kind(other.at - 1);
    const Node& node = nodes[static_cast<std::size_t>(number)];
    const bool any_kind =
        SchemaRegistry::Builtin().Find(node.op)->spec.shares_draws == SharedDraws::kAnyKind;
    const bool same_kind = in.layout == drawn_for.layout && in.dtype == drawn_for.dtype;
    if ((!same_kind && !any_kind) ||
        here.schema(place.at).param_words() != there.schema(other.at).param_words()) {
      return refused("uses draws for values of another kind");
    }
  }
  return {};
}

// Finds the order of draws, and where each chain's words are.
void Graph::ArrangeWords() {
  for (std::size_t number = 0; number < places_.size(); ++number) {
    Place& place = places_[number];
    if (place.chain == chains_.size()) continue;
    const auto node = static_cast<std::int32_t>(number);
    if (place.draws_of >= 0) {
      place.words = places_[static_cast<std::size_t>(place.draws_of)].words;
      runs_.push_back({node, 1, place.words});
      continue;
    }
    const int words = chain(place.chain).schema(place.at).param_words();
    place.words = {static_cast<std::size_t>(param_words_), static_cast<std::size_t>(words)};
    param_words_ += words;
    Run* last = runs_.empty() ? nullptr : &runs_.back();
    const Place* before = number == 0 ? nullptr : &places_[number - 1];
    if (last != nullptr && before->chain == place.chain && before->at + 1 == place.at &&
        before->draws_of < 0) {
      ++last->count;
      last->words.count += place.words.count;
    } else {
      runs_.push_back({node, 1, place.words});
    }
  }
  for (Path& path : chains_) {
    for (const std::int32_t number : path.nodes) {
      const Words& of_node = places_[static_cast<std::size_t>(number)].words;
      if (of_node.count == 0) continue;
      if (!path.words.empty() && path.words.back().from + path.words.back().count == of_node.from) {
        path.words.back().count += of_node.count;
      } else {
        path.words.push_back(of_node);
      }
    }
  }
}

Graph Graph::LimitedTo(int most) const {
  HR_CHECK(pictures_.size() == 1 && most >= 1);
  Graph limited = *this;
  for (Path& path : limited.chains_) {
    Chain chain = *path.chain;
    chain.LimitPrefix(most);
    path.chain = std::make_shared<const Chain>(std::move(chain));
  }
  return limited;
}

Bytes Graph::prefix_text() const {
  Bytes all;
  for (const Picture& picture : pictures_) {
    const Bytes text = chain(picture.chains.front()).prefix_text();
    const std::uint64_t size = text.size();
    const ByteSpan head = std::as_bytes(std::span(&size, 1));
    all.insert(all.end(), head.begin(), head.end());
    all.insert(all.end(), text.begin(), text.end());
  }
  return all;
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

Result<TensorSpec> Graph::Squeezed(const TensorSpec& channel) {
  if (channel.layout == Layout::kChw && channel.dims[0] == 1) {
    return TensorSpec{channel.dtype, Layout::kPlain, {channel.dims[1], channel.dims[2]}};
  }
  return Unsupported("squeeze: " + channel.ToString() + " is no tensor of one channel");
}

Status Graph::MakeValues(std::span<const TensorSpec> chains, std::span<TensorSpec> out) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Value& value = values_[i];
    out[i] = chains[value.first];
    if (value.stacked) {
      HR_TRY(out[i], Stacked(chains.subspan(value.first, value.count)));
    }
    if (value.squeezed) {
      HR_TRY(out[i], Squeezed(chains[value.first]));
    }
  }
  return Status::Ok();
}

Status Graph::Shapes(const TensorSpec& in, std::span<TensorSpec> out,
                     std::vector<TensorSpec>* prefixes) const {
  HR_CHECK(out.size() == values_.size());
  std::vector<std::vector<TensorSpec>> after(chains_.size());
  std::vector<TensorSpec> ends(chains_.size());
  for (std::size_t i = 0; i < chains_.size(); ++i) {
    after[i].resize(chains_[i].nodes.size());
    HR_RETURN_IF_ERROR(chain(i).Shapes(in, after[i]));
    ends[i] = after[i].back();
  }
  if (prefixes != nullptr) {
    prefixes->clear();
    for (const Picture& picture : pictures_) {
      const std::size_t first = picture.chains.front();
      prefixes->push_back(after[first][static_cast<std::size_t>(chain(first).pure_prefix()) - 1]);
    }
  }
  return MakeValues(ends, out);
}

Status Graph::DrawRun(const Run& run, const TensorSpec& in, GeneratorRefs rng, MutableParams params,
                      std::span<TensorSpec> after) const {
  const Place& place = places_[static_cast<std::size_t>(run.node)];
  const auto before = [&](const Place& at) {
    return at.input < 0 ? in : after[static_cast<std::size_t>(at.input)];
  };
  const MutableParams words = params.subspan(run.words.from, run.words.count);
  const std::span<TensorSpec> made = after.subspan(static_cast<std::size_t>(run.node), run.count);
  if (place.draws_of < 0) {
    return chain(place.chain).DrawNodes(place.at, before(place), rng, words, made);
  }
  const TensorSpec mine = before(place);
  const TensorSpec theirs = before(places_[static_cast<std::size_t>(place.draws_of)]);
  if (SizeOf(mine) != SizeOf(theirs)) {
    return Unsupported(chain(place.chain).NodeName(place.at) + ": a picture of " + mine.ToString() +
                       ", and what it draws is for " + theirs.ToString());
  }
  return chain(place.chain).InferNode(place.at, mine, words, &made[0]);
}

Status Graph::Draw(const TensorSpec& in, GeneratorRefs rng, MutableParams params,
                   std::span<TensorSpec> out) const {
  HR_CHECK(out.size() == values_.size());
  HR_CHECK(params.size() == static_cast<std::size_t>(param_words_));
  if (chains_.size() == 1) {
    HR_RETURN_IF_ERROR(chain(0).Draw(in, rng, params, &out[0]));
    return MakeValues(std::span<const TensorSpec>(out).first(1), out);
  }
  std::vector<TensorSpec> after(places_.size());
  for (const Run& run : runs_) HR_RETURN_IF_ERROR(DrawRun(run, in, rng, params, after));
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
