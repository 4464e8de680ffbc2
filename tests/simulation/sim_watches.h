#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "tests/simulation/dice.h"
#include "tests/simulation/event_queue.h"
#include "tests/simulation/sim_process.h"

namespace headrace::simulation {

// The descriptors that processes wait for: the sockets between workers and the lanes' processes, which
// are real. After each event the kernel is asked which of them can be read, and whoever waits for one
// hears of it a moment later. Nothing depends on the numbers of descriptors. One thread.
class SimWatches {
 public:
  SimWatches(EventQueue& events, Dice dice);

  // REQUIRES: nobody watches it.
  void Watch(int fd, std::shared_ptr<SimProcess> process, std::function<void()> on_readable);
  void Unwatch(int fd);

 private:
  struct Watched;
  void Look();

  EventQueue& events_;
  Dice dice_;
  std::map<std::uint64_t, std::shared_ptr<Watched>> watched_;  // in the order in which they came
  std::map<int, std::uint64_t> numbers_;
  std::uint64_t last_ = 0;
};

}  // namespace headrace::simulation
