#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace headrace::cli {

// The directory of an embedded coordinator: its sockets, its workers' sockets and the file `ready`.
// Removed with everything in it when the object goes. Thread-compatible.
class PrivateDirectory {
 public:
  // Takes an existing directory or makes it, mode 0700. kInvalidArgument: not ours, open to others,
  // or too long a path for a Unix socket.
  static Result<PrivateDirectory> Take(std::string path);
  PrivateDirectory(PrivateDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateDirectory& operator=(PrivateDirectory&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~PrivateDirectory();

  // Writes DIR/ready with the endpoint, at once: whoever sees the file sees all of it.
  [[nodiscard]] Status WriteReady(const std::string& endpoint) const;

 private:
  explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace headrace::cli
