#pragma once

#include <functional>

#include "base/buffer.h"
#include "ops/core/op.h"

namespace headrace::dataworker {

// What an executor thread keeps from task to task, so that a sample needs no allocation. It is lent
// to the running task only. Not thread-safe.
struct ThreadContext {
  int index = 0;  // 0 .. concurrency() - 1; unique among the tasks that run at the same time
  ops::OpContext ops;
  ScratchBuffer file;      // encoded bytes of the current sample
  ScratchBuffer unpacked;  // likewise, where they were packed in a zip
  Bytes payload;           // prefix of the current sample on its way to the cache

  // Gives back the buffers that one huge sample has made large.
  void GiveBackLarge() {
    constexpr std::size_t kKeptBytes = std::size_t{32} << 20;
    for (ScratchBuffer* buffer : {&file, &unpacked}) {
      if (buffer->capacity() > kKeptBytes) *buffer = ScratchBuffer();
    }
    if (payload.capacity() > kKeptBytes) Bytes().swap(payload);
  }
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
  // Submits a task. Never blocks, and never runs the task before it returns. Tasks start in the
  // order of submission. They must not throw, and may call Submit. After Stop the task is dropped.
  virtual void Submit(Task task) = 0;
  // Runs the submitted tasks, waits for them, and refuses later ones. Idempotent. A task must not
  // call it.
  virtual void Stop() = 0;
};

}  // namespace headrace::dataworker
