#pragma once

#include <cstdint>
#include <memory>

#include "base/buffer.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/source/core/source.h"

namespace headrace::dataworker {

// A trainer's arena, mapped for writing. The session and the batches that still write share it.
// While it lives, here or in a host that got it, its trainer sees no hang-up and so does not use
// the slots again.
class ArenaMap {
 public:
  // kResourceExhausted: no address space. kInvalidArgument: empty.
  // `channel`: a handle on the trainer's connection; none for memory of our own.
  static Result<std::shared_ptr<ArenaMap>> Map(UniqueFd fd, std::uint64_t bytes,
                                               UniqueFd channel = {});
  ArenaMap(const ArenaMap&) = delete;
  ArenaMap& operator=(const ArenaMap&) = delete;
  ~ArenaMap();

  [[nodiscard]] std::uint64_t size() const { return memory_.size(); }
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] int channel() const { return channel_.get(); }  // -1: none
  // The slot's memory; kInvalidArgument when any of it lies outside, or it is not 64-aligned.
  [[nodiscard]] Result<MutableByteSpan> Slot(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  ArenaMap(UniqueFd fd, UniqueFd channel, MutableByteSpan memory)
      : fd_(std::move(fd)), channel_(std::move(channel)), memory_(memory) {}
  const UniqueFd fd_;
  const UniqueFd channel_;
  const MutableByteSpan memory_;
};

// Reads the content of a memfd. It maps a memfd that is sealed against writing and shares it with
// its maker. It copies any other, which could change after the check.
Result<BlobContent> BlobFromDescriptor(const UniqueFd& fd, std::uint64_t bytes);
// Takes over memory.
[[nodiscard]] BlobContent BlobFromBytes(Bytes bytes);

// Builds a blob that comes in parts, in order. It uses memory only as the parts come, whatever size
// the peer announced. One thread.
class BlobBuilder {
 public:
  // kResourceExhausted: not even address space.
  static Result<BlobBuilder> Make(std::uint64_t total_bytes);
  // kInvalidArgument: not the next part, or more than announced.
  Status Append(std::uint64_t offset, ByteSpan part);
  [[nodiscard]] bool complete() const { return filled_ == memory_.size(); }
  [[nodiscard]] std::uint64_t size() const { return memory_.size(); }
  // REQUIRES: complete(). Once.
  [[nodiscard]] BlobContent Take();

 private:
  BlobBuilder(MutableByteSpan memory, std::shared_ptr<const ByteSpan> blob)
      : memory_(memory), blob_(std::move(blob)) {}
  MutableByteSpan memory_;
  BlobContent blob_;  // owns memory_
  std::uint64_t filled_ = 0;
};

}  // namespace headrace::dataworker
