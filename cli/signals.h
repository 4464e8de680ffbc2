#pragma once

#include <cstdint>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace headrace::cli {

// Turns SIGTERM, SIGINT and SIGHUP into a descriptor that becomes readable. Call Block before any
// thread starts, so that all threads inherit the mask. Block also ignores SIGPIPE.
class StopSignals {
 public:
  static Result<StopSignals> Block();
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  explicit StopSignals(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

// A descriptor that is readable when process `pid` has ended. kNotFound: it ended before.
[[nodiscard]] Result<UniqueFd> WatchProcess(std::int64_t pid);

}  // namespace headrace::cli
