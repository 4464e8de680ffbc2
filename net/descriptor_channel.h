#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "net/reactor.h"

// Passes descriptors of memory and of lanes' processes between a trainer and a worker on one host.
// An AF_UNIX SOCK_SEQPACKET connection stays open for the life of the session. Its hang-up is the
// fastest sign that the other process has died. Memory that the other process could write may be
// reused only after the hang-up.
namespace headrace::net {

struct DescriptorMessage {
  enum class Kind : std::uint32_t { kArena = 1, kBlob = 2, kLane = 3 };
  Kind kind = Kind::kArena;
  SessionId session;
  BlobHash hash;            // kBlob
  std::uint64_t bytes = 0;  // size of the memory; checked against the descriptor's real size
  // kLane: the descriptor is a socket. The lane's process serves at its other end.
  std::int32_t lane = -1;
  std::uint64_t lane_set = 0;  // counts up in a session; the later one counts
  std::int64_t pid = 0;        // the lane's process, for the account of its CPU time
};

// The worker's side. Reactor thread; destroyed before its reactor, and not inside its own
// callbacks. Accepts only peers with the same uid (SO_PEERCRED). For lanes it accepts only stream
// sockets. Otherwise it accepts only memfds of at least `bytes` that are sealed against shrinking.
// Otherwise a write to a mapping could kill the worker. A peer that sends anything else is hung up
// on.
class DescriptorListener {
 public:
  using OnDescriptor =
      std::function<void(std::uint64_t connection, const DescriptorMessage&, UniqueFd)>;
  using OnHangup = std::function<void(std::uint64_t connection)>;
  // Takes over the path of a dead process. Only its own user may use the socket (0600).
  // kUnavailable: the path is over 107 bytes long, or belongs to a live process or to something
  // that is not a socket.
  static Result<std::unique_ptr<DescriptorListener>> Listen(Reactor& reactor, std::string path,
                                                            OnDescriptor on_descriptor,
                                                            OnHangup on_hangup);
  virtual ~DescriptorListener() = default;
  // Makes one more handle on an open connection. The trainer sees the hang-up only after all
  // handles are closed, in all processes. So each process that may write to a trainer's memory
  // holds one. kNotFound: the connection is closed.
  [[nodiscard]] virtual Result<UniqueFd> Hold(std::uint64_t connection) const = 0;
};

// The trainer's side. Reactor thread; destroyed before its reactor. `on_hangup` runs once and may
// destroy the connection.
class DescriptorConnection {
 public:
  // kUnavailable: nobody listens there (another host or mount namespace: use TCP).
  static Result<std::unique_ptr<DescriptorConnection>> Connect(Reactor& reactor,
                                                               const std::string& path,
                                                               std::function<void()> on_hangup);
  virtual ~DescriptorConnection() = default;
  // The caller still owns the descriptor. kUnavailable: the peer is gone, or does not read.
  virtual Status Send(const DescriptorMessage& message, int fd) = 0;
  // Asks the peer to let go: the peer sees a hang-up. `on_hangup` runs when nobody holds the
  // connection any more.
  virtual void Finish() = 0;
};

// Stands for the Unix sockets of a reactor that is simulated; see Reactor::descriptors. Its listeners
// and connections keep what is said above.
class DescriptorNetwork {
 public:
  virtual ~DescriptorNetwork() = default;
  virtual Result<std::unique_ptr<DescriptorListener>> Listen(
      std::string path, DescriptorListener::OnDescriptor on_descriptor,
      DescriptorListener::OnHangup on_hangup) = 0;
  virtual Result<std::unique_ptr<DescriptorConnection>> Connect(
      const std::string& path, std::function<void()> on_hangup) = 0;
};

}  // namespace headrace::net
