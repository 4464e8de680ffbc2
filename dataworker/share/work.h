#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/ids.h"
#include "dataworker/exec/executor.h"

namespace headrace::dataworker {

// A request cut into units (samples) that threads may run at the same time. Ends exactly once: when
// every unit has run or was dropped. Kept alive by the queue and by the threads that run it.
class Work : public std::enable_shared_from_this<Work> {
 public:
  // Whether units ask before they read at a source (SourceReads::MayReadNow), and wait elsewhere if they
  // may not. Such units may begin while their job is in debt to its limit: most of them may find what
  // they need in the cache.
  enum class Reads : std::uint8_t { kUnasked, kAsked };

  // `iteration`: the iteration whose end cancels it; invalid for work that only the session's end
  // cancels. `order`: of work that the queue sorts, the least first; -1: it keeps the place that it got.
  explicit Work(std::int64_t units, IterationId iteration = {}, Reads reads = Reads::kUnasked,
                std::int64_t order = -1)
      : units_(units), iteration_(iteration), reads_(reads), order_(order), unfinished_(units) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  [[nodiscard]] std::int64_t units() const { return units_; }
  [[nodiscard]] IterationId iteration() const { return iteration_; }
  [[nodiscard]] std::int64_t order() const { return order_; }
  [[nodiscard]] bool asks_before_reads() const { return reads_ == Reads::kAsked; }
  // Skips all units that have not begun. Thread-safe.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  // For WorkQueue: runs unit `unit`, which Drop counts afterwards.
  void RunUnit(std::int64_t unit, ThreadContext& context) {
    if (!cancelled()) Run(unit, context);
  }
  // For WorkQueue: counts `units` that have run or never will. After the last one calls Finish and
  // returns true.
  bool Drop(std::int64_t units) {
    if (unfinished_.fetch_sub(units, std::memory_order_acq_rel) != units) return false;
    Finish();
    return true;
  }

 protected:
  virtual void Run(std::int64_t unit, ThreadContext& context) = 0;
  // For Run: the unit waits without a thread. It ends with a Drop(1) more, after the other work
  // that does the rest of it.
  void Postpone() { unfinished_.fetch_add(1, std::memory_order_relaxed); }
  // Runs on the thread of the last unit, or on the one that cancelled. All that the units wrote is
  // visible. Must not block.
  virtual void Finish() = 0;

 private:
  const std::int64_t units_;
  const IterationId iteration_;
  const Reads reads_;
  const std::int64_t order_;
  std::atomic<std::int64_t> unfinished_;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace headrace::dataworker
