#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/buffer.h"
#include "dataworker/cache/cache_entry.h"
#include "dataworker/cache/disk/segment.h"
#include "dataworker/cache/sealed_memory.h"
#include "dataworker/exec/io_executor.h"

namespace headrace::dataworker {

// Entries on their way to the disk: one thread writes them, in the order in which they come. Thread-safe.
class WriteBuffer {
 public:
  struct Write {
    CacheKey key;
    std::shared_ptr<Segment> segment;  // not the chunk: one that is given up need not wait for it
    std::uint64_t offset = 0;
    std::shared_ptr<const std::byte> buffer;
    std::uint64_t bytes = 0;    // of the payload, in the buffer
    std::uint64_t counted = 0;  // bytes that wait with it; 0: what Hold has counted
    Duration cost{};            // what the entry took to make; 0: not known
    EntryMark mark{};
  };
  // Is told of each write once it has ended, on the thread that writes.
  using OnWritten = std::function<void(const Write&, const Status&)>;

  WriteBuffer(std::uint64_t most_bytes, OnWritten on_written)
      : most_(most_bytes), on_written_(std::move(on_written)) {}

  // Whether so many bytes more may wait. They may all the same: what was asked about is stored.
  [[nodiscard]] bool HasRoom(std::uint64_t bytes) const { return *bytes_ + bytes <= most_; }
  [[nodiscard]] std::uint64_t bytes() const { return *bytes_; }
  [[nodiscard]] std::uint64_t room() const {
    const std::uint64_t now = *bytes_;
    return now < most_ ? most_ - now : 0;
  }
  void Push(Write write);
  // All of the memory, which waits from now on, until the last reference to what this returns goes. Nullptr: there is
  // no room for it.
  std::shared_ptr<const std::byte> Hold(std::shared_ptr<const SealedMemory> memory);
  // Writes what waits, and returns then.
  void Stop() { thread_->Stop(); }
  // The segment, whose file is deleted by the thread that writes, as files are made there: the reactor calls a
  // tier too, and must not wait for a disk, nor for a lock of somebody who does. One thread does both in
  // their order, so the files never take more than the budget.
  [[nodiscard]] std::shared_ptr<Segment> Deletes(std::shared_ptr<Segment> segment) const;

 private:
  const std::uint64_t most_;
  const OnWritten on_written_;
  // Who reads what waits may have it for longer than this object lives.
  const std::shared_ptr<std::atomic<std::uint64_t>> bytes_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  const std::shared_ptr<IoExecutor> thread_ = std::make_shared<IoExecutor>(1);
};

}  // namespace headrace::dataworker
