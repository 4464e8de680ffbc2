#include "trainer_client/client/session_plan.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "base/plan_files.h"
#include "ops/core/graph_draws.h"
#include "schemas/wire/message.h"
#include "trainer_client/client/files_identity.h"
#include "trainer_client/session/batch_result.h"

namespace headrace::client {
namespace {

constexpr std::size_t kKeptTables = 4;

Result<ByteSpan> FindBlob(const std::map<BlobHash, Blob>& blobs, BlobHash hash,
                          std::string_view what) {
  const auto at = blobs.find(hash);
  if (at == blobs.end()) {
    std::string message = "not among the blobs: the plan's ";
    return InvalidArgument(message.append(what));
  }
  return at->second.data;
}

Status CheckArray(const SourceLeaf& leaf, const SourceLeaf::Array& array,
                  const std::map<BlobHash, Blob>& blobs) {
  std::uint64_t bytes = DTypeBytes(array.dtype);
  for (const std::int64_t side : array.row_shape) {
    if (side < 0) return InvalidArgument("an array with a negative side");
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(side), &bytes)) {
      return InvalidArgument("an array with rows of more than 64 bits");
    }
  }
  // Without content it lies where the leaf's arguments say, which its source reads.
  if (!array.blob.valid() && !leaf.args.empty()) return {};
  HR_TRY(const ByteSpan data, FindBlob(blobs, array.blob, "array"));
  if (bytes * static_cast<std::uint64_t>(leaf.rows) == data.size()) return {};
  return InvalidArgument("an array of " + std::to_string(data.size()) + " bytes for " +
                         std::to_string(leaf.rows) + " rows of " + std::to_string(bytes));
}

Status CheckPlan(const Plan& plan, const std::map<BlobHash, Blob>& blobs) {
  if (plan.lanes < 1) return InvalidArgument("a plan of no lanes");
  if (plan.has_python_stage && !plan.python.bundle.valid()) return {};  // its code stays here
  if (plan.has_python_stage) return FindBlob(blobs, plan.python.bundle, "code bundle").status();
  if (plan.fields.empty()) return InvalidArgument("a plan of no fields");
  for (const SourceLeaf& leaf : plan.leaves) {
    if (leaf.rows < 0) return InvalidArgument("a source of " + std::to_string(leaf.rows) + " rows");
    if (!leaf.table.valid() && leaf.arrays.empty() && leaf.args.empty()) {
      return InvalidArgument("the source '" + leaf.source + "' has no table, array or argument");
    }
    if (leaf.table.valid()) HR_RETURN_IF_ERROR(FindBlob(blobs, leaf.table, "file table").status());
    for (const SourceLeaf::Array& array : leaf.arrays) {
      HR_RETURN_IF_ERROR(CheckArray(leaf, array, blobs));
    }
  }
  return Status::Ok();
}

// Returns what the rows of an array source are; nullopt: no sample has so many dimensions.
std::optional<TensorSpec> RowOf(const SourceLeaf& leaf) {
  if (leaf.arrays.empty() || leaf.arrays[0].row_shape.size() > Dims::kMost) return std::nullopt;
  const SourceLeaf::Array& array = leaf.arrays[0];
  return TensorSpec{array.dtype, Layout::kPlain, Dims(std::span(array.row_shape))};
}

// Returns the values of every sample, if they do not depend on the sample; otherwise nothing.
std::vector<TensorSpec> FixedValues(const Plan& plan, const ops::Graph& graph) {
  std::optional<TensorSpec> input = graph.source();
  if (!plan.leaves.empty() && !plan.leaves[0].arrays.empty()) input = RowOf(plan.leaves[0]);
  std::vector<TensorSpec> values(graph.values().size());
  if (!input || !graph.Shapes(*input, values, nullptr).ok() ||
      !std::ranges::all_of(values, &TensorSpec::known)) {
    return {};
  }
  return values;
}

