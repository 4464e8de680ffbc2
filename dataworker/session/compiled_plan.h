#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/graph.h"
#include "base/result.h"
#include "dataworker/cache/cache_entry.h"
#include "dataworker/session/batch_layout.h"
#include "dataworker/share/wanted_form.h"
#include "dataworker/source/core/source.h"
#include "ops/core/graph.h"
#include "ops/run/graph_runner.h"
#include "schemas/wire/control.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// What the cache keeps of a file.
//   kPrefix   pixels after the pure prefix: a hit saves the decode, about 1 ns of CPU a byte.
//   kEncoded  the file's bytes: a hit saves the read. Worth its memory only where the kernel does
//             not keep the file anyway (Source::rereads_from_memory).
enum class CacheForm { kNone, kPrefix, kEncoded };
struct CachedAs {
  CacheForm form = CacheForm::kNone;
  EntryForm entry{};  // as the cache names it
};
// A form in which samples may be kept, and the runners whose prefix makes it.
struct KeptForm {
  CachedAs as;
  std::shared_ptr<const ops::GraphRunner> runner;       // null: the plan has no graph
  std::shared_ptr<const ops::GraphRunner> before_tail;  // null: the graph has no tail
};

// What a worker has for sources. It outlives the plans.
struct SourceSupport {
  const SourceRegistry* registry = &BuiltinSources();
  std::vector<std::string> allowed_roots = {};  // see SourceRegistry::Environment
  IoExecutor* io = nullptr;
  Clock* clock = &Clock::Real();
  remote::ObjectClient* objects = nullptr;
};

// A plan that is ready to run: sources opened, nodes compiled, columns checked. Immutable;
// thread-safe. The session and every running batch share it. Methods: its questions.
class CompiledPlan {
 public:
  // Compiles a plan. `blob` gives the content of blobs. kNotFound: a blob is missing. kUnsupported: no native
  // form here. kInvalidArgument, kDataLoss: the plan contradicts itself or its blobs.
  static Result<std::shared_ptr<const CompiledPlan>> Compile(const Plan& plan,
                                                             const wire::Split& split,
                                                             const BlobLookup& blob,
                                                             const SourceSupport& support = {});

  struct Location {
    Source* source = nullptr;  // the plan's
    std::int64_t row = 0;
  };
  // The row of a key. kInvalidArgument: the key is outside the data set.
  [[nodiscard]] Result<Location> Locate(std::int64_t key) const;

  // Keys are 0 to keys() - 1.
  [[nodiscard]] std::int64_t keys() const {
    return row_map_ ? static_cast<std::int64_t>(row_map_->size() / sizeof(std::int64_t))
                    : ends_.back();
  }

  [[nodiscard]] const std::vector<FieldSpec>& fields() const { return fields_; }
  [[nodiscard]] RngMode rng() const { return rng_; }
  // True if a field is the value of a node.
  [[nodiscard]] bool has_graph() const { return kept_.runner != nullptr; }
  // REQUIRES: has_graph().
  [[nodiscard]] const ops::Graph& graph() const { return runner().graph(); }
  [[nodiscard]] const ops::GraphRunner& runner() const { return *kept_.runner; }
  [[nodiscard]] std::size_t param_words() const {
    return has_graph() ? static_cast<std::size_t>(graph().param_words()) : 0;
  }
  // For each field which of the graph's values it is; -1: it is a column of the source.
  [[nodiscard]] const std::vector<std::int32_t>& value_of_field() const { return value_of_field_; }
  // The file's bytes are kept if another read of them takes time. A plan whose prefix has no more nodes
  // than are wanted keeps what its prefix makes.
  [[nodiscard]] const KeptForm& kept(const WantedForm& wanted = {}) const;
  // Whether a source waits now: see Source::waits.
  [[nodiscard]] bool waits() const;
  // Whether a field of this source's rows is made of the row's bytes (Source::MakeColumn).
  [[nodiscard]] bool reads_columns(const Source& source) const;
  // Has the sources answer what is open. Nobody may ask them after that.
  void StopSources() const;

  // The values of every sample, if they do not depend on the sample.
  [[nodiscard]] const std::optional<std::vector<TensorSpec>>& fixed_values() const {
    return fixed_values_;
  }
  // Whether each sample's shapes are wanted before a batch is laid out.
  [[nodiscard]] bool shapes_of_each() const { return has_lists_ && !fixed_values_; }
  // Whether a sample may have other shapes than its batch, so that each is looked at.
  [[nodiscard]] bool shapes_may_differ() const {
    return !fixed_values_ || rng_ == RngMode::kSample;
  }
  // What the graph makes of a source image, and what its pure prefixes make of it.
  struct Shapes {
    std::vector<TensorSpec> prefixes;  // one a picture
    std::vector<TensorSpec> values;
  };
  // Most bytes of the cache entry that the runner's prefix makes of a source image. `runner`: of one of the
  // plan's forms (KeptForm).
  [[nodiscard]] static Result<std::size_t> PayloadBytes(const ops::GraphRunner& runner,
                                                        const TensorSpec& in);
  // `params`: what was drawn for it; empty: values whose size is drawn have none that is known.
  [[nodiscard]] Result<Shapes> ShapesOf(const TensorSpec& in, ops::Params params = {}) const;
  // The words of a sample of this spec: the request's, or drawn to `drawn` with the sample's seed.
  // Errors as ops::Graph::Draw. REQUIRES: CheckRequest was ok.
  [[nodiscard]] Result<ops::Params> ParamsOf(const wire::BatchRequest& request,
                                             std::size_t position, const TensorSpec& spec,
                                             std::vector<std::int32_t>& drawn) const;

  // The layout of a batch of samples with these values. `before_tail`: of one whose tail is left
  // out. Errors as BatchLayout::Make.
  [[nodiscard]] Result<BatchLayout> Layout(std::size_t batch, BatchValues values,
                                           bool before_tail = false) const;

  // Every blob that a plan names.
  [[nodiscard]] static std::vector<BlobHash> BlobsOf(const Plan& plan);

 private:
  CompiledPlan() = default;
  Status OpenSources(const Plan& plan, const BlobLookup& blob, const SourceSupport& support);
  Status OpenRowMap(const Plan& plan, const BlobLookup& blob);
  Status FindForms(const wire::Split& split, const ops::Constants& constants);
  Status CompileGraph(const Plan& plan, const wire::Split& split, const BlobLookup& blob);
  [[nodiscard]] Status CheckColumns() const;
  void FindFixedValues();

  std::vector<FieldSpec> fields_;
  std::vector<std::int32_t> value_of_field_;
  RngMode rng_ = RngMode::kNone;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::int64_t> ends_;  // the row number after the last of each source
  BlobContent row_map_;
  std::vector<BlobContent> constants_;  // the graph refers to their memory
  KeptForm kept_;
  std::optional<KeptForm> encoded_;  // in place of it; nothing: that would save nothing
  std::vector<KeptForm> shorter_;    // after 1, 2, ... nodes, fewer than the prefix has
  bool has_lists_ = false;
  std::optional<std::vector<TensorSpec>> fixed_values_;
};

}  // namespace headrace::dataworker
