#include "ops/core/chain.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "ops/core/op_registry.h"

namespace headrace::ops {
namespace {

std::string NameOf(const std::vector<Node>& nodes, std::size_t i) {
  const Node& node = nodes[i];
  return "node " + std::to_string(i) + " " + (node.label.empty() ? node.op : node.label);
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

std::uint64_t HashNodes(std::span<const Node> nodes, const ClientLibraries& libraries) {
  Bytes text;
  // Pillow's resize has changed in minor versions too.
  const std::string& pillow = libraries.pillow;
  AppendText(text, pillow.substr(0, pillow.find('.', pillow.find('.') + 1)));
  for (const Node& node : nodes) {
    AppendText(text, node.op);
    for (const auto& [name, value] : node.args) {
      AppendText(text, name);
      AppendValue(text, static_cast<std::uint64_t>(value.index()));
      std::visit([&](const auto& v) { AppendValue(text, v); }, value);
    }
    AppendText(text, "");
  }
  return HashBytes(text);
}

}  // namespace

Result<Chain> Chain::Compile(std::vector<Node> nodes, ClientLibraries libraries,
                             Constants constants, const TorchFunctions* torch) {
  Chain chain;
  chain.nodes_ = std::move(nodes);
  chain.libraries_ = std::move(libraries);
  CompileContext context{&chain.libraries_, nullptr, {}, torch};
  if (const auto at = constants.find("torch_exp"); at != constants.end()) {
    HR_TRY(context.torch_exp, TorchExpTable::Parse(at->second));
  }
  if (chain.nodes_.empty()) return Unsupported("an empty operator chain");
  bool prefix = true;
  for (std::size_t i = 0; i < chain.nodes_.size(); ++i) {
    const Node& node = chain.nodes_[i];
    const std::string name = NameOf(chain.nodes_, i);
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
    chain.tail_ = TailBefore(static_cast<int>(i), **schema, context.input, chain.tail_);
    TensorSpec output;
    const Status inferred = (*schema)->Infer(context.input, &output);
    if (!inferred.ok()) return inferred.WithContext(name);
    context.input = OfAnySize(output);
    // Tensors have four times the bytes and are one table away from the pixels: not worth keeping.
    prefix = prefix && (*schema)->purity() == Purity::kPure &&
             context.input.layout == Layout::kHwc && context.input.dtype == DType::kU8;
    if (prefix) chain.pure_prefix_ = static_cast<int>(i) + 1;
    chain.param_offsets_.push_back(chain.param_words_);
    chain.param_words_ += (*schema)->param_words();
    chain.schemas_.push_back(std::move(schema).value());
  }
  chain.output_ = context.input;
  if (chain.output_.layout != Layout::kChw || DTypeBytes(chain.output_.dtype) < 2) chain.tail_ = 0;
  chain.prefix_hash_ =
      HashNodes(std::span(chain.nodes_).first(static_cast<std::size_t>(chain.pure_prefix_)),
                chain.libraries_);
  return chain;
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
  return NameOf(nodes_, static_cast<std::size_t>(node));
}

Status Chain::Shapes(const TensorSpec& in, std::span<TensorSpec> after_node) const {
  HR_CHECK(after_node.size() == nodes_.size());
  TensorSpec spec = in;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    TensorSpec next;
    const Status status = schemas_[i]->Infer(spec, &next);
    if (!status.ok()) return status.WithContext(NameOf(nodes_, i));
    after_node[i] = spec = next;
  }
  return Status::Ok();
}

Status Chain::Draw(const TensorSpec& in, TorchGenerator& rng, MutableParams params,
                   TensorSpec* out) const {
  HR_CHECK(params.size() == static_cast<std::size_t>(param_words_));
  TensorSpec spec = in;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    TensorSpec next;
    Status status =
        schemas_[i]->Draw(spec, rng,
                          params.subspan(static_cast<std::size_t>(param_offsets_[i]),
                                         static_cast<std::size_t>(schemas_[i]->param_words())),
                          &next);
    if (!status.ok()) return status.WithContext(NameOf(nodes_, i));
    spec = next;
  }
  *out = spec;
  return Status::Ok();
}

std::uint64_t Chain::SampleSeed(std::uint64_t base_seed, std::int64_t key,
                                std::uint64_t occurrence) {
  return MixBits(MixBits(MixBits(base_seed) + static_cast<std::uint64_t>(key)) + occurrence);
}

}  // namespace headrace::ops
