#include "ops/core/chain.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "ops/core/index_pictures.h"
#include "ops/core/op_registry.h"

namespace headrace::ops {
namespace {

std::string NameOf(const Node& node, std::int32_t number) {
  return "node " + std::to_string(number) + " " + (node.label.empty() ? node.op : node.label);
}

// An image without its size: an operator is compiled for images of every size, even where those of
// this chain have one. So a size that the framework refuses is an error of each sample, as there.
TensorSpec OfAnySize(const TensorSpec& spec) {
  switch (spec.layout) {
    case Layout::kHwc:
      return {spec.dtype, spec.layout, {Dims::kAny, Dims::kAny, spec.dims[2]}};
    case Layout::kChw:
      return {spec.dtype, spec.layout, {spec.dims[0], Dims::kAny, Dims::kAny}};
    case Layout::kPlain:
      break;
  }
  return spec;
}

// The nodes before the tail of a chain that ends with node `i`, whose input is `in`. `before`: the
// same for the chain without it.
int TailBefore(int i, const OpSchema& schema, const TensorSpec& in, int before) {
  if (schema.reorders()) return before;
  if (!schema.maps()) return 0;
  return before == 0 && in.dtype == DType::kU8 && in.layout != Layout::kPlain ? i : before;
}

void AppendText(Bytes& out, std::string_view text) {
  const std::uint64_t size = text.size();
  const ByteSpan head = std::as_bytes(std::span(&size, 1));
  out.insert(out.end(), head.begin(), head.end());
  const ByteSpan body = AsBytes(text);
  out.insert(out.end(), body.begin(), body.end());
}

template <typename T>
void AppendValue(Bytes& out, const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    const ByteSpan raw = std::as_bytes(std::span(&value, 1));
    AppendText(out, AsText(raw));
  } else if constexpr (std::is_same_v<T, std::string>) {
    AppendText(out, value);
  } else {
    AppendText(out, AsText(std::as_bytes(std::span(value))));
  }
}

Bytes TextOf(std::span<const Node> nodes, const ClientLibraries& libraries) {
  Bytes text;
  // Pillow's resize has changed in minor versions too.
  const std::string& pillow = libraries.pillow;
  AppendText(text, pillow.substr(0, pillow.find('.', pillow.find('.') + 1)));
  for (const Node& node : nodes) {
    AppendText(text, node.op);
    AppendValue(text, static_cast<std::uint64_t>(node.args.size()));
    for (const auto& [name, value] : node.args) {
      AppendText(text, name);
      AppendValue(text, static_cast<std::uint64_t>(value.index()));
      std::visit([&](const auto& v) { AppendValue(text, v); }, value);
    }
  }
  return text;
}

}  // namespace

