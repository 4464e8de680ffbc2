#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dataworker/session/compiled_plan.h"
#include "dataworker/share/source_reads.h"
#include "dataworker/share/work.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// Finds the shapes of a batch's values if the plan alone does not give them: those of the first
// sample that can be described. One unit, which no thread runs while it waits for a source.
class ShapeWork final : public Work {
 public:
  using OnDone = std::function<void(std::shared_ptr<ShapeWork>)>;
  ShapeWork(std::shared_ptr<const CompiledPlan> plan, std::shared_ptr<SourceReads> reads,
            const SourceReads::Asker& asker, wire::BatchRequest request, OnDone on_done);
  [[nodiscard]] const wire::BatchRequest& request() const { return request_; }
  // As CompiledPlan::Shapes::values. REQUIRES: the work has finished.
  [[nodiscard]] const std::optional<std::vector<TensorSpec>>& values() const { return values_; }
  // Why there are none: one failure for each position.
  [[nodiscard]] std::vector<wire::SampleFailure> TakeFailures() { return std::move(failures_); }
  [[nodiscard]] wire::BatchRequest TakeRequest() { return std::move(request_); }

 protected:
  void Run(std::int64_t unit, ThreadContext& context) override;
  void Finish() override;

 private:
  // Goes on with the sample that is next, until one has a shape or waits. A thread of a source runs
  // it when that one has come.
  void GoOn(ScratchBuffer& buffer);
  // Notes the shape, or why the sample that is next has none, and goes to the next one.
  void Note(const Result<std::vector<TensorSpec>>& values);
  [[nodiscard]] Result<std::vector<TensorSpec>> ValuesOf(const RowAnswer& answer) const;

  const std::shared_ptr<const CompiledPlan> plan_;
  const std::shared_ptr<SourceReads> reads_;
  const SourceReads::Asker asker_;
  wire::BatchRequest request_;
  const OnDone on_done_;
  const std::vector<std::int32_t> positions_;
  std::size_t next_ = 0;  // of positions_
  std::optional<std::vector<TensorSpec>> values_;
  std::vector<wire::SampleFailure> failures_;
};

}  // namespace headrace::dataworker
