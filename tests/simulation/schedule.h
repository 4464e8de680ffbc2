#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/fault_reactor.h"
#include "tests/simulation/sim_program.h"
#include "tests/simulation/sim_world.h"

namespace headrace::simulation {

// Something that goes wrong at a moment, for a while.
struct Fault {
  enum class Kind : std::uint8_t {
    kWorkerDies,    // and another one is started after a while
    kWorkerStops,   // as by SIGSTOP, and goes on
    kWorkerLeaves,  // and another one is started
    kAllWorkersDie,
    kCoordinatorDies,
    kCoordinatorStops,
    kConnectionBreaks,
    kHostsCutOff,  // from each other, in one direction or both
    kProgramDies,
    kProgramStops,
    kLaneStops,  // a process that runs a program's code
  };
  static constexpr std::uint64_t kKinds = 11;
  Kind kind = Kind::kWorkerDies;
  Duration at{};     // from the start
  Duration lasts{};  // then it is over
  std::uint64_t which = 0;
  bool silent = false;        // Death::kHost; both directions
  bool same_address = false;  // of the worker that comes after it
};

// A world and all that happens to it; the seed decides it. A value.
struct Schedule {
  SimWorld::Options world;
  std::vector<SimWorld::WorkerPlace> workers;
  std::vector<SimProgram::Options> programs;
  std::vector<Duration> program_starts;
  net::FaultRates rates;
  Duration least_latency{}, most_latency{};
  std::vector<Fault> faults;  // in the order of their begin
  Duration healed{};          // from then on nothing goes wrong

  [[nodiscard]] static Schedule Of(std::uint64_t seed);
  // With programs whose code runs in lanes, on their own host.
  [[nodiscard]] static Schedule OfLanes(std::uint64_t seed);
  // For people, with what is `aloud`.
  [[nodiscard]] std::string Describe() const;
};
[[nodiscard]] const char* NameOf(Fault::Kind kind);

}  // namespace headrace::simulation
