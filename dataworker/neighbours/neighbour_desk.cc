#include "dataworker/neighbours/neighbour_desk.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "net/user_socket.h"

namespace headrace::dataworker {
namespace {

constexpr Duration kPause = std::chrono::milliseconds(100);

}  // namespace

Result<std::unique_ptr<NeighbourDesk>> NeighbourDesk::Open(net::Reactor& reactor, std::string path,
                                                           const NeighbourGround& ground,
                                                           OnAsk on_ask) {
  HR_TRY(UniqueFd listener, net::ListenForUser(path));
  return std::unique_ptr<NeighbourDesk>(
      new NeighbourDesk(reactor, std::move(path), ground, std::move(listener), std::move(on_ask)));
}

NeighbourDesk::NeighbourDesk(net::Reactor& reactor, std::string path, const NeighbourGround& ground,
                             UniqueFd listener, OnAsk on_ask)
    : reactor_(reactor),
      path_(std::move(path)),
      ground_(ground),
      listener_(std::move(listener)),
      on_ask_(std::move(on_ask)) {
  reactor_.WatchFd(listener_.get(), [this] { OnWaiting(); });
}

NeighbourDesk::~NeighbourDesk() {
  if (pause_ != 0) reactor_.CancelTimer(pause_);
  reactor_.UnwatchFd(listener_.get());
  for (const auto& [id, socket] : connections_) reactor_.UnwatchFd(socket.get());
  ::unlink(path_.c_str());
}

void NeighbourDesk::OnWaiting() {
  UniqueFd socket = net::AcceptWaiting(listener_.get());
  if (!socket.valid()) {
    if (errno == EMFILE || errno == ENFILE) Pause();
    return;
  }
  if (!net::IsSameUser(socket.get())) {
    LogWarning("refused another user's process at " + path_);
    return;
  }
  // Who came first stays: each that is hung up on would come again, and have another's place.
  if (connections_.size() >= kMostConnections) return;
  const std::uint64_t id = ++last_;
  reactor_.WatchFd(socket.get(), [this, id] { OnPacket(id); });
  connections_.emplace(id, std::move(socket));
}

// Without free descriptors the one that waits can't be accepted, and would wake the reactor without end.
void NeighbourDesk::Pause() {
  reactor_.UnwatchFd(listener_.get());
  pause_ = reactor_.AddOnce(kPause, [this] {
    pause_ = 0;
    reactor_.WatchFd(listener_.get(), [this] { OnWaiting(); });
  });
}

void NeighbourDesk::OnPacket(std::uint64_t id) {
  const int socket = connections_.at(id).get();
  NeighbourPacket packet;
  const net::TakenPacket taken = net::TakePacket(socket, packet);
  if (taken.event == net::TakenPacket::Event::kNothing) return;
  if (taken.event == net::TakenPacket::Event::kHangup) return HangUp(id);
  Result<NeighbourAsk> ask = InvalidArgument("a packet of another size");
  if (taken.bytes == packet.size()) ask = ReadNeighbourAsk(ground_, packet);
  if (!ask.ok()) {
    // The leaves of one user's several coordinators stay apart: that is no trouble.
    if (ask.status().code() != Code::kUnsupported) {
      LogWarning("hung up on a process at " + path_ + ": " + ask.status().message());
    }
    return HangUp(id);
  }
  Answer answer = on_ask_(*ask);
  answer.told.request = ask->request;
  const NeighbourPacket told = PacketOf(ground_, answer.told);
  const Status sent = net::SendPacketTo(socket, told, answer.descriptor.get());
  // Who does not read has no answer, and waits for a segment no longer than for one that is late. Of an index there is
  // one question only, without end: who hears none comes again.
  const bool dropped =
      sent.code() == Code::kResourceExhausted && ask->what == NeighbourAsk::What::kSegment;
  if (!sent.ok() && !dropped) HangUp(id);
}

void NeighbourDesk::HangUp(std::uint64_t id) {
  const auto found = connections_.find(id);
  reactor_.UnwatchFd(found->second.get());
  connections_.erase(found);
}

}  // namespace headrace::dataworker
