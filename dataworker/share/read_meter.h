#pragma once

#include <cstdint>

#include "base/ids.h"
#include "dataworker/share/work_queue.h"
#include "remote/meter.h"

namespace headrace::dataworker {

// Has a job pay from its source limits for what sockets receive for it. The queue outlives the client of
// objects. Thread-safe.
class ReadMeter final : public remote::Meter {
 public:
  ReadMeter(WorkQueue& queue, Clock& clock, JobId job) : queue_(queue), clock_(clock), job_(job) {}

  [[nodiscard]] std::uint64_t Rate() override { return queue_.MayReceive(job_, clock_.Now()).rate; }
  [[nodiscard]] SteadyTime ReadyAt(SteadyTime now) override {
    return queue_.MayReceive(job_, now).at;
  }
  // The account of what was read is kept where rows are answered.
  void Take(std::int64_t bytes, SteadyTime now) override {
    if (bytes != 0) queue_.SettleAhead(job_, -static_cast<double>(bytes), 0, now);
  }

 private:
  WorkQueue& queue_;
  Clock& clock_;
  const JobId job_;
};

}  // namespace headrace::dataworker