Result<Chain> Chain::Compile(std::vector<Node> nodes, ClientLibraries libraries,
                             Constants constants, const TorchFunctions* torch,
                             std::vector<std::int32_t> numbers, bool any_size) {
  Chain chain;
  chain.nodes_ = std::move(nodes);
  chain.numbers_ = std::move(numbers);
  if (chain.numbers_.empty()) {
    chain.numbers_.resize(chain.nodes_.size());
    std::iota(chain.numbers_.begin(), chain.numbers_.end(), 0);
  }
  HR_CHECK(chain.numbers_.size() == chain.nodes_.size());
  chain.libraries_ = std::move(libraries);
  CompileContext context{&chain.libraries_, nullptr, {}, torch};
  if (const auto at = constants.find("torch_exp"); at != constants.end()) {
    HR_TRY(context.torch_exp, TorchExpTable::Parse(at->second));
  }
  if (chain.nodes_.empty()) return Unsupported("an empty operator chain");
  // An operator may look at what it is given when it is made. One that stands first and is no source is
  // made, too, before it is refused.
  context.input = OfAnySize({DType::kU8, Layout::kHwc, {1, 1, 3}});
  bool prefix = true;
  bool indices = false;  // the value is a picture of mode L or P
  for (std::size_t i = 0; i < chain.nodes_.size(); ++i) {
    const Node& node = chain.nodes_[i];
    const std::string name = chain.NodeName(static_cast<int>(i));
    if (node.form != Form::kNative) {
      return Unsupported(name + ": " + (node.reason.empty() ? "has no native form" : node.reason));
    }
    const SchemaRegistry::Entry* entry = SchemaRegistry::Builtin().Find(node.op);
    if (entry == nullptr) return Unsupported(name + ": no native operator " + node.op);
    Result<OpArgs> args = OpArgs::Make(entry->spec, node.args);
    if (!args.ok()) return args.status().WithContext(name);
    Result<std::shared_ptr<const OpSchema>> schema = entry->make(*args, context);
    if (!schema.ok()) return schema.status().WithContext(name);
    const std::optional<TensorSpec> source = (*schema)->SourceSpec();
    if (source.has_value() != (i == 0)) {
      return Unsupported(name + ": a chain starts with decode or from_array, and only there");
    }
    if (source) context.input = *source;
    if (i > 0 && indices) {
      const Status allowed = CheckOnIndices(node);
      if (!allowed.ok()) return allowed.WithContext(name);
    }
    chain.tail_ = TailBefore(static_cast<int>(i), **schema, context.input, chain.tail_);
    TensorSpec output;
    const Status inferred = (*schema)->Infer(context.input, &output);
    if (!inferred.ok()) return inferred.WithContext(name);
    context.input = OfAnySize(output);
    indices = (i == 0 ? MakesIndices(node) : indices) && context.input.layout == Layout::kHwc;
    chain.kinds_.push_back(context.input);
    // Tensors have four times the bytes and are one table away from the pixels: not worth keeping.
    prefix = prefix && (*schema)->purity() == Purity::kPure &&
             context.input.layout == Layout::kHwc && context.input.dtype == DType::kU8;
    if (prefix) chain.pure_prefix_ = static_cast<int>(i) + 1;
    chain.param_offsets_.push_back(chain.param_words_);
    chain.param_words_ += (*schema)->param_words();
    chain.draws_from_python_ |= (*schema)->draws_from_python();
    chain.draws_from_numpy_ |= (*schema)->draws_from_numpy();
    chain.schemas_.push_back(std::move(schema).value());
    chain.gates_.push_back(dynamic_cast<const GateSchema*>(chain.schemas_.back().get()));
    if (chain.gates_.back() != nullptr) HR_RETURN_IF_ERROR(chain.AddGate(i));
  }
  HR_RETURN_IF_ERROR(chain.CheckGates());
  const TensorSpec& output = chain.output();
  if (output.layout != Layout::kChw || DTypeBytes(output.dtype) < 2) chain.tail_ = 0;
  chain.LimitPrefix(chain.pure_prefix_);
  // Samples that are stacked have one size. Where that depends on the source's alone, it is looked at
  // for each batch.
  chain.draws_size_ = chain.DrawsSize();
  if (chain.draws_size_ && !any_size) {
    return Unsupported(chain.NodeName(static_cast<int>(chain.nodes_.size()) - 1) +
                       ": makes a value whose size depends on what is drawn");
  }
  return chain;
}

bool Chain::DrawsSize() const {
  std::vector<TensorSpec> after(nodes_.size());
  TensorSpec spec = source();
  std::vector<std::int64_t> sizes(spec.dims.begin(), spec.dims.end());
  std::ranges::replace(sizes, Dims::kAny, std::int64_t{512});
  spec.dims = Dims(std::span(std::as_const(sizes)));
  // Of a source of one size, only draws leave a size open.
  return Shapes(spec, after).ok() && !after.back().known();
}

void Chain::LimitPrefix(int most) { pure_prefix_ = std::min(pure_prefix_, most); }

Bytes Chain::prefix_text() const {
  return TextOf(std::span(nodes_).first(static_cast<std::size_t>(pure_prefix_)), libraries_);
}

Status Chain::AddGate(std::size_t i) {
  const auto gate = static_cast<int>(i);
  int first = gate + 1;
  for (const int nodes : gates_[i]->parts()) {
    const std::size_t last = static_cast<std::size_t>(first) + static_cast<std::size_t>(nodes);
    // Its nodes are those that follow it in the plan.
    if (last > nodes_.size() ||
        numbers_[last - 1] - numbers_[i] != static_cast<int>(last) - 1 - gate) {
      return Unsupported(NodeName(gate) + ": nodes that it governs do not follow it");
    }
    parts_.push_back({gate, first, static_cast<int>(last)});
    first += nodes;
  }
  return Status::Ok();
}

