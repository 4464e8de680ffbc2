#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace headrace::client {

// What the trainer waited for. Names and order as in wire::SessionLoad.
enum class WaitCause : std::uint8_t {
  kSampler,  // the program's sampler
  kSource,   // workers read samples, or their sizes
  kCompute,  // workers decode and augment natively
  kPython,   // workers run a Python stage
  kQueue,    // waits for a worker, or for its threads
  kNetwork,  // request and answer on their way
  kCopy,     // the trainer's own part: into the slot, handing over, samples that it makes itself
};
inline constexpr std::size_t kWaitCauses = 7;

struct WaitByCause {
  std::array<Duration, kWaitCauses> of{};

  [[nodiscard]] Duration& operator[](WaitCause cause) {
    return of[static_cast<std::size_t>(cause)];
  }
  [[nodiscard]] Duration operator[](WaitCause cause) const {
    return of[static_cast<std::size_t>(cause)];
  }
  [[nodiscard]] Duration Sum() const {
    Duration sum{};
    for (const Duration each : of) sum += each;
    return sum;
  }
  WaitByCause& operator+=(const WaitByCause& other) {
    for (std::size_t i = 0; i < kWaitCauses; ++i) of[i] += other.of[i];
    return *this;
  }
  friend bool operator==(const WaitByCause&, const WaitByCause&) = default;
};

// The times of one batch's events by the trainer's clock, and durations in the worker, which has
// another clock.
//
//   submitted  served  planned   sent                                       arrived  ready
//   | a worker | sizes | a worker |     queue      |    work    | on its way     | copy |
//                                 |<worker.queue ->|
//                                 |<-------- worker.wall ------>|
struct BatchTimeline {
  SteadyTime submitted{};  // the trainer gave the keys
  SteadyTime served{};     // there was a worker; before `submitted`, as a rule
  SteadyTime planned{};    // sizes known, random numbers drawn
  SteadyTime sent{};       // the request that was answered
  SteadyTime arrived{};    // its answer
  SteadyTime ready{};      // could be handed out
  struct Worker {
    Duration queue{};  // from the request's receipt to the first sample's start
    Duration wall{};   // from the request's receipt to the answer; 0: not told
    // Time of all its threads together.
    Duration source{}, compute{}, python{};
  } worker;
};

// Divides the wait [from, to), which the batch of `timeline` ended. Each moment goes to the work
// that was done for the batch then. So only the end of the batch's time counts, in which the
// trainer was blocked. The parts add up to to - from, to the nanosecond. REQUIRES: from <= to. Any
// timeline will do: one that runs backwards has empty stretches.
[[nodiscard]] WaitByCause DivideWait(SteadyTime from, SteadyTime to, const BatchTimeline& timeline);

}  // namespace headrace::client
