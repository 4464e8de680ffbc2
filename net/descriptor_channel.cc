#include "net/descriptor_channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "net/descriptor_packet_internal.h"
#include "net/user_socket.h"

namespace headrace::net {
namespace {

constexpr std::size_t kMaxConnections = 1024;
constexpr Duration kPause = std::chrono::milliseconds(100);

class Listener final : public DescriptorListener {
 public:
  Listener(Reactor& reactor, std::string path, UniqueFd socket, OnDescriptor on_descriptor,
           OnHangup on_hangup)
      : reactor_(reactor),
        path_(std::move(path)),
        pid_(getpid()),
        socket_(std::move(socket)),
        on_descriptor_(std::move(on_descriptor)),
        on_hangup_(std::move(on_hangup)) {
    reactor_.WatchFd(socket_.get(), [this] { Accept(); });
  }
  ~Listener() override {
    if (getpid() != pid_) return;  // path and epoll set belong to the parent
    if (pause_) reactor_.CancelTimer(*pause_);
    reactor_.UnwatchFd(socket_.get());
    for (const auto& [id, fd] : connections_) reactor_.UnwatchFd(fd.get());
    unlink(path_.c_str());
  }

  [[nodiscard]] Result<UniqueFd> Hold(std::uint64_t connection) const override {
    const auto found = connections_.find(connection);
    if (found == connections_.end()) return NotFound("the connection is closed");
    UniqueFd copy(fcntl(found->second.get(), F_DUPFD_CLOEXEC, 0));
    if (!copy.valid()) return ErrnoStatus(errno, "one more handle on a connection");
    return copy;
  }

 private:
  void Accept() {
    for (;;) {
      UniqueFd fd = AcceptWaiting(socket_.get());
      if (!fd.valid()) {
        if (errno == EMFILE || errno == ENFILE) Pause();
        return;
      }
      if (!IsSameUser(fd.get()) || connections_.size() >= kMaxConnections) {
        LogWarning("refused a connection to the arena socket path=" + path_);
        continue;
      }
      const std::uint64_t id = ++last_connection_;
      reactor_.WatchFd(fd.get(), [this, id] { Read(id); });
      connections_.emplace(id, std::move(fd));
    }
  }

  // Stops watching for a while: without free descriptors the waiting connection cannot be accepted,
  // and would wake the reactor for ever.
  void Pause() {
    LogWarning("no descriptor left for a connection to the arena socket path=" + path_);
    reactor_.UnwatchFd(socket_.get());
    pause_ = reactor_.AddOnce(kPause, [this] {
      pause_.reset();
      reactor_.WatchFd(socket_.get(), [this] { Accept(); });
    });
  }

  // Reads one packet a call: the reactor calls again while there is more.
  void Read(std::uint64_t id) {
    ReceivedPacket packet = ReceivePacket(connections_.at(id).get());
    switch (packet.event) {
      case PacketEvent::kNothing:
        return;
      case PacketEvent::kMessage:
        on_descriptor_(id, packet.message, std::move(packet.fd));
        return;
      case PacketEvent::kInvalid:
        LogWarning("hung up on a peer of the arena socket path=" + path_ + " it_sent=\"" +
                   packet.complaint + "\"");
        break;
      case PacketEvent::kHangup:
        break;
    }
    reactor_.UnwatchFd(connections_.at(id).get());
    connections_.erase(id);
    if (on_hangup_) on_hangup_(id);
  }

  Reactor& reactor_;  // outlives this
  const std::string path_;
  const pid_t pid_;
  const UniqueFd socket_;
  const OnDescriptor on_descriptor_;
  const OnHangup on_hangup_;
  std::uint64_t last_connection_ = 0;
  std::optional<TimerId> pause_;
  std::unordered_map<std::uint64_t, UniqueFd> connections_;
};

class Connection final : public DescriptorConnection {
 public:
  Connection(Reactor& reactor, UniqueFd socket, std::function<void()> on_hangup)
      : reactor_(reactor),
        pid_(getpid()),
        socket_(std::move(socket)),
        on_hangup_(std::move(on_hangup)) {
    reactor_.WatchFd(socket_.get(), [this] { Readable(); });
  }
  ~Connection() override {
    if (getpid() == pid_) reactor_.UnwatchFd(socket_.get());
  }

  Status Send(const DescriptorMessage& message, int fd) override {
    return SendPacket(socket_.get(), message, fd);
  }
  void Finish() override { shutdown(socket_.get(), SHUT_WR); }

 private:
  // A worker sends nothing here, so the only event is the end.
  void Readable() {
    char ignored = 0;
    const ssize_t got = recv(socket_.get(), &ignored, sizeof(ignored), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    reactor_.UnwatchFd(socket_.get());
    const std::function<void()> on_hangup = std::move(on_hangup_);
    if (on_hangup) on_hangup();  // may destroy this object
  }

  Reactor& reactor_;  // outlives this
  const pid_t pid_;
  const UniqueFd socket_;
  std::function<void()> on_hangup_;
};

}  // namespace

Result<std::unique_ptr<DescriptorListener>> DescriptorListener::Listen(Reactor& reactor,
                                                                       std::string path,
                                                                       OnDescriptor on_descriptor,
                                                                       OnHangup on_hangup) {
  if (DescriptorNetwork* network = reactor.descriptors()) {
    return network->Listen(std::move(path), std::move(on_descriptor), std::move(on_hangup));
  }
  HR_TRY(UniqueFd fd, ListenForUser(path));
  return std::unique_ptr<DescriptorListener>(std::make_unique<Listener>(
      reactor, std::move(path), std::move(fd), std::move(on_descriptor), std::move(on_hangup)));
}

Result<std::unique_ptr<DescriptorConnection>> DescriptorConnection::Connect(
    Reactor& reactor, const std::string& path, std::function<void()> on_hangup) {
  if (DescriptorNetwork* network = reactor.descriptors()) {
    return network->Connect(path, std::move(on_hangup));
  }
  Result<UniqueFd> fd = ConnectToUser(path);
  if (!fd.ok()) return fd.status().WithContext("nobody takes memory");
  return std::unique_ptr<DescriptorConnection>(
      std::make_unique<Connection>(reactor, std::move(fd).value(), std::move(on_hangup)));
}

}  // namespace headrace::net
