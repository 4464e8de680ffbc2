#pragma once

#include <cstddef>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "trainer_client/include/headrace/client.h"
#include "trainer_client/session/worker_set.h"

namespace headrace::client {

// Decides what a session without any ready worker does (NoWorkers). No I/O, no clock. Reactor
// thread.
class WithoutWorkers {
 public:
  // A line is said again after this long.
  static constexpr Duration kSayAgain = std::chrono::seconds(60);

  struct Options {
    NoWorkers then = NoWorkers::kFail;
    // Whether the trainer can make each sample by itself: those of a native plan.
    bool trainer_can = false;
    // With kFail, and before a first worker: Next reports that no worker was ready for this long.
    Duration timeout = std::chrono::seconds(10);
    // With kLocal: the trainer makes the samples after this long.
    Duration patience = std::chrono::seconds(3);
    // For this long after the start, a worker that is given the lanes may still come. Until then
    // the refusal of all others is not reported.
    Duration reference_patience{};
    // What the trainer can do about it.
    std::string remedy;

    [[nodiscard]] static Options For(const ClientOptions& client, const SessionOptions& session,
                                     bool trainer_can);
  };
  struct Decision {
    Status error;                // for Next, once
    bool trainer_makes = false;  // what is asked for now is left to the trainer
    std::string say;             // a line for people; empty: none
  };

  explicit WithoutWorkers(Options options) : options_(std::move(options)) {}

  void Start(SteadyTime now) { since_ = started_ = now; }
  // `ready`: the number of workers that make batches.
  [[nodiscard]] Decision Check(const WorkerSet& workers, std::size_t ready, SteadyTime now);

 private:
  [[nodiscard]] static std::string Why(const WorkerSet& workers);
  [[nodiscard]] bool SaysNow(SteadyTime now);

  Options options_;
  SteadyTime started_{};
  SteadyTime since_{};  // since when there is no worker, and none comes
  SteadyTime said_{};   // the last line of this time without workers
  bool had_one_ = false;
  bool told_ = false;  // a line of this time without workers was said
};

}  // namespace headrace::client
