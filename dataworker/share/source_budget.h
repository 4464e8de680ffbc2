#pragma once

#include <cstdint>

#include "base/clock.h"
#include "dataworker/share/debt_bucket.h"

namespace headrace::dataworker {

// What may be read of sources: one rate, for reads that are taken whole and for what sockets receive.
// Both pay for every byte. They differ in what may be saved: a timer of the reactor that wakes whole
// reads may be late on a busy machine, and a socket is to have no more than its rate in any second.
// Pure; thread-compatible.
class SourceBudget {
 public:
  // The most that is saved for sockets: a hundredth of a second's bytes.
  static constexpr Duration kSocketBurst = std::chrono::milliseconds(10);

  // As DebtBucket's.
  void SetRate(std::uint64_t bytes_per_second, SteadyTime now) {
    reads_.SetRate(bytes_per_second, now);
    sockets_.SetRate(bytes_per_second, now);
    rate_ = bytes_per_second;
  }
  void Take(double bytes, SteadyTime now) {
    reads_.Take(bytes, now);
    sockets_.Take(bytes, now);
  }
  [[nodiscard]] bool limited() const { return reads_.limited(); }
  [[nodiscard]] std::uint64_t rate() const { return rate_; }
  [[nodiscard]] Duration InDebt(SteadyTime now) { return reads_.InDebt(now); }
  // When a whole read may begin, and when a socket may receive.
  [[nodiscard]] SteadyTime ReadyAt(SteadyTime now) { return reads_.ReadyAt(now); }
  [[nodiscard]] SteadyTime ReceiveAt(SteadyTime now) { return sockets_.ReadyAt(now); }

 private:
  DebtBucket reads_;
  DebtBucket sockets_{kSocketBurst};
  std::uint64_t rate_ = 0;
};

}  // namespace headrace::dataworker
