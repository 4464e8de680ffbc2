#pragma once

#include <cstddef>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "trainer_client/session/worker_set.h"

namespace headrace::client {

// Says when a session has been without any ready worker for too long, and why. No I/O, no clock.
// Reactor thread.
class NoWorkerAlarm {
 public:
  struct Options {
    // Next reports that no worker was ready for this long.
    Duration timeout = std::chrono::seconds(10);
    // For this long after the start, a worker that is given the lanes may still come. Until then
    // the refusal of all others is not reported.
    Duration reference_patience{};
    // What the trainer can do about it.
    std::string remedy;
  };

  explicit NoWorkerAlarm(Options options) : options_(std::move(options)) {}

  void Start(SteadyTime now) { since_ = started_ = now; }
  // Returns what Next is to say now; ok: nothing. `ready`: the number of workers that make batches.
  [[nodiscard]] Status Check(const WorkerSet& workers, std::size_t ready, SteadyTime now);

 private:
  Options options_;
  SteadyTime started_{};
  SteadyTime since_{};  // since when there is no worker, and none comes
};

}  // namespace headrace::client