// Whether a part leaves the shape as it is is looked at for some sizes here, and again for each
// sample.
Status Chain::CheckGates() const {
  static constexpr std::pair<std::int64_t, std::int64_t> kProbes[] = {
      {375, 500}, {500, 375}, {64, 64}, {47, 33}};
  if (parts_.empty()) return Status::Ok();
  for (const Part& part : parts_) {
    const TensorSpec& kind = kinds_[static_cast<std::size_t>(part.gate)];
    if (kind.dtype != DType::kU8 && kind.dtype != DType::kF32) {
      return Unsupported(NodeName(part.gate) + ": only of images and tensors of uint8 or float32");
    }
    for (int i = part.first; i < part.last; ++i) {
      if (kinds_[static_cast<std::size_t>(i)] != kind) return PartChangesShape(part);
      // Maps of elements are put together in the order of the chain.
      if (kind.dtype == DType::kF32 && schemas_[static_cast<std::size_t>(i)]->maps()) {
        return Unsupported(NodeName(part.gate) + ": " + NodeName(i) +
                           " maps elements, and may only do so outside of a gate");
      }
      for (const Part& inner : parts_) {
        if (inner.gate == i && inner.last > part.last) {
          return Unsupported(NodeName(i) + ": nodes that it governs belong to another gate");
        }
      }
    }
  }
  const TensorSpec from = source();
  for (const auto& [height, width] : kProbes) {
    std::vector<std::int64_t> sizes(from.dims.begin(), from.dims.end());
    for (const std::int64_t size : {height, width}) {
      const auto any = std::ranges::find(sizes, Dims::kAny);
      if (any != sizes.end()) *any = size;
    }
    std::vector<TensorSpec> after(nodes_.size());
    const Status status =
        Shapes({from.dtype, from.layout, Dims(std::span(std::as_const(sizes)))}, after);
    if (status.code() == Code::kUnsupported) return status;
  }
  return Status::Ok();
}

Status Chain::PartChangesShape(const Part& part) const {
  return Unsupported(NodeName(part.gate) + ": " + NodeName(part.last - 1) +
                     " changes the shape, which would then depend on what is drawn");
}

Status Chain::Route(int first, int last, Params params, std::vector<int>* nodes) const {
  for (int i = first; i < last; ++i) {
    const GateSchema* gate = gates_[static_cast<std::size_t>(i)];
    if (gate == nullptr) {
      nodes->push_back(i);
      continue;
    }
    std::vector<int> route;
    const Status status = gate->Route(params.subspan(static_cast<std::size_t>(param_offset(i)),
                                                     static_cast<std::size_t>(gate->param_words())),
                                      &route);
    if (!status.ok()) return status.WithContext(NodeName(i));
    const auto begin = std::ranges::find(parts_, i, &Part::gate);
    for (const int number : route) {
      const Part& part = begin[number];
      HR_RETURN_IF_ERROR(Route(part.first, part.last, params, nodes));
    }
    i = begin[std::ssize(gate->parts()) - 1].last - 1;
  }
  return Status::Ok();
}

std::vector<ExpRange> Chain::exp_ranges() const {
  std::vector<ExpRange> all;
  for (const auto& schema : schemas_) {
    for (const ExpRange& range : schema->exp_ranges()) {
      if (std::find(all.begin(), all.end(), range) == all.end()) all.push_back(range);
    }
  }
  return all;
}

std::string Chain::NodeName(int node) const {
  const auto i = static_cast<std::size_t>(node);
  return NameOf(nodes_[i], numbers_[i]);
}

Status Chain::Shapes(const TensorSpec& in, std::span<TensorSpec> after_node) const {
  HR_CHECK(after_node.size() == nodes_.size());
  TensorSpec spec = in;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    TensorSpec next;
    const Status status = schemas_[i]->Infer(spec, &next);
    if (!status.ok()) return status.WithContext(NodeName(static_cast<int>(i)));
    after_node[i] = spec = next;
  }
  return CheckParts([&](const Part& part) {
    return after_node[static_cast<std::size_t>(part.last) - 1] ==
           after_node[static_cast<std::size_t>(part.gate)];
  });
}

Status Chain::DrawNode(std::size_t i, const TensorSpec& in, GeneratorRefs rng, MutableParams params,
                       TensorSpec* out) const {
  const OpSchema& schema = *schemas_[i];
  HR_CHECK(!schema.draws_from_python() || rng.python != nullptr);
  HR_CHECK(!schema.draws_from_numpy() || rng.numpy != nullptr);
  Status status;
  if (schema.draws_from_numpy()) {
    status = schema.DrawFromNumpy(in, *rng.python, *rng.numpy, params, out);
  } else if (schema.draws_from_python()) {
    status = schema.DrawFromPython(in, *rng.python, params, out);
  } else {
    status = schema.Draw(in, rng.torch, params, out);
  }
  return status.ok() ? status : status.WithContext(NodeName(static_cast<int>(i)));
}

