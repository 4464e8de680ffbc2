#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "dataworker/session/compiled_plan.h"
#include "dataworker/share/source_reads.h"
#include "dataworker/share/work.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// Reads the image sizes of a list of keys, some keys a unit. Those of a unit that a source has to
// wait for are asked for together, and no thread waits for them.
class DescribeWork final : public Work {
 public:
  using OnDone = std::function<void(std::shared_ptr<DescribeWork>)>;
  // REQUIRES: there are keys.
  DescribeWork(std::shared_ptr<const CompiledPlan> plan, std::shared_ptr<SourceReads> reads,
               const SourceReads::Asker& asker, wire::Describe request, OnDone on_done);
  // The answer. REQUIRES: the work has finished.
  [[nodiscard]] wire::Described TakeAnswer() { return std::move(answer_); }

 protected:
  void Run(std::int64_t unit, ThreadContext& context) override;
  void Finish() override;

 private:
  void Note(std::size_t key, const RowAnswer& answer);
  // Keys of a unit that wait for one source.
  struct Later {
    std::vector<std::size_t> which;
    std::vector<std::int64_t> rows;
  };
  void Await(Source* source, Later later);

  const std::shared_ptr<const CompiledPlan> plan_;
  const std::shared_ptr<SourceReads> reads_;
  const SourceReads::Asker asker_;
  const std::vector<std::int64_t> keys_;
  const OnDone on_done_;
  wire::Described answer_;  // each unit, or answer of a source, writes its own elements
};

}  // namespace headrace::dataworker
