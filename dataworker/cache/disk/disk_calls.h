#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/buffer.h"

namespace headrace::dataworker {

// The calls of the system that may fail or take long on a bad disk, so that tests can have them fail.
// Each returns 0 or an errno, where it says nothing else. Thread-safe.
class DiskCalls {
 public:
  virtual ~DiskCalls() = default;
  // Writes all of `header`, then all of `payload`.
  virtual int Write(int fd, std::uint64_t offset, ByteSpan header, ByteSpan payload);
  // Reads until `into` is full. EIO: the file ends before.
  virtual int Read(int fd, std::uint64_t offset, MutableByteSpan into);
  // The same, of what is in memory by now. EAGAIN: not all of it is, or nobody can tell.
  virtual int ReadNow(int fd, std::uint64_t offset, MutableByteSpan into);
  // Whether ReadNow can ever read of this file: some file systems have no such reads.
  virtual bool CanReadNow(int fd);
  // Has the file system keep room for the file's first `bytes`.
  virtual int Reserve(int fd, std::uint64_t bytes);

  static DiskCalls& Real();
};

}  // namespace headrace::dataworker
