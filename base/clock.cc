#include "base/clock.h"

#include <time.h>

namespace headrace {
namespace {

class RealClock final : public Clock {
 public:
  [[nodiscard]] SteadyTime Now() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] std::int64_t WallMillis() const override {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  }
};

}  // namespace

Duration Clock::ThreadCpu() const {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

Clock& Clock::Real() {
  static RealClock clock;
  return clock;
}

}  // namespace headrace
