#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"

// Opening and reading files, with or without waiting for their device.
namespace headrace::dataworker {

// ErrnoStatus of a sample's file: kNoFile, if there is none.
[[nodiscard]] Status FileStatus(int error_number, const std::string& path);

// How far a call may go, and how far it would have had to go.
struct Pace {
  bool may_wait = true;
  // Set by calls that may not wait. Their result then means nothing.
  bool would_wait = false;   // the device must be asked
  bool cannot_tell = false;  // the kernel does not say whether it must

  [[nodiscard]] bool given_up() const { return would_wait || cannot_tell; }
};

class File {
 public:
  File() = default;
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

// Opens what paths name; with allowed roots (real paths), only what lies in one of them.
// Thread-safe.
class Opener {
 public:
  explicit Opener(std::vector<std::string> roots) : roots_(std::move(roots)) {}

  // Opens a file for reading. A FIFO does not hang the thread.
  [[nodiscard]] Result<File> Open(const std::string& path, Pace& pace) const;
  // The state of a file, without opening it for reading.
  Status Stat(const std::string& path, struct stat& st, Pace& pace) const;

 private:
  // Opened for fstat only, and checked against the roots.
  [[nodiscard]] Result<File> Place(const std::string& path, Pace& pace) const;

  const std::vector<std::string> roots_;
  mutable std::atomic<bool> warned_{false};
};

// Reads the file's bytes from `first` on: fewer at its end. `path` is for the message.
[[nodiscard]] Result<std::size_t> ReadFrom(int fd, std::uint64_t first, MutableByteSpan out,
                                           const std::string& path, Pace& pace);
// Whether [from, to) is in memory, so that a read of it does not wait; looks at one byte a page
// range of 64 KiB, because the kernel reads at least that far ahead. Sets `pace` if not.
void CheckInMemory(int fd, std::size_t from, std::size_t to, Pace& pace);

}  // namespace headrace::dataworker
