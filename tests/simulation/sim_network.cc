#include "tests/simulation/sim_network.h"

#include <algorithm>
#include <string_view>

#include "tests/simulation/sim_network_internal.h"

namespace headrace::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// As ZeroMQ's sockets are set in net/zmq_socket.cc.
constexpr Duration kConnectAgainMost = seconds(2);
// How long the peers of a dead host believe that it lives.
constexpr Duration kSilentLeast = seconds(1);
constexpr Duration kSilentMost = seconds(25);  // keep-alive: 10 s and 3 times 5 s
constexpr Duration kInHost = microseconds(20);
// Of the connections on which messages wait for a healed network, those that do not survive.
constexpr double kBrokenMeanwhile = 0.3;
// Of the dead processes' connections, those on which messages were lost that had been sent before.
constexpr double kTailLost = 0.5;

bool IsTcp(std::string_view endpoint) { return endpoint.starts_with("tcp://"); }
Status CheckAddress(const std::string& endpoint) {
  if (IsTcp(endpoint) || endpoint.starts_with("ipc://")) return Status::Ok();
  return InvalidArgument("no address of the simulation: " + endpoint);
}
Status Stopped() { return Unavailable("the reactor has stopped"); }
Status Room(std::size_t messages, std::size_t bytes, const SimPacket& next, std::size_t most) {
  const bool full = messages >= net::kMaxQueuedMessages || (bytes > 0 && bytes + next.bytes > most);
  return full ? Unavailable("the queue to the peer is full") : Status::Ok();
}

}  // namespace

class SimNetwork::RouterSocket final : public net::Socket {
 public:
  RouterSocket(SimNetwork& network, std::shared_ptr<Router> router)
      : network_(network), router_(std::move(router)) {}
  ~RouterSocket() override { network_.Close(*router_); }

  Status Send(std::string_view peer, const wire::Body& body,
              std::vector<net::PayloadFrame> payload) override {
    if (router_->closed || !router_->process->alive()) return Stopped();
    const auto found = router_->peers.find(peer);
    if (found == router_->peers.end()) return NotFound("the peer is gone");
    const std::shared_ptr<Connection> connection = found->second;
    HR_TRY(SimPacket packet, SimPacket::Make(body, std::move(payload)));
    const Way& way = connection->down;
    HR_RETURN_IF_ERROR(Room(way.messages, way.bytes, packet, net::kMaxRouterQueuedBytes));
    network_.Pass(connection, false, std::move(packet));
    return Status::Ok();
  }
  [[nodiscard]] const std::string& endpoint() const override { return router_->endpoint; }

 private:
  SimNetwork& network_;
  const std::shared_ptr<Router> router_;
};

class SimNetwork::DealerSocket final : public net::Socket {
 public:
  DealerSocket(SimNetwork& network, std::shared_ptr<Dealer> dealer)
      : network_(network), dealer_(std::move(dealer)) {}
  ~DealerSocket() override { network_.Close(*dealer_); }

  Status Send(std::string_view /*peer*/, const wire::Body& body,
              std::vector<net::PayloadFrame> payload) override {
    if (dealer_->closed || !dealer_->process->alive()) return Stopped();
    HR_TRY(SimPacket packet, SimPacket::Make(body, std::move(payload)));
    const std::shared_ptr<Connection> connection = dealer_->connection;
    const std::size_t messages = connection ? connection->up.messages : dealer_->waiting.size();
    const std::size_t bytes = connection ? connection->up.bytes : dealer_->waiting_bytes;
    HR_RETURN_IF_ERROR(Room(messages, bytes, packet, net::kMaxDealerQueuedBytes));
    if (connection) {
      network_.Pass(connection, true, std::move(packet));
    } else {
      dealer_->waiting_bytes += packet.bytes;
      dealer_->waiting.push_back(std::move(packet));
    }
    return Status::Ok();
  }
  [[nodiscard]] const std::string& endpoint() const override { return none_; }

