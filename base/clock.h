#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace headrace {

using Duration = std::chrono::nanoseconds;
// Monotonic; comparable within one process only.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// The only source of time. Passed in by constructor so that tests can hold it still. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual SteadyTime Now() const = 0;
  // Milliseconds since the Unix epoch.
  [[nodiscard]] virtual std::int64_t WallMillis() const = 0;
  // User and system time of the calling thread. It grows slower than Now when other threads have
  // the core. Comparable within one thread only.
  [[nodiscard]] virtual Duration ThreadCpu() const;
  // The process-wide real clock.
  static Clock& Real();
};

// A clock that moves only when told, by one thread.
class FakeClock final : public Clock {
 public:
  [[nodiscard]] SteadyTime Now() const override { return SteadyTime(Duration(now_.load())); }
  [[nodiscard]] std::int64_t WallMillis() const override {
    return 1'700'000'000'000 +
           std::chrono::duration_cast<std::chrono::milliseconds>(Now().time_since_epoch()).count();
  }
  // The thread has its core all the time.
  [[nodiscard]] Duration ThreadCpu() const override { return Duration(now_.load()); }
  void Advance(Duration by) { now_ += by.count(); }

 private:
  std::atomic<Duration::rep> now_ = 0;  // ns
};

}  // namespace headrace