Result<DrawPlanner::Options> PlannerOptions(const Plan& plan, const std::map<BlobHash, Blob>& blobs,
                                            const std::shared_ptr<const ops::Graph>& graph,
                                            KnownSizes& sizes) {
  DrawPlanner::Options options;
  options.rng = plan.rng;
  options.lanes = plan.lanes;
  options.native = !plan.has_python_stage;
  if (plan.has_python_stage) return options;
  std::int64_t rows = 0;
  for (const SourceLeaf& leaf : plan.leaves) rows += leaf.rows;
  options.keys = rows;
  if (plan.row_map.valid()) {
    HR_TRY(const ByteSpan map, FindBlob(blobs, plan.row_map, "row map"));
    if (map.size() % sizeof(std::int64_t) != 0 ||
        reinterpret_cast<std::uintptr_t>(map.data()) % alignof(std::int64_t) != 0) {
      return InvalidArgument("the row map is no array of int64");
    }
    options.row_map = {reinterpret_cast<const std::int64_t*>(map.data()),
                       map.size() / sizeof(std::int64_t)};
    options.keys = static_cast<std::int64_t>(options.row_map.size());
  }
  if (plan.rng != RngMode::kTorch) return options;
  if (!graph) return InvalidArgument("a plan that draws without an operator");
  options.param_words = graph->param_words();
  options.with_python = ops::DrawsFromPython(*graph);
  options.with_numpy = ops::DrawsFromNumpy(*graph);
  options.draw = [graph](const TensorSpec& in, ops::Generators& rng, ops::MutableParams params,
                         std::vector<TensorSpec>* values) {
    values->resize(graph->values().size());
    return graph->Draw(in, rng, params, *values);
  };
  options.dims = sizes.Of(plan, rows);
  return options;
}

}  // namespace

std::shared_ptr<SizeTable> KnownSizes::Of(const Plan& plan, std::int64_t rows) {
  // Equal plans encode to equal bytes.
  Plan only_sources;
  only_sources.leaves = plan.leaves;
  std::string identity(AsText(wire::EncodePlan(only_sources)));
  const std::scoped_lock lock(mutex_);
  const auto at =
      std::ranges::find(tables_, identity, [](const auto& entry) { return entry.first; });
  if (at != tables_.end()) {
    tables_.splice(tables_.begin(), tables_, at);
    return tables_.front().second;
  }
  auto table = std::make_shared<SizeTable>(rows);
  std::int64_t row = 0;
  for (const SourceLeaf& leaf : plan.leaves) {
    if (!leaf.arrays.empty()) {
      const std::optional<TensorSpec> spec = RowOf(leaf);
      for (std::int64_t i = 0; i < leaf.rows; ++i) table->Set(row + i, spec);
    }
    row += leaf.rows;
  }
  tables_.emplace_front(std::move(identity), table);
  if (tables_.size() > kKeptTables) tables_.pop_back();
  return table;
}

Result<SessionPlan> SessionPlan::Make(Plan plan, std::map<BlobHash, Blob> blobs,
                                      KnownSizes& sizes) {
  HR_RETURN_IF_ERROR(CheckPlan(plan, blobs));
  SessionPlan made;
  if (!plan.has_python_stage && !plan.chain.empty()) {
    ops::Constants constants;
    for (const auto& [name, hash] : plan.constants) {
      HR_TRY(constants[name], FindBlob(blobs, hash, "constant " + name));
    }
    HR_RETURN_IF_ERROR(CheckGraph(plan));
    HR_TRY(ops::Graph compiled,
           ops::Graph::Compile(plan.chain, ValuesOf(plan), plan.libraries, constants,
                               ops::TorchFunctions::Loaded(), ListsOf(plan)));
    HR_RETURN_IF_ERROR(CheckFiles(plan.leaves, compiled.files()));
    made.graph_ = std::make_shared<const ops::Graph>(std::move(compiled));
    made.setup_.values = FixedValues(plan, *made.graph_);
    made.setup_.context.ranks = RanksOf(plan, *made.graph_);
  }
  HR_TRY(made.setup_.planner, PlannerOptions(plan, blobs, made.graph_, sizes));
  made.plan_ = std::move(plan);
  made.blobs_ = std::move(blobs);
  return made;
}

std::vector<std::uint64_t> SessionPlan::FilesOfLeaves() const {
  std::vector<std::uint64_t> files;
  for (const SourceLeaf& leaf : plan_.leaves) {
    const auto blob = blobs_.find(leaf.table);
    files.push_back(0);
    if (blob == blobs_.end()) continue;
    // A table of another kind, of ranges of shards, is none.
    const auto table = wire::FileTableView::Open(blob->second.data);
    if (table.ok()) files.back() = FilesIdentity(*table);
  }
  return files;
}

bool SessionPlan::RunsWhole(const wire::Split& split) const {
  return plan_.has_python_stage ||
         split.worker_nodes == static_cast<std::int32_t>(plan_.chain.size());
}

SessionPump::Setup SessionPlan::Finish(const wire::Split& split) {
  if (graph_ && split.tail_node > 0 && split.tail_node == graph_->tail()) {
    Result<ops::Finisher> finisher = ops::Finisher::Make(graph_->chain(0), split.tail_node);
    if (finisher.ok()) setup_.finisher = std::move(finisher).value();
  }
  setup_.context.plan = std::move(plan_);
  setup_.context.split = split;
  setup_.context.blobs = std::make_unique<BlobStore>(std::move(blobs_));
  return std::move(setup_);
}

}  // namespace headrace::client