 private:
  SimNetwork& network_;
  const std::shared_ptr<Dealer> dealer_;
  const std::string none_;
};

SimNetwork::SimNetwork(EventQueue& events, Dice dice) : events_(events), dice_(dice) {}

SimNetwork::~SimNetwork() {
  // Dealers, connections and routers refer to each other.
  for (auto& [number, connection] : connections_) {
    connection->dealer->connection.reset();
    connection->router->peers.clear();
  }
}

void SimNetwork::SetLatency(Duration least, Duration most) {
  least_ = least;
  most_ = most;
}

Result<std::unique_ptr<net::Socket>> SimNetwork::BindRouter(std::shared_ptr<SimProcess> process,
                                                            const std::string& endpoint,
                                                            net::SocketEvents events) {
  HR_RETURN_IF_ERROR(CheckAddress(endpoint));
  if (bound_.contains(endpoint)) return Unavailable(endpoint + " is in use");
  auto router = std::make_shared<Router>();
  router->process = std::move(process);
  router->endpoint = endpoint;
  router->events = std::move(events);
  bound_[endpoint] = router;
  return std::unique_ptr<net::Socket>(std::make_unique<RouterSocket>(*this, std::move(router)));
}

Result<std::unique_ptr<net::Socket>> SimNetwork::ConnectDealer(std::shared_ptr<SimProcess> process,
                                                               const std::string& endpoint,
                                                               net::SocketEvents events) {
  HR_RETURN_IF_ERROR(CheckAddress(endpoint));
  auto dealer = std::make_shared<Dealer>();
  dealer->number = ++numbers_;
  dealer->process = std::move(process);
  dealer->endpoint = endpoint;
  dealer->events = std::move(events);
  dealers_[dealer->number] = dealer;
  Connect(dealer, dice_.Between(least_, most_));
  return std::unique_ptr<net::Socket>(std::make_unique<DealerSocket>(*this, std::move(dealer)));
}

void SimNetwork::Connect(const std::shared_ptr<Dealer>& dealer, Duration after) {
  events_.After(after, [this, weak = std::weak_ptr(dealer)] {
    if (const auto alive = weak.lock()) TryConnect(alive);
  });
}

void SimNetwork::TryConnect(const std::shared_ptr<Dealer>& dealer) {
  if (dealer->closed || !dealer->process->alive() || dealer->connection) return;
  const auto found = bound_.find(dealer->endpoint);
  const std::string& from = dealer->process->host();
  const bool reached = found != bound_.end() && found->second->process->alive() &&
                       !cut_.contains({from, found->second->process->host()}) &&
                       !cut_.contains({found->second->process->host(), from});
  if (!reached) {
    Connect(dealer, dealer->again);
    dealer->again = std::min(dealer->again * 2, kConnectAgainMost);
    return;
  }
  dealer->again = kConnectAgain;
  auto connection = std::make_shared<Connection>();
  connection->number = ++numbers_;
  connection->identity = "peer " + std::to_string(connection->number);
  connection->dealer = dealer;
  connection->router = found->second;
  connections_[connection->number] = connection;
  connection->router->peers[connection->identity] = connection;
  dealer->connection = connection;
  events_.Note("connected", connection->number, dealer->number);
  dealer->waiting_bytes = 0;
  for (SimPacket& packet : std::exchange(dealer->waiting, {})) {
    Pass(connection, true, std::move(packet));
  }
}

Duration SimNetwork::Latency(const Connection& connection) {
  return connection.in_host() ? dice_.Between(kInHost / 4, kInHost * 4)
                              : dice_.Between(least_, most_);
}

