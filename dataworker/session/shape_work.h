#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dataworker/session/compiled_plan.h"
#include "dataworker/share/work.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// Finds the shapes of a batch's values if the plan alone does not give them: those of the first
// sample that can be described. One unit.
class ShapeWork final : public Work {
 public:
  using OnDone = std::function<void(std::shared_ptr<ShapeWork>)>;
  ShapeWork(std::shared_ptr<const CompiledPlan> plan, wire::BatchRequest request, OnDone on_done);
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
  Result<std::vector<TensorSpec>> ValuesOf(std::int64_t key, ThreadContext& context) const;

  const std::shared_ptr<const CompiledPlan> plan_;
  wire::BatchRequest request_;
  const OnDone on_done_;
  std::optional<std::vector<TensorSpec>> values_;
  std::vector<wire::SampleFailure> failures_;
};

}  // namespace headrace::dataworker
