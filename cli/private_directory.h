#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace headrace::cli {

// The directory of an embedded coordinator: its sockets, its workers' sockets and the file `ready`.
// The destructor removes the directory with everything in it. Thread-compatible.
class PrivateDirectory {
 public:
  // Takes an existing directory or makes it, mode 0700. kInvalidArgument: it is not ours, it is
  // open to others, or its path is too long for a Unix socket.
  static Result<PrivateDirectory> Take(std::string path);
  PrivateDirectory(PrivateDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateDirectory& operator=(PrivateDirectory&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~PrivateDirectory();

  // Writes DIR/ready with the endpoint in one step: a reader sees all of the file or none.
  [[nodiscard]] Status WriteReady(const std::string& endpoint) const;

 private:
  explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace headrace::cli