void SimNetwork::Pass(const std::shared_ptr<Connection>& connection, bool up, SimPacket packet) {
  if (dice_.Happens(rates_.drop)) {
    ++lost_;
    events_.Note("lost", connection->number, up);
    return;
  }
  const int copies = dice_.Happens(rates_.duplicate) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    const bool late = dice_.Happens(rates_.delay);
    const bool swapped = !late && dice_.Happens(rates_.reorder);
    const Duration most = std::max<Duration>(rates_.max_delay, microseconds(1));
    Carry(connection, up, packet,
          late      ? dice_.Between(Duration(1), most)
          : swapped ? dice_.Between(Duration(1), most_ * 4)
                    : Duration::zero());
  }
}

void SimNetwork::Carry(const std::shared_ptr<Connection>& connection, bool up, SimPacket packet,
                       Duration later) {
  Way& way = connection->way(up);
  const Duration takes = Latency(*connection);
  SteadyTime when = events_.Now() + takes + later;
  if (later == Duration::zero()) when = way.last = std::max(when, way.last);
  ++way.messages;
  way.bytes += packet.bytes;
  bytes_ += packet.bytes;
  events_.At(when, [this, connection, up, packet = std::move(packet)]() mutable {
    Arrive(connection, up, std::move(packet));
  });
}

void SimNetwork::Ended(SimPacket& packet, Way& way) {
  --way.messages;
  way.bytes -= packet.bytes;
  bytes_ -= packet.bytes;
}

void SimNetwork::Arrive(const std::shared_ptr<Connection>& connection, bool up, SimPacket packet) {
  Way& way = connection->way(up);
  if (!way.open || events_.Now() >= way.lost_from) {
    Ended(packet, way);
    return;
  }
  if (CutOff(*connection, up)) {
    held_.push_back([this, connection, up, packet = std::move(packet)]() mutable {
      Arrive(connection, up, std::move(packet));
    });
    return;
  }
  Ended(packet, way);
  const std::shared_ptr<SimProcess> process =
      up ? connection->router->process : connection->dealer->process;
  events_.Note("message", connection->number * 2 + (up ? 1 : 0), HashBytes(packet.message->body));
  process->Run([this, connection, up, packet = std::move(packet)] {
    // The state outlives the socket, which may go inside its own callback.
    const bool gone = up ? connection->router->closed : connection->dealer->closed;
    if (gone || !connection->way(up).open) return;
    const net::SocketEvents& to = up ? connection->router->events : connection->dealer->events;
    net::Incoming incoming;
    if (up) incoming.peer = connection->identity;
    if (const Status read = packet.Read(incoming); !read.ok()) {
      if (to.on_invalid) to.on_invalid(incoming.peer, read);
      return;
    }
    incoming.from_this_user = !IsTcp(connection->router->endpoint);
    if (events_.aloud()) {
      const std::string& dealer = connection->dealer->process->name();
      const std::string& router = connection->router->process->name();
      events_.Say("  " + (up ? dealer + " -> " + router : router + " -> " + dealer) + ": " +
                  DescribeMessage(incoming.body));
    }
    if (witness_)
      witness_(up ? *connection->router->process : *connection->dealer->process, incoming.body);
    if (to.on_message) to.on_message(std::move(incoming));
  });
}

bool SimNetwork::CutOff(const Connection& connection, bool up) const {
  const std::string& a = connection.dealer->process->host();
  const std::string& b = connection.router->process->host();
  return cut_.contains(up ? std::pair(a, b) : std::pair(b, a));
}

void SimNetwork::Cut(const std::string& from, const std::string& to) {
  if (from == to) return;
  events_.Note("cut", HashBytes(AsBytes(from)), HashBytes(AsBytes(to)));
  events_.Say("  cut " + from + " -> " + to);
  cut_.emplace(from, to);
}

void SimNetwork::Heal() {
  if (cut_.empty()) return;
  events_.Note("healed");
  // Those that were cut off long enough are ended by one of their kernels.
  for (const auto& [number, connection] : std::map(connections_)) {
    if (!CutOff(*connection, true) && !CutOff(*connection, false)) continue;
    if (!dice_.Happens(kBrokenMeanwhile)) continue;
    Reset(connection);
  }
  cut_.clear();
  for (auto& arrive : std::exchange(held_, {})) arrive();
}

