#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/buffer.h"
#include "base/ids.h"
#include "base/result.h"
#include "dataworker/memory/worker_memory.h"

namespace headrace::dataworker {

// The memory of batches that leave over the network. The compute threads write it, and it is sent
// without a copy. It is used again, because fresh memory of that size costs more in page faults
// than the batch in copies. Thread-safe; buffers may outlive the pool.
class PayloadPool {
 public:
  // Lends at most `limit_bytes` at a time, and keeps at most `kept_bytes` for the next batch. All of it
  // is of `memory`.
  PayloadPool(std::uint64_t limit_bytes, std::uint64_t kept_bytes,
              std::shared_ptr<WorkerMemory> memory);

  struct Buffer {
    MutableByteSpan memory;  // 64-aligned
    std::shared_ptr<const void> hold;
  };
  // Lends a buffer to a job. While half of the limit is lent, a job that has an eighth gets no more:
  // trainers that do not read what they asked for leave room for others. kResourceExhausted: too much
  // is on its way already. kUnavailable: more than this worker's memory; another may have more.
  Result<Buffer> Take(JobId job, std::uint64_t bytes);
  // Gives kept memory back to the system.
  void Trim();
  [[nodiscard]] std::uint64_t lent_bytes() const;

 private:
  struct Shared;
  class Block;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace headrace::dataworker
