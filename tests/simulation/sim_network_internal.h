#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "tests/simulation/sim_network.h"

// The state of the simulated network. Sockets and events on their way share it.
namespace headrace::simulation {

// As ZMQ_RECONNECT_IVL in net/zmq_socket.cc.
inline constexpr Duration kConnectAgain = std::chrono::milliseconds(50);

// One way of a connection.
struct SimNetwork::Way {
  std::size_t messages = 0, bytes = 0;  // under way
  SteadyTime last{};                    // when the last one arrives
  SteadyTime lost_from = SteadyTime::max();
  bool open = true;  // the receiver has not heard of the end
};

struct SimNetwork::Router {
  std::shared_ptr<SimProcess> process;
  std::string endpoint;
  net::SocketEvents events;
  std::map<std::string, std::shared_ptr<Connection>, std::less<>> peers;
  bool closed = false;
};

struct SimNetwork::Dealer {
  std::uint64_t number = 0;
  std::shared_ptr<SimProcess> process;
  std::string endpoint;
  net::SocketEvents events;
  std::shared_ptr<Connection> connection;  // null: it is being made
  std::deque<SimPacket> waiting;           // for the first connection, or the next one
  std::size_t waiting_bytes = 0;
  Duration again = kConnectAgain;
  bool closed = false;
};

struct SimNetwork::Connection {
  std::uint64_t number = 0;
  std::string identity;
  std::shared_ptr<Dealer> dealer;
  std::shared_ptr<Router> router;
  Way up, down;  // to the router, to the dealer
  bool live = true;

  [[nodiscard]] Way& way(bool is_up) { return is_up ? up : down; }
  [[nodiscard]] bool in_host() const { return dealer->process->host() == router->process->host(); }
};

}  // namespace headrace::simulation