bool SimNetwork::BreakOne() {
  std::vector<std::shared_ptr<Connection>> between;
  for (const auto& [number, connection] : connections_) {
    if (!connection->in_host()) between.push_back(connection);
  }
  if (between.empty()) return false;
  const std::shared_ptr<Connection> connection = between[dice_.Below(between.size())];
  events_.Note("broken", connection->number);
  events_.Say("  broken: " + connection->dealer->process->name() + " -> " +
              connection->router->process->name());
  Reset(connection);
  return true;
}

void SimNetwork::Reset(const std::shared_ptr<Connection>& connection) {
  connection->up.lost_from = connection->down.lost_from = events_.Now();
  Leave(connection, true, Death::kProcess);
  TellEnd(connection, false, Duration::zero());
}

void SimNetwork::Leave(const std::shared_ptr<Connection>& connection, bool tell_up, Death how) {
  connections_.erase(connection->number);
  const Duration after =
      how == Death::kHost ? dice_.Between(kSilentLeast, kSilentMost) : Duration::zero();
  TellEnd(connection, tell_up, after);
}

void SimNetwork::TellEnd(const std::shared_ptr<Connection>& connection, bool up, Duration after) {
  const Way& way = connection->way(up);
  const SteadyTime sent = std::max(events_.Now(), std::min(way.last, way.lost_from));
  events_.At(sent + Latency(*connection) + after,
             [this, connection, up] { OnEnd(connection, up); });
}

void SimNetwork::OnEnd(const std::shared_ptr<Connection>& connection, bool up) {
  Way& way = connection->way(up);
  if (!way.open) return;
  if (CutOff(*connection, up)) {
    held_.push_back([this, connection, up] { OnEnd(connection, up); });
    return;
  }
  const std::shared_ptr<SimProcess> process =
      up ? connection->router->process : connection->dealer->process;
  process->Run([this, connection, up] {
    if (!connection->way(up).open) return;
    connection->way(up).open = false;
    events_.Note("ended", connection->number, up);
    if (up) {
      connection->router->peers.erase(connection->identity);
      return;
    }
    const std::shared_ptr<Dealer> dealer = connection->dealer;
    if (dealer->closed || dealer->connection != connection) return;
    dealer->connection.reset();
    Connect(dealer, kConnectAgain);
    if (dealer->events.on_disconnected) dealer->events.on_disconnected();
  });
}

void SimNetwork::Close(Router& router) {
  if (router.closed) return;
  router.closed = true;
  const auto found = bound_.find(router.endpoint);
  if (found != bound_.end() && found->second.get() == &router) bound_.erase(found);
  for (auto& [identity, connection] : std::exchange(router.peers, {})) {
    if (connections_.contains(connection->number)) Leave(connection, false, Death::kProcess);
  }
}

void SimNetwork::Close(Dealer& dealer) {
  if (dealer.closed) return;
  dealer.closed = true;
  dealers_.erase(dealer.number);
  const std::shared_ptr<Connection> connection = std::exchange(dealer.connection, nullptr);
  if (connection && connections_.contains(connection->number)) {
    Leave(connection, true, Death::kProcess);
  }
}

void SimNetwork::OnDeath(const SimProcess& process, Death how) {
  // Its own kernel is gone or closes them: nobody can connect any more.
  std::erase_if(bound_, [&](const auto& entry) { return entry.second->process.get() == &process; });
  for (const auto& [number, connection] : std::map(connections_)) {
    const bool server = connection->router->process.get() == &process;
    if (!server && connection->dealer->process.get() != &process) continue;
    Way& sent = connection->way(!server);
    if (how == Death::kHost || dice_.Happens(kTailLost)) {
      sent.lost_from = events_.Now() + dice_.Between(Duration::zero(), most_);
    }
    connection->way(server).open = false;  // nothing arrives there
    Leave(connection, !server, how);
  }
}

}  // namespace headrace::simulation
