#pragma once

#include <cstdint>
#include <string>

#include "base/buffer.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace headrace::client {

// A file on this host of which a plan names ranges. Thread-compatible.
class LocalFile {
 public:
  // Opens a regular file. Waits some milliseconds for one that was just written: what is written later
  // changes its version then. kNotFound and others: as the system says. kInvalidArgument: no regular file.
  static Result<LocalFile> Open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }  // absolute
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const std::string& version() const { return version_; }  // wire::VersionOfFile
  // Reads bytes; fewer at the end of the file. kUnavailable and others: as the system says.
  [[nodiscard]] Result<Bytes> Read(std::uint64_t first, std::uint64_t bytes) const;
  // kUnavailable: the file has another version than when it was opened.
  [[nodiscard]] Status CheckSame() const;

 private:
  std::string path_;
  UniqueFd fd_;
  std::uint64_t size_ = 0;
  std::string version_;
};

}  // namespace headrace::client
