#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/buffer.h"
#include "base/result.h"
#include "dataworker/source/files/sample_file.h"

namespace headrace::dataworker {

// A file that is opened once and stays open, as the program's memory map of it does: a read takes two
// calls of the kernel in place of five. Thread-safe.
class KeptFile {
 public:
  // `version`: its state when the plan was made (wire::VersionOfFile). In another one it is refused.
  // `opener` outlives this.
  KeptFile(std::string path, std::string version, const Opener& opener)
      : path_(std::move(path)), version_(std::move(version)), opener_(opener) {}
  ~KeptFile();
  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // Fills `out` with the file's bytes from `first` on. kUnavailable: the file is in another state than
  // the plan says, also where it changed during the read; or it ends before. Where the call may not wait
  // and gives up (Pace), the result means nothing.
  Status Read(std::uint64_t first, MutableByteSpan out, Pace& pace) const;

 private:
  [[nodiscard]] Result<int> Descriptor(Pace& pace) const;
  [[nodiscard]] Status CheckState(int fd) const;

  const std::string path_, version_;
  const Opener& opener_;
  mutable std::atomic<int> fd_ = -1;
};

}  // namespace headrace::dataworker
