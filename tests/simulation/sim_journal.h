#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/state/journal.h"
#include "tests/simulation/dice.h"
#include "tests/simulation/event_queue.h"
#include "tests/simulation/sim_process.h"

namespace headrace::simulation {

// The disk of a coordinator: what is on it outlives the coordinator's process. Records become durable
// in groups, late, and the process hears of it later still. If it dies meanwhile, dice say whether the
// group that was being written is there. One thread.
class SimDisk {
 public:
  SimDisk(EventQueue& events, Dice dice, Duration slowest)
      : events_(events), dice_(dice), slowest_(slowest) {}

  // Opens the journal that is there, as coordinator::Journal::Open.
  Result<coordinator::Journal::Opened> Open(std::shared_ptr<SimProcess> process);
  // The process that had it open was killed.
  void OnDeath();
  [[nodiscard]] std::size_t records() const { return records_.size(); }

 private:
  struct Item {
    bool replaces = false;
    std::vector<std::string> bodies;
    std::function<void()> on_durable;
  };
  class Handle;

  void Keep(const Item& item);
  void WriteNext(const std::shared_ptr<SimProcess>& process);

  EventQueue& events_;
  Dice dice_;
  const Duration slowest_;
  std::vector<std::string> records_;
  std::vector<Item> waiting_, writing_;
  std::uint64_t opened_ = 0;  // how often
};

}  // namespace headrace::simulation
