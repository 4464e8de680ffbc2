#include "dataworker/session/compiled_plan.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/pass/digest.h"
#include "dataworker/source/core/remembered_source.h"
#include "ops/core/graph_draws.h"

namespace headrace::dataworker {
namespace {

bool IsComputed(const FieldSpec& field) { return field.kind != FieldSpec::Kind::kArray; }

// The constants count by their bytes: what a plan calls them by is no cryptographic hash. Those of draws
// don't count. A pure prefix draws nothing, and jobs with other draws after it have the same form.
EntryForm EntryFormOf(const ops::Graph& graph, const ops::Constants& constants) {
  const Bytes text = graph.prefix_text();
  std::vector<ByteSpan> parts = {text};
  for (const auto& [name, content] : constants) {
    if (name == ops::kTorchExp) continue;
    parts.push_back(AsBytes(name));
    parts.push_back(content);
  }
  const Digest digest = DigestOf(parts);
  return {digest[0], digest[1]};
}

Status SetRunners(ops::Graph graph, bool has_lists, KeptForm& form) {
  HR_TRY(ops::GraphRunner runner,
         ops::GraphRunner::Make(std::make_shared<const ops::Graph>(std::move(graph))));
  if (runner.graph().tail() > 0 && !has_lists) {
    form.before_tail = std::make_shared<const ops::GraphRunner>(runner.BeforeTail());
  }
  form.runner = std::make_shared<const ops::GraphRunner>(std::move(runner));
  return {};
}

}  // namespace

std::vector<BlobHash> CompiledPlan::BlobsOf(const Plan& plan) {
  std::vector<BlobHash> hashes;
  const auto add = [&](BlobHash hash) {
    if (hash.valid() && std::find(hashes.begin(), hashes.end(), hash) == hashes.end()) {
      hashes.push_back(hash);
    }
  };
  for (const SourceLeaf& leaf : plan.leaves) {
    add(leaf.table);
    for (const SourceLeaf::Array& array : leaf.arrays) add(array.blob);
  }
  add(plan.row_map);
  for (const auto& [name, hash] : plan.constants) add(hash);
  if (plan.has_python_stage) add(plan.python.bundle);
  return hashes;
}

Result<std::shared_ptr<const CompiledPlan>> CompiledPlan::Compile(const Plan& plan,
                                                                  const wire::Split& split,
                                                                  const BlobLookup& blob,
                                                                  const SourceSupport& support) {
  std::shared_ptr<CompiledPlan> made(new CompiledPlan());
  if (plan.fields.empty()) return InvalidArgument("a plan without fields");
  made->fields_ = plan.fields;
  made->rng_ = plan.rng;
  made->has_lists_ = HasLists(plan);
  HR_RETURN_IF_ERROR(made->OpenSources(plan, blob, support));
  HR_RETURN_IF_ERROR(made->OpenRowMap(plan, blob));
  HR_RETURN_IF_ERROR(made->CheckColumns());
  if (std::ranges::any_of(plan.fields, IsComputed)) {
    HR_RETURN_IF_ERROR(made->CompileGraph(plan, split, blob));
    made->FindFixedValues();
  }
  return std::shared_ptr<const CompiledPlan>(std::move(made));
}

Status CompiledPlan::OpenSources(const Plan& plan, const BlobLookup& blob,
                                 const SourceSupport& support) {
  if (plan.leaves.empty()) return InvalidArgument("a plan without sources");
  const SourceRegistry::Environment environment{blob, &ops::ChainRunner::ReadHeader,
                                                support.allowed_roots, support.io, support.objects};
  std::int64_t end = 0;
  for (const SourceLeaf& leaf : plan.leaves) {
    HR_TRY(auto source, support.registry->Make(leaf, environment));
    if (__builtin_add_overflow(end, source->rows(), &end)) return InvalidArgument("too many rows");
    const bool far = source->cacheable() && !source->rereads_from_memory();
    sources_.push_back(far ? Remembered(std::move(source), *support.clock) : std::move(source));
    ends_.push_back(end);
  }
  return {};
}

Status CompiledPlan::OpenRowMap(const Plan& plan, const BlobLookup& blob) {
  if (!plan.row_map.valid()) return {};
  row_map_ = blob(plan.row_map);
  if (!row_map_) return NotFound("the row map of the plan is missing");
  if (row_map_->size() % sizeof(std::int64_t) != 0) {
    return InvalidArgument("the row map has " + std::to_string(row_map_->size()) +
                           " bytes, not a multiple of 8");
  }
  return {};
}

Status CompiledPlan::CheckColumns() const {
  for (const FieldSpec& field : fields_) {
    if (IsComputed(field)) continue;
    const Source::Column* first = sources_[0]->column(field.index);
    for (const auto& source : sources_) {
      const Source::Column* column = source->column(field.index);
      if (column == nullptr) {
        return InvalidArgument("a source has no column " + std::to_string(field.index));
      }
      if (column->dtype != first->dtype || column->row_shape != first->row_shape) {
        return Unsupported("column " + std::to_string(field.index) +
                           " differs between the sources of the plan");
      }
    }
  }
  const bool reads =
      std::ranges::any_of(sources_, [this](const auto& source) { return reads_columns(*source); });
  if (reads && std::ranges::any_of(fields_, IsComputed)) {
    return Unsupported("columns in files beside what is computed of the sample");
  }
  return {};
}

Status CompiledPlan::CompileGraph(const Plan& plan, const wire::Split& split,
                                  const BlobLookup& blob) {
  const std::size_t nodes = plan.chain.size();
  if (split.worker_nodes < 0 || static_cast<std::size_t>(split.worker_nodes) > nodes) {
    return InvalidArgument("the split is outside of the chain");
  }
  Plan cut;  // what the graph is made of
  cut.chain = plan.chain;
  cut.fields = plan.fields;
  if (split.worker_nodes > 0) cut.chain.resize(static_cast<std::size_t>(split.worker_nodes));
  if (cut.chain.size() < nodes && HasGraph(plan)) {
    return InvalidArgument("the split cuts a plan that is no single chain");
  }
  HR_RETURN_IF_ERROR(CheckGraph(cut));
  std::vector<std::int32_t> values = ValuesOf(cut);
  for (const FieldSpec& field : cut.fields) {
    const auto at = std::ranges::find(values, NodeOf(cut, field));
    value_of_field_.push_back(at == values.end() ? -1
                                                 : static_cast<std::int32_t>(at - values.begin()));
  }
  ops::Constants constants;
  for (const auto& [name, hash] : plan.constants) {
    BlobContent content = blob(hash);
    if (!content) return NotFound("constant " + name + " of the plan is missing");
    constants[name] = *content;
    constants_.push_back(std::move(content));
  }
  HR_TRY(ops::Graph graph,
         ops::Graph::Compile(cut.chain, std::move(values), plan.libraries, constants,
                             ops::TorchFunctions::Loaded(), ListsOf(cut)));
  HR_RETURN_IF_ERROR(SetRunners(std::move(graph), has_lists_, kept_));
  for (const auto& source : sources_) {
    if (source->files() == this->graph().files()) continue;
    return InvalidArgument("a source has " + std::to_string(source->files()) +
                           " files a sample, and the plan takes " +
                           std::to_string(this->graph().files()));
  }
  return FindForms(split, constants);
}

Status CompiledPlan::FindForms(const wire::Split& split, const ops::Constants& constants) {
  const bool any_cacheable = std::any_of(sources_.begin(), sources_.end(),
                                         [](const auto& source) { return source->cacheable(); });
  const bool all_in_memory = std::all_of(sources_.begin(), sources_.end(), [](const auto& source) {
    return source->rereads_from_memory();
  });
  CachedAs& as = kept_.as;
  if (!any_cacheable) return {};
  if (split.cache_node == 0) {
    as.form = all_in_memory ? CacheForm::kNone : CacheForm::kEncoded;
    return {};
  }
  as = {CacheForm::kPrefix, EntryFormOf(graph(), constants)};
  if (!all_in_memory) {
    encoded_ = kept_;
    encoded_->as = {.form = CacheForm::kEncoded};
  }
  for (int nodes = 1; graph().pictures().size() == 1 && nodes < graph().pure_prefix(); ++nodes) {
    KeptForm& form = shorter_.emplace_back();
    HR_RETURN_IF_ERROR(SetRunners(graph().LimitedTo(nodes), has_lists_, form));
    form.as = {CacheForm::kPrefix, EntryFormOf(form.runner->graph(), constants)};
  }
  return {};
}

const KeptForm& CompiledPlan::kept(const WantedForm& wanted) const {
  if (wanted.encoded && encoded_) return *encoded_;
  const auto nodes = static_cast<std::size_t>(std::max(wanted.nodes, 0));
  return nodes == 0 || nodes > shorter_.size() ? kept_ : shorter_[nodes - 1];
}

// Sources of rows in memory give every sample one spec; of the others nothing is known beforehand.
void CompiledPlan::FindFixedValues() {
  ScratchBuffer unused;
  for (const auto& source : sources_) {
    if (source->rows() == 0) continue;
    TensorSpec input = graph().source();
    if (!source->cacheable()) {
      const auto row = source->Now(Ask::kSpec, 0, unused);
      if (!row || !row->status.ok()) continue;
      input = row->spec;
    }
    const Result<Shapes> shapes = ShapesOf(input);
    if (!shapes.ok()) continue;  // an operator refuses every sample
    if (!std::ranges::all_of(shapes->values, &TensorSpec::known) ||
        (fixed_values_ && *fixed_values_ != shapes->values)) {
      fixed_values_.reset();
      return;
    }
    fixed_values_ = shapes->values;
  }
}

bool CompiledPlan::reads_columns(const Source& source) const {
  return std::ranges::any_of(fields_, [&source](const FieldSpec& field) {
    return !IsComputed(field) && source.column_in_bytes(field.index);
  });
}

bool CompiledPlan::waits() const {
  return std::ranges::any_of(sources_, [](const auto& source) { return source->waits(); });
}

void CompiledPlan::StopSources() const {
  for (const auto& source : sources_) source->Stop();
}

Result<CompiledPlan::Location> CompiledPlan::Locate(std::int64_t key) const {
  std::int64_t row = key;
  if (row_map_) {
    const auto keys = static_cast<std::int64_t>(row_map_->size() / sizeof(std::int64_t));
    if (key < 0 || key >= keys) {
      return InvalidArgument("sample " + std::to_string(key) + " of " + std::to_string(keys));
    }
    std::memcpy(&row, row_map_->data() + static_cast<std::size_t>(key) * sizeof(row), sizeof(row));
  }
  if (row < 0 || row >= ends_.back()) {
    return InvalidArgument("sample " + std::to_string(key) + " is row " + std::to_string(row) +
                           " of " + std::to_string(ends_.back()));
  }
  const auto at =
      static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), row) - ends_.begin());
  return Location{sources_[at].get(), at == 0 ? row : row - ends_[at - 1]};
}

