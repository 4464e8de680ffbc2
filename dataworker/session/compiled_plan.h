#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/graph.h"
#include "base/result.h"
#include "dataworker/source/core/source.h"
#include "ops/core/chain.h"
#include "ops/run/runner.h"
#include "schemas/wire/control.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// Where the fields of a batch lie in its slot.
struct BatchLayout {
  TensorSpec chain_out;  // of each sample; meaningful when the plan has a chain field
  std::vector<wire::FieldLayout> fields;
  std::vector<std::size_t> row_bytes;  // one a field
  std::uint64_t bytes = 0;
};

// What the cache keeps of a file.
//   kPrefix   pixels after the pure prefix: a hit saves the decode, about 1 ns of CPU a byte.
//   kEncoded  the file's bytes: a hit saves the read. Worth its memory only where the kernel does
//             not keep the file anyway (Source::rereads_from_memory).
enum class CacheForm { kNone, kPrefix, kEncoded };

// What a worker has for sources. It outlives the plans.
struct SourceSupport {
  const SourceRegistry* registry = &BuiltinSources();
  std::vector<std::string> allowed_roots = {};  // see SourceRegistry::Environment
  IoExecutor* io = nullptr;
  Clock* clock = &Clock::Real();
};

// A plan that is ready to run: sources opened, chain compiled, columns checked. Immutable;
// thread-safe. The session and every running batch share it.
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

  [[nodiscard]] const std::vector<FieldSpec>& fields() const { return fields_; }
  [[nodiscard]] RngMode rng() const { return rng_; }
  [[nodiscard]] bool has_chain() const { return runner_.has_value(); }
  // REQUIRES: has_chain().
  [[nodiscard]] const ops::Chain& chain() const { return runner_->chain(); }
  [[nodiscard]] const ops::ChainRunner& runner() const { return *runner_; }
  [[nodiscard]] std::size_t param_words() const {
    return has_chain() ? static_cast<std::size_t>(chain().param_words()) : 0;
  }
  [[nodiscard]] CacheForm cache_form() const { return cache_form_; }
  // Whether a source waits now: see Source::waits.
  [[nodiscard]] bool waits() const;
  // Has the sources answer what is open. Nobody may ask them after that.
  void StopSources() const;

  // What the chain makes of every sample, if that does not depend on the sample.
  [[nodiscard]] const std::optional<TensorSpec>& fixed_output() const { return fixed_output_; }
  // What the chain makes of a source image, and what its pure prefix makes of it.
  struct Shapes {
    TensorSpec prefix;
    TensorSpec out;
  };
  [[nodiscard]] Result<Shapes> ShapesOf(const TensorSpec& in) const;

  // The layout of a batch. `out` is ignored without a chain field. kUnsupported: too large for any
  // memory.
  [[nodiscard]] Result<BatchLayout> Layout(std::size_t batch, const TensorSpec& out) const;

  // Every blob that a plan names.
  [[nodiscard]] static std::vector<BlobHash> BlobsOf(const Plan& plan);

 private:
  CompiledPlan() = default;
  Status OpenSources(const Plan& plan, const BlobLookup& blob, const SourceSupport& support);
  Status OpenRowMap(const Plan& plan, const BlobLookup& blob);
  Status CompileChain(const Plan& plan, const wire::Split& split, const BlobLookup& blob);
  [[nodiscard]] Status CheckColumns() const;
  void FindFixedOutput();

  std::vector<FieldSpec> fields_;
  RngMode rng_ = RngMode::kNone;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::int64_t> ends_;  // the row number after the last of each source
  BlobContent row_map_;
  std::vector<BlobContent> constants_;  // the chain refers to their memory
  std::optional<ops::ChainRunner> runner_;
  CacheForm cache_form_ = CacheForm::kNone;
  std::optional<TensorSpec> fixed_output_;
};

}  // namespace headrace::dataworker
