#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/buffer.h"

namespace headrace::dataworker {

// Memory for what is read or to be written, used again: fresh memory costs as much as the read. Keeps
// kMostKept buffers at most. Thread-safe. Buffers may outlive it.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  static constexpr std::size_t kMostKept = 32;
  static constexpr std::size_t kLargestKept = std::size_t{4} << 20;  // bytes

  // Room for `bytes`, and ScratchBuffer::kSlack after them. Its memory comes back with the last
  // reference.
  std::shared_ptr<std::byte> Take(std::size_t bytes) {
    std::unique_ptr<ScratchBuffer> buffer;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        buffer = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (!buffer) buffer = std::make_unique<ScratchBuffer>();
    auto* const begin =
        reinterpret_cast<std::byte*>(buffer->Ensure(std::max<std::size_t>(bytes, 1)));
    return {begin, [pool = weak_from_this(), bytes, raw = buffer.release()](std::byte*) {
              std::unique_ptr<ScratchBuffer> back(raw);
              const std::shared_ptr<BufferPool> kept = pool.lock();
              if (kept && bytes <= kLargestKept) kept->GiveBack(std::move(back));
            }};
  }

 private:
  void GiveBack(std::unique_ptr<ScratchBuffer> buffer) {
    const std::lock_guard lock(mutex_);
    if (free_.size() < kMostKept) free_.push_back(std::move(buffer));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<ScratchBuffer>> free_;  // guarded by mutex_
};

}  // namespace headrace::dataworker
