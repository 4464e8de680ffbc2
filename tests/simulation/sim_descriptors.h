#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "net/descriptor_channel.h"
#include "tests/simulation/dice.h"
#include "tests/simulation/event_queue.h"
#include "tests/simulation/sim_process.h"
#include "tests/simulation/sim_watches.h"

namespace headrace::simulation {

// The Unix sockets of all hosts by which descriptors are passed. The descriptors are real, the way they
// take is simulated. A pipe stands for each connection: handles on it are its write end, and a trainer
// sees the hang-up when all of them are closed. One thread.
class SimDescriptors {
 public:
  SimDescriptors(EventQueue& events, Dice dice)
      : events_(events), dice_(dice), watches_(events, dice.For("watches")) {}

  // The network as one process sees it; outlived by this.
  [[nodiscard]] std::unique_ptr<net::DescriptorNetwork> Of(std::shared_ptr<SimProcess> process);
  // For what passed descriptors lead to.
  [[nodiscard]] SimWatches& watches() { return watches_; }

 private:
  struct Channel;
  struct Server;
  class View;
  class Listener;
  class Connection;

  void Arrive(const std::shared_ptr<Channel>& channel, std::function<void()> what);
  // The trainer's side lets go.
  void HangUp(const std::shared_ptr<Channel>& channel);
  // Tells the trainer's side when nobody holds the connection any more.
  void WatchEnd(const std::shared_ptr<Channel>& channel);

  EventQueue& events_;
  Dice dice_;
  SimWatches watches_;
  std::map<std::string, std::shared_ptr<Server>> servers_;  // by host and path
  std::uint64_t channels_ = 0;
};

}  // namespace headrace::simulation
