#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "base/ids.h"
#include "dataworker/exec/executor.h"

namespace headrace::dataworker {

// A request cut into units (samples) that threads may run at the same time. Ends exactly once: when
// every unit has run or was dropped. Kept alive by the queue and by the threads that run it.
class Work : public std::enable_shared_from_this<Work> {
 public:
  // `iteration`: whose end cancels it; invalid for work that only the session's end cancels.
  explicit Work(std::int64_t units, IterationId iteration = {})
      : units_(units), iteration_(iteration), unfinished_(units) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  [[nodiscard]] std::int64_t units() const { return units_; }
  [[nodiscard]] IterationId iteration() const { return iteration_; }
  // Units that have not begun are skipped from now on. Thread-safe.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  // For WorkQueue: runs unit `unit`, or counts `units` as dropped; the last one calls Finish.
  void RunUnit(std::int64_t unit, ThreadContext& context) {
    if (!cancelled()) Run(unit, context);
    Drop(1);
  }
  void Drop(std::int64_t units) {
    if (unfinished_.fetch_sub(units, std::memory_order_acq_rel) == units) Finish();
  }

 protected:
  virtual void Run(std::int64_t unit, ThreadContext& context) = 0;
  // On the thread of the last unit, or of the one who cancelled; everything the units wrote is
  // visible. Must not block.
  virtual void Finish() = 0;

 private:
  const std::int64_t units_;
  const IterationId iteration_;
  std::atomic<std::int64_t> unfinished_;
  std::atomic<bool> cancelled_ = false;
};

// What waits for the compute threads: fair between sessions (one unit each in turn), first come
// first served within a session. Thread-safe. Its callers bound what they push; the executor must
// be stopped before the queue goes.
class WorkQueue {
 public:
  explicit WorkQueue(Executor& executor) : executor_(executor) {}

  enum class Place { kBack, kFront };
  // REQUIRES: work->units() > 0.
  void Push(SessionId session, std::shared_ptr<Work> work, Place place = Place::kBack);
  // Cancels and takes out what `which` accepts (called under the lock; must only look). Units that
  // already run go on; the others are dropped before this returns.
  void Cancel(SessionId session, const std::function<bool(const Work&)>& which);
  // Units that have not begun.
  [[nodiscard]] std::int64_t queued() const { return queued_.load(std::memory_order_relaxed); }

 private:
  struct Item {
    std::shared_ptr<Work> work;
    std::int64_t next = 0;  // unit
  };
  void RunOne(ThreadContext& context);

  Executor& executor_;
  std::atomic<std::int64_t> queued_ = 0;
  std::mutex mutex_;
  // Guarded by mutex_:
  std::map<SessionId, std::deque<Item>> sessions_;  // never an empty deque
  std::deque<SessionId> turns_;                     // each session of sessions_ once
};

}  // namespace headrace::dataworker
