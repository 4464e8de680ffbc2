#pragma once

#include <functional>

#include "base/buffer.h"
#include "ops/core/op.h"

namespace headrace::dataworker {

// What an executor thread keeps from task to task, so that a sample needs no allocation. Lent to
// the running task only; not thread-safe.
struct ThreadContext {
  int index = 0;  // 0 .. concurrency() - 1; unique among the tasks that run at the same time
  ops::OpContext ops;
  ScratchBuffer file;  // encoded bytes of the current sample
  Bytes payload;       // prefix of the current sample on its way to the cache
};

// The worker's compute threads. Sources, decoders and operators run here, never on the reactor.
// Thread-safe. The queue holds what the caller submitted: callers bound it (see WorkQueue).
class Executor {
 public:
  using Task = std::function<void(ThreadContext&)>;

  // Stops.
  virtual ~Executor() = default;
  // Most tasks that run at the same time.
  [[nodiscard]] virtual int concurrency() const = 0;
  // Never blocks and never runs the task before it returns. Tasks start in the order of submission;
  // they must not throw, and may Submit. After Stop: dropped.
  virtual void Submit(Task task) = 0;
  // Runs what was submitted, waits for it, and refuses the rest. Idempotent. Not from a task.
  virtual void Stop() = 0;
};

}  // namespace headrace::dataworker
