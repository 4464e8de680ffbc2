#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "dataworker/session/compiled_plan.h"
#include "dataworker/share/work.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// Reads the image sizes of a list of keys, some keys a unit.
class DescribeWork final : public Work {
 public:
  using OnDone = std::function<void(std::shared_ptr<DescribeWork>)>;
  // REQUIRES: there are keys.
  DescribeWork(std::shared_ptr<const CompiledPlan> plan, wire::Describe request, OnDone on_done);
  // The answer. REQUIRES: the work has finished.
  [[nodiscard]] wire::Described TakeAnswer() { return std::move(answer_); }

 protected:
  void Run(std::int64_t unit, ThreadContext& context) override;
  void Finish() override;

 private:
  const std::shared_ptr<const CompiledPlan> plan_;
  const std::vector<std::int64_t> keys_;
  const OnDone on_done_;
  wire::Described answer_;  // each unit writes its own elements
};

}  // namespace headrace::dataworker
