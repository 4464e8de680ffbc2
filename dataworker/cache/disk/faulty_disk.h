#pragma once

#include <atomic>
#include <cerrno>
#include <thread>

#include "dataworker/cache/disk/disk_calls.h"

namespace headrace::dataworker {

// For tests: a disk that fails, hangs, or gives other bytes, as the test says. Thread-safe.
class FaultyDisk final : public DiskCalls {
 public:
  std::atomic<int> write_error = 0, read_error = 0, reserve_error = 0;  // errno; 0: none
  std::atomic<bool> writes_hang = false, reads_hang = false, reserves_hang = false;
  std::atomic<bool> in_memory = false;  // what is read at once
  std::atomic<bool> can_read_now = true;
  std::atomic<int> writes = 0;  // that have ended

  int Write(int fd, std::uint64_t offset, ByteSpan header, ByteSpan payload) override {
    while (writes_hang) std::this_thread::yield();
    const int error =
        write_error != 0 ? write_error.load() : DiskCalls::Write(fd, offset, header, payload);
    ++writes;
    return error;
  }
  int Read(int fd, std::uint64_t offset, MutableByteSpan into) override {
    while (reads_hang) std::this_thread::yield();
    return read_error != 0 ? read_error.load() : DiskCalls::Read(fd, offset, into);
  }
  int ReadNow(int fd, std::uint64_t offset, MutableByteSpan into) override {
    return in_memory ? DiskCalls::ReadNow(fd, offset, into) : EAGAIN;
  }
  bool CanReadNow(int /*fd*/) override { return can_read_now; }
  int Reserve(int fd, std::uint64_t bytes) override {
    while (reserves_hang) std::this_thread::yield();
    return reserve_error != 0 ? reserve_error.load() : DiskCalls::Reserve(fd, bytes);
  }
};

}  // namespace headrace::dataworker
