#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "net/fault_reactor.h"
#include "net/reactor.h"
#include "tests/simulation/dice.h"
#include "tests/simulation/event_queue.h"
#include "tests/simulation/sim_packet.h"
#include "tests/simulation/sim_process.h"

namespace headrace::simulation {

// How a process's peers hear of its end.
enum class Death : std::uint8_t {
  kProcess,  // the kernel of its host ends its connections at once
  kHost,     // nobody says anything; peers find out seconds later
};

// The network between all processes: connections that keep the order of messages as TCP does, and take
// a time drawn by dice for each of them. In a bad network messages are lost, doubled, late and out of
// order, as in net/fault_reactor.h. Connections break, and hosts are cut off from each other in one
// direction or both: what is sent meanwhile waits, or is lost with its connection.
// Messages are encoded and verified as on a real socket. Outlives all reactors. One thread.
class SimNetwork {
 public:
  SimNetwork(EventQueue& events, Dice dice);
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  void SetRates(const net::FaultRates& rates) { rates_ = rates; }
  // How long a message takes between two hosts.
  void SetLatency(Duration least, Duration most);
  // From now on nothing comes from one host to the other.
  void Cut(const std::string& from, const std::string& to);
  // What waited goes on, or is lost with its connection.
  void Heal();
  // Ends a connection between hosts, drawn by dice, as a reset does: what is under way on it is lost. False: there is
  // none.
  bool BreakOne();
  // The process was killed.
  void OnDeath(const SimProcess& process, Death how);

  // As net::Reactor's.
  Result<std::unique_ptr<net::Socket>> BindRouter(std::shared_ptr<SimProcess> process,
                                                  const std::string& endpoint,
                                                  net::SocketEvents events);
  Result<std::unique_ptr<net::Socket>> ConnectDealer(std::shared_ptr<SimProcess> process,
                                                     const std::string& endpoint,
                                                     net::SocketEvents events);

  // Sees each message when it arrives.
  using Witness = std::function<void(const SimProcess& receiver, const wire::Body& body)>;
  void SetWitness(Witness witness) { witness_ = std::move(witness); }

  [[nodiscard]] EventQueue& events() { return events_; }
  // Bytes that were sent and have not arrived.
  [[nodiscard]] std::size_t bytes_under_way() const { return bytes_; }
  // Messages that were lost though their connections held.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  struct Router;
  struct Dealer;
  struct Connection;
  struct Way;
  class RouterSocket;
  class DealerSocket;

  void Connect(const std::shared_ptr<Dealer>& dealer, Duration after);
  void TryConnect(const std::shared_ptr<Dealer>& dealer);
  // Hands a packet to one way of a connection, which may lose or repeat it.
  void Pass(const std::shared_ptr<Connection>& connection, bool up, SimPacket packet);
  void Carry(const std::shared_ptr<Connection>& connection, bool up, SimPacket packet,
             Duration later);
  void Arrive(const std::shared_ptr<Connection>& connection, bool up, SimPacket packet);
  // Tells one side of a connection that it has ended, after what is under way to it.
  void TellEnd(const std::shared_ptr<Connection>& connection, bool up, Duration after);
  void OnEnd(const std::shared_ptr<Connection>& connection, bool up);
  void Close(Router& router);
  void Close(Dealer& dealer);
  // Ends it for both sides at once.
  void Reset(const std::shared_ptr<Connection>& connection);
  // A side of a connection is gone.
  void Leave(const std::shared_ptr<Connection>& connection, bool tell_up, Death how);
  [[nodiscard]] bool CutOff(const Connection& connection, bool up) const;
  [[nodiscard]] Duration Latency(const Connection& connection);
  void Ended(SimPacket& packet, Way& way);

  EventQueue& events_;
  Dice dice_;
  net::FaultRates rates_;
  Witness witness_;
  Duration least_ = std::chrono::microseconds(20);
  Duration most_ = std::chrono::microseconds(500);
  std::set<std::pair<std::string, std::string>> cut_;
  std::map<std::string, std::shared_ptr<Router>> bound_;
  std::map<std::uint64_t, std::weak_ptr<Dealer>> dealers_;
  std::map<std::uint64_t, std::shared_ptr<Connection>> connections_;
  std::deque<std::function<void()>> held_;  // for a healed network
  std::uint64_t numbers_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace headrace::simulation
