#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/graph.h"
#include "base/result.h"
#include "dataworker/source/core/source.h"
#include "ops/core/graph.h"
#include "ops/run/graph_runner.h"
#include "schemas/wire/control.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// Where the fields of a batch lie in its slot.
struct BatchLayout {
  std::vector<TensorSpec> values;  // of each sample, as CompiledPlan::Shapes::values
  std::vector<wire::FieldLayout> fields;
  std::vector<std::size_t> row_bytes;  // one a field
  std::uint64_t bytes = 0;
};

// What the cache keeps of a file.
//   kPrefix   pixels after the pure prefix: a hit saves the decode, about 1 ns of CPU a byte.
//   kEncoded  the file's bytes: a hit saves the read. Worth its memory only where the kernel does
//             not keep the file anyway (Source::rereads_from_memory).
enum class CacheForm { kNone, kPrefix, kEncoded };

// A plan that is ready to run: sources opened, nodes compiled, columns checked. Immutable;
// thread-safe. The session and every running batch share it.
class CompiledPlan {
 public:
  // Compiles a plan. `blob` gives the content of blobs. Files are read below `allowed_roots` (real
  // paths), or anywhere if there are none. kNotFound: a blob is missing. kUnsupported: no native
  // form here. kInvalidArgument, kDataLoss: the plan contradicts itself or its blobs.
  static Result<std::shared_ptr<const CompiledPlan>> Compile(
      const Plan& plan, const wire::Split& split, const BlobLookup& blob,
      std::vector<std::string> allowed_roots = {});

  struct Location {
    const Source* source = nullptr;
    std::int64_t row = 0;
  };
  // The row of a key. kInvalidArgument: the key is outside the data set.
  [[nodiscard]] Result<Location> Locate(std::int64_t key) const;

  [[nodiscard]] const std::vector<FieldSpec>& fields() const { return fields_; }
  [[nodiscard]] RngMode rng() const { return rng_; }
  // True if a field is the value of a node.
  [[nodiscard]] bool has_graph() const { return runner_.has_value(); }
  // REQUIRES: has_graph().
  [[nodiscard]] const ops::Graph& graph() const { return runner_->graph(); }
  [[nodiscard]] const ops::GraphRunner& runner() const { return *runner_; }
  [[nodiscard]] std::size_t param_words() const {
    return has_graph() ? static_cast<std::size_t>(graph().param_words()) : 0;
  }
  // For each field which of the graph's values it is; -1: it is a column of the source.
  [[nodiscard]] const std::vector<std::int32_t>& value_of_field() const { return value_of_field_; }
  [[nodiscard]] CacheForm cache_form() const { return cache_form_; }

  // The values of every sample, if they do not depend on the sample.
  [[nodiscard]] const std::optional<std::vector<TensorSpec>>& fixed_values() const {
    return fixed_values_;
  }
  // What the graph makes of a source image, and what its pure prefix makes of it.
  struct Shapes {
    TensorSpec prefix;
    std::vector<TensorSpec> values;
  };
  [[nodiscard]] Result<Shapes> ShapesOf(const TensorSpec& in) const;

  // The layout of a batch of samples with these values. kUnsupported: too large for any memory.
  [[nodiscard]] Result<BatchLayout> Layout(std::size_t batch, std::vector<TensorSpec> values) const;

  // Every blob that a plan names.
  [[nodiscard]] static std::vector<BlobHash> BlobsOf(const Plan& plan);

 private:
  CompiledPlan() = default;
  Status OpenSources(const Plan& plan, const BlobLookup& blob,
                     std::vector<std::string> allowed_roots);
  Status OpenRowMap(const Plan& plan, const BlobLookup& blob);
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
  std::optional<ops::GraphRunner> runner_;
  CacheForm cache_form_ = CacheForm::kNone;
  std::optional<std::vector<TensorSpec>> fixed_values_;
};

}  // namespace headrace::dataworker
