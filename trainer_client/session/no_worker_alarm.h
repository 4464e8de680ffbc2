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
    // Without any ready worker for so long, Next says so.
    Duration timeout = std::chrono::seconds(10);
    // For so long after the start a worker that is given the lanes may still come, and that all
    // others refuse is no answer.
    Duration reference_patience{};
    // What the trainer can do.
    std::string remedy;
  };

  explicit NoWorkerAlarm(Options options) : options_(std::move(options)) {}

  void Start(SteadyTime now) { since_ = started_ = now; }
  // What Next is to say now; ok: nothing. `ready`: workers that make batches.
  [[nodiscard]] Status Check(const WorkerSet& workers, std::size_t ready, SteadyTime now);

 private:
  Options options_;
  SteadyTime started_{};
  SteadyTime since_{};  // no worker, and none that comes
};

}  // namespace headrace::client