Result<std::size_t> CompiledPlan::PayloadBytes(const ops::GraphRunner& runner,
                                               const TensorSpec& in) {
  // What a payload adds to its pixels, at most; twice that where a sample has several.
  constexpr std::size_t kOverhead = 256;
  std::vector<TensorSpec> values(runner.graph().values().size()), prefixes;
  HR_RETURN_IF_ERROR(runner.graph().Shapes(in, values, &prefixes));
  std::size_t bytes = 0;
  for (const TensorSpec& prefix : prefixes) {
    bytes += prefix.bytes() + (prefixes.size() == 1 ? 1 : 2) * kOverhead;
  }
  return bytes;
}

Result<CompiledPlan::Shapes> CompiledPlan::ShapesOf(const TensorSpec& in,
                                                    ops::Params params) const {
  Shapes shapes;
  shapes.values.resize(graph().values().size());
  HR_RETURN_IF_ERROR(graph().Shapes(in, shapes.values, &shapes.prefixes));
  if (!params.empty()) {
    HR_RETURN_IF_ERROR(ops::DrawnValues(graph(), in, params, shapes.values));
  }
  return shapes;
}

Result<ops::Params> CompiledPlan::ParamsOf(const wire::BatchRequest& request, std::size_t position,
                                           const TensorSpec& spec,
                                           std::vector<std::int32_t>& drawn) const {
  const std::size_t words = param_words();
  if (rng_ != RngMode::kSample || words == 0) {
    return ops::Params(request.params).subspan(position * words, words);
  }
  drawn.resize(words);
  ops::Generators generators(request.seeds[position], ops::DrawsFromPython(graph()),
                             ops::DrawsFromNumpy(graph()));
  std::vector<TensorSpec> values(graph().values().size());
  HR_RETURN_IF_ERROR(graph().Draw(spec, generators, drawn, values));
  return ops::Params(drawn);
}

Result<BatchLayout> CompiledPlan::Layout(std::size_t batch, BatchValues values,
                                         bool before_tail) const {
  std::vector<BatchLayout::Field> fields;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    BatchLayout::Field& field = fields.emplace_back();
    if (!IsComputed(fields_[i])) {
      field.column = sources_[0]->column(fields_[i].index);
      continue;
    }
    field.value = value_of_field_[i];
    field.list = fields_[i].kind == FieldSpec::Kind::kList;
  }
  return BatchLayout::Make(fields, batch, std::move(values), before_tail);
}

}  // namespace headrace::dataworker
