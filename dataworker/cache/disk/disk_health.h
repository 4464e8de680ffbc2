#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"

namespace headrace::dataworker {

// Whether a disk is left alone for a while because it has failed. Thread-safe.
class DiskHealth {
 public:
  explicit DiskHealth(Duration rest) : rest_(rest) {}

  // Begins a rest, unless there is one. Each rest is one line of the log.
  void Fail(const Status& status) {
    const std::int64_t now = Now();
    std::int64_t until = until_;
    if (now < until || !until_.compare_exchange_strong(until, now + rest_.count())) return;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(rest_).count();
    LogWarning("the disk cache takes and gives nothing for " + std::to_string(seconds) +
               " s: " + status.message());
  }
  [[nodiscard]] bool rests() const { return Now() < until_; }

 private:
  [[nodiscard]] static std::int64_t Now() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<Duration>(now).count();
  }
  const Duration rest_;
  std::atomic<std::int64_t> until_ = 0;  // of the steady clock
};

}  // namespace headrace::dataworker
