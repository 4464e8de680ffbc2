#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"

namespace headrace::dataworker {

// Memory of batches that leave over the network: made by the compute threads, sent without a copy,
// and used again, because fresh memory of that size costs more in page faults than the batch in
// copies. Thread-safe; buffers may outlive the pool.
class PayloadPool {
 public:
  // At most `limit_bytes` lent at a time; at most `kept_bytes` kept for the next batch.
  PayloadPool(std::uint64_t limit_bytes, std::uint64_t kept_bytes);

  struct Buffer {
    MutableByteSpan memory;  // 64-aligned
    std::shared_ptr<const void> hold;
  };
  // kResourceExhausted: too much is on its way already.
  Result<Buffer> Take(std::uint64_t bytes);
  // Gives kept memory back to the system.
  void Trim();
  [[nodiscard]] std::uint64_t lent_bytes() const;

 private:
  struct Shared;
  class Block;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace headrace::dataworker
