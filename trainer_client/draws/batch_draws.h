#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ops/core/generators.h"
#include "ops/core/op.h"

namespace headrace::client {

// Graph::Draw of the plan's nodes; it resizes `values`.
using DrawFunction =
    std::function<Status(const TensorSpec& in, ops::Generators& rng, ops::MutableParams params,
                         std::vector<TensorSpec>* values)>;

// Holds what one batch has drawn, sample after sample, and its lane's generators before each
// sample. When the trainer makes a sample, it gives their state after it. Pure.
// Thread-compatible.
class BatchDraws {
 public:
  // A sample that the trainer has made.
  struct Resolved {
    std::int32_t position = 0;
    ops::Generators after;
  };

  // Forgets all that was drawn.
  void Clear();
  // Begins a batch. `generator` stands before its first sample.
  void Begin(const ops::Generators& generator, std::size_t samples, std::size_t param_words);
  [[nodiscard]] bool begun() const { return start_.has_value(); }
  // The first sample that is not drawn yet. The number of samples: all are drawn.
  [[nodiscard]] std::size_t next() const { return next_; }

  // Draws the next sample. False: the framework raises at this sample. Then nothing is drawn, and
  // the generator stands before the sample.
  [[nodiscard]] bool Draw(const TensorSpec& spec, const DrawFunction& draw,
                          ops::Generators& generator);
  // Notes that the trainer has made the next sample. `failed`: it raised, and no later sample is
  // drawn.
  void Resolve(const ops::Generators& after, bool failed);
  [[nodiscard]] const std::vector<Resolved>& resolved() const { return resolved_; }
  // The sample that raised; -1: none did.
  [[nodiscard]] std::int32_t end() const { return end_; }

  // The generator before this sample, as it was drawn. It draws again from the place of the last
  // such question on: so questions in order of position cost no more than one batch. REQUIRES:
  // begun().
  [[nodiscard]] ops::Generators Before(std::int32_t position, const DrawFunction& draw);
  [[nodiscard]] std::optional<ops::Generators> TakeStart() { return std::move(start_); }
  [[nodiscard]] std::vector<std::int32_t> TakeParams() { return std::move(params_); }
  // The specs of the drawn samples' sources, as in wire::BatchRequest::specs.
  [[nodiscard]] const std::vector<std::optional<TensorSpec>>& specs() const { return specs_; }
  // The values of one sample; empty: none was drawn.
  [[nodiscard]] const std::vector<TensorSpec>& values() const { return values_; }

 private:
  std::optional<ops::Generators> start_;
  std::size_t samples_ = 0, words_ = 0;
  std::vector<std::int32_t> params_;
  std::vector<std::optional<TensorSpec>> specs_;
  std::size_t next_ = 0;
  std::int32_t end_ = -1;
  std::vector<Resolved> resolved_;
  std::vector<TensorSpec> values_, drawn_;
  std::optional<std::pair<std::int32_t, ops::Generators>> asked_;  // before this position
};

}  // namespace headrace::client
