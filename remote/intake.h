#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "remote/meter.h"
#include "remote/receive_window.h"

namespace headrace::remote {

// What one transfer receives, at the cost of its meter: heads, bodies of errors and of vain tries too.
// It also keeps the transfer's time, since time for which bytes were there and not read is not the
// store's. The client's thread.
class Intake {
 public:
  // `buffer`: as ReceiveWindow's.
  Intake(std::shared_ptr<Meter> meter, std::uint64_t buffer, SteadyTime now)
      : meter_(std::move(meter)), window_(buffer), heard_(now) {}

  [[nodiscard]] Meter& meter() const { return *meter_; }
  void Begin(std::uint64_t expected, SteadyTime now) { meter_->Take(window_.Begin(expected), now); }
  void OnHeadBytes(std::uint64_t bytes, SteadyTime now) {
    heard_ = now;
    meter_->Take(static_cast<std::int64_t>(bytes), now);
  }
  // `length`: of the body, if the head says it.
  void OnHead(std::optional<std::uint64_t> length, SteadyTime now) {
    answered_ = true;
    if (length) meter_->Take(window_.OnLength(*length), now);
  }
  // True: it is held from now on. With a limit that is after each read that leaves something to pay for.
  bool OnBody(std::uint64_t bytes, SteadyTime now) {
    heard_ = looked_ = now;
    meter_->Take(window_.OnRead(bytes), now);
    held_ = !window_.ends() && meter_->Rate() > 0;
    return held_;
  }
  // The transfer has ended; `well`: with a whole answer.
  void End(bool well, SteadyTime now) { meter_->Take(window_.End(well || !answered_), now); }

  [[nodiscard]] bool held() const { return held_; }
  // Somebody looked whether it could read. Returns for how long it could, and was held. REQUIRES: held().
  Duration OnLook(bool readable, SteadyTime now) {
    const Duration since = now - std::exchange(looked_, now);
    if (!readable) return {};
    heard_ = now;
    return since;
  }
  // It may read once, which is paid for.
  void Resume(SteadyTime now) {
    held_ = false;
    meter_->Take(window_.Allow(), now);
  }
  // When something came last, or was there to be read.
  [[nodiscard]] SteadyTime heard() const { return heard_; }

 private:
  const std::shared_ptr<Meter> meter_;
  ReceiveWindow window_;
  SteadyTime heard_;
  SteadyTime looked_{};  // while it is held
  bool answered_ = false;
  bool held_ = false;
};

}  // namespace headrace::remote
