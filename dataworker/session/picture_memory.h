#pragma once

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
  // `clock` outlives it.
  PictureMemory(std::shared_ptr<WorkerMemory> memory, Clock& clock)
      : memory_(std::move(memory)), clock_(clock) {}

  // What making a sample takes at most, beside its place in the batch: the decoded pixels, in four
  // bytes each, and as much for what is made of them.
  [[nodiscard]] static std::uint64_t BytesFor(const TensorSpec& picture, int files);

  // Has `scratch` hold memory for one sample; none where the picture is small. An error of
  // WorkerMemory::Take: the trainer makes the sample. A line of the log, one a second at most, then
  // names the row of the source.
  [[nodiscard]] Status Admit(const TensorSpec& picture, const Source& source, std::int64_t row,
                             LargeScratch& scratch);

 private:
  void Complain(const Status& why, const std::string& name);

  const std::shared_ptr<WorkerMemory> memory_;
  Clock& clock_;
  std::mutex mutex_;
  // Guarded by mutex_:
  SteadyTime complained_{};
  std::uint64_t unsaid_ = 0;
};

}  // namespace headrace::dataworker