// Draws nodes [first, last) where there are gates. `params` and `after` (unless empty) are those of
// nodes from `begin` on. Words of what does not run are 0.
Status Chain::DrawGated(std::size_t first, std::size_t last, TensorSpec* spec, GeneratorRefs rng,
                        MutableParams params, std::size_t begin,
                        std::span<TensorSpec> after) const {
  const auto words_before = [&](std::size_t i) {
    const int words = i < nodes_.size() ? param_offsets_[i] : param_words_;
    return static_cast<std::size_t>(words - param_offsets_[begin]);
  };
  for (std::size_t i = first; i < last; ++i) {
    const MutableParams words =
        params.subspan(words_before(i), static_cast<std::size_t>(schemas_[i]->param_words()));
    TensorSpec next;
    HR_RETURN_IF_ERROR(DrawNode(i, *spec, rng, words, &next));
    *spec = next;
    if (!after.empty()) after[i - begin] = next;
    if (gates_[i] == nullptr) continue;
    const auto parts = std::ranges::find(parts_, static_cast<int>(i), &Part::gate);
    const auto end = static_cast<std::size_t>(parts[std::ssize(gates_[i]->parts()) - 1].last);
    std::ranges::fill(params.subspan(words_before(i + 1), words_before(end) - words_before(i + 1)),
                      0);
    std::vector<int> route;
    HR_RETURN_IF_ERROR(gates_[i]->Route(words, &route));
    for (const int number : route) {
      const Part& part = parts[number];
      TensorSpec made = *spec;
      HR_RETURN_IF_ERROR(DrawGated(static_cast<std::size_t>(part.first),
                                   static_cast<std::size_t>(part.last), &made, rng, params, begin,
                                   after));
      if (made != *spec) return PartChangesShape(part);
    }
    for (std::size_t inner = i + 1; inner < end && !after.empty(); ++inner) {
      after[inner - begin] = *spec;
    }
    i = end - 1;
  }
  return Status::Ok();
}

Status Chain::Draw(const TensorSpec& in, GeneratorRefs rng, MutableParams params,
                   TensorSpec* out) const {
  HR_CHECK(params.size() == static_cast<std::size_t>(param_words_));
  TensorSpec spec = in;
  if (!parts_.empty()) {
    HR_RETURN_IF_ERROR(DrawGated(0, nodes_.size(), &spec, rng, params, 0, {}));
    *out = spec;
    return Status::Ok();
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    TensorSpec next;
    HR_RETURN_IF_ERROR(
        DrawNode(i, spec, rng,
                 params.subspan(static_cast<std::size_t>(param_offsets_[i]),
                                static_cast<std::size_t>(schemas_[i]->param_words())),
                 &next));
    spec = next;
  }
  *out = spec;
  return Status::Ok();
}

Status Chain::DrawNodes(int first, const TensorSpec& in, GeneratorRefs rng, MutableParams params,
                        std::span<TensorSpec> after) const {
  if (!parts_.empty()) {
    TensorSpec value = in;
    const auto begin = static_cast<std::size_t>(first);
    return DrawGated(begin, begin + after.size(), &value, rng, params, begin, after);
  }
  const TensorSpec* spec = &in;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::size_t node = static_cast<std::size_t>(first) + i;
    const auto words = static_cast<std::size_t>(schemas_[node]->param_words());
    HR_RETURN_IF_ERROR(DrawNode(node, *spec, rng, params.first(words), &after[i]));
    params = params.subspan(words);
    spec = &after[i];
  }
  HR_CHECK(params.empty());
  return Status::Ok();
}

Status Chain::InferNode(int node, const TensorSpec& in, Params params, TensorSpec* out) const {
  const Status status = schema(node).InferDrawn(in, params, out);
  return status.ok() ? status : status.WithContext(NodeName(node));
}

std::uint64_t Chain::SampleSeed(std::uint64_t base_seed, std::int64_t key,
                                std::uint64_t occurrence) {
  return MixBits(MixBits(MixBits(base_seed) + static_cast<std::uint64_t>(key)) + occurrence);
}

}  // namespace headrace::ops
