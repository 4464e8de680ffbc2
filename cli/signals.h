#pragma once

#include <cstdint>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace headrace::cli {

// SIGTERM, SIGINT and SIGHUP as a descriptor that becomes readable. Block before any thread starts,
// so that all threads inherit the mask. Also ignores SIGPIPE.
class StopSignals {
 public:
  static Result<StopSignals> Block();
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  explicit StopSignals(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

// Readable when process `pid` has ended. kNotFound: it has already.
[[nodiscard]] Result<UniqueFd> WatchProcess(std::int64_t pid);

}  // namespace headrace::cli
