#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "base/tensor_spec.h"
#include "dataworker/exec/executor.h"
#include "dataworker/memory/worker_memory.h"
#include "dataworker/source/core/source.h"

namespace headrace::dataworker {

// The memory of a large picture while a thread makes it. What the thread's buffers then have goes
// before the lease. On the stack.
class LargeScratch {
 public:
  explicit LargeScratch(ThreadContext& context) : context_(context) {}
  LargeScratch(const LargeScratch&) = delete;
  LargeScratch& operator=(const LargeScratch&) = delete;
  ~LargeScratch() {
    if (lease_.bytes() > 0) context_.ops = ops::OpContext();
  }
  void Hold(WorkerMemory::Lease lease) { lease_ = std::move(lease); }
  void Release() { lease_ = WorkerMemory::Lease(); }

 private:
  ThreadContext& context_;
  WorkerMemory::Lease lease_;
};

// Admits large pictures, by the size that their headers declare, before a byte of them is decoded. A
// few bytes of a file can declare a picture that no worker could hold. Thread-safe. One for the worker.
class PictureMemory {
 public:
  // How long a thread waits for others' memory at most.
  static constexpr Duration kPatience = std::chrono::seconds(10);

  // `clock` outlives it. `reclaim`: frees memory that is kept for later batches; any thread.
  PictureMemory(std::shared_ptr<WorkerMemory> memory, Clock& clock,
                std::function<void()> reclaim = nullptr)
      : memory_(std::move(memory)), clock_(clock), reclaim_(std::move(reclaim)) {}

  // What making a sample takes at most, beside its place in the batch: the decoded pixels, in four
  // bytes each, and as much for what is made of them.
  [[nodiscard]] static std::uint64_t BytesFor(const TensorSpec& picture, int files);

  // Has `scratch` hold memory for one sample; none where the picture is small. It blocks while others
  // have what it needs, for kPatience at most, and not after `gives_up` says so. An error of
  // WorkerMemory::TakeInTurn: the trainer makes the sample. A line of the log, one a second at most,
  // then names the row of the source. REQUIRES: `scratch` holds none.
  [[nodiscard]] Status Admit(const TensorSpec& picture, const Source& source, std::int64_t row,
                             LargeScratch& scratch, std::function<bool()> gives_up);

 private:
  void Complain(const Status& why, const std::string& name);

  const std::shared_ptr<WorkerMemory> memory_;
  Clock& clock_;
  const std::function<void()> reclaim_;
  std::mutex mutex_;
  // Guarded by mutex_:
  SteadyTime complained_{};
  std::uint64_t unsaid_ = 0;
};

}  // namespace headrace::dataworker
