#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "net/reactor.h"

// Passes memory, and the processes of lanes, by descriptor between a trainer and a worker on the
// same host: an AF_UNIX
// SOCK_SEQPACKET connection that stays open for the life of the session. Its hang-up is the fastest
// sign that the other process has died, and only then may memory that it could write be reused.
namespace headrace::net {

struct DescriptorMessage {
  enum class Kind : std::uint32_t { kArena = 1, kBlob = 2, kLane = 3 };
  Kind kind = Kind::kArena;
  SessionId session;
  BlobHash hash;            // kBlob
  std::uint64_t bytes = 0;  // size of the memory; checked against the descriptor's real size
  // kLane: the descriptor is a socket at whose other end the lane's process serves.
  std::int32_t lane = -1;
  std::uint64_t lane_set = 0;  // counts up in a session; the later one counts
  std::int64_t pid = 0;        // of the process, for the account of its CPU time
};

// Worker side. Reactor thread; ends before its reactor, and not inside its own callbacks. Accepts
// only peers with the same uid (SO_PEERCRED), stream sockets for lanes, and else only memfds whose
// size is at least `bytes` and which are sealed against shrinking (or a write to a mapping could
// kill the worker). A peer that sends anything else is hung up on.
class DescriptorListener {
 public:
  using OnDescriptor =
      std::function<void(std::uint64_t connection, const DescriptorMessage&, UniqueFd)>;
  using OnHangup = std::function<void(std::uint64_t connection)>;
  // kUnavailable: path in use by a live process or by something that is not a socket, or too long
  // (107 bytes). The path of a dead process is taken over. The socket is its user's alone (0600).
  static Result<std::unique_ptr<DescriptorListener>> Listen(Reactor& reactor, std::string path,
                                                            OnDescriptor on_descriptor,
                                                            OnHangup on_hangup);
  virtual ~DescriptorListener() = default;
  // One more handle on an open connection. The trainer sees its hang-up only when every handle is
  // closed, in whatever process: whoever may write to a trainer's memory holds one.
  // kNotFound: the connection is closed.
  [[nodiscard]] virtual Result<UniqueFd> Hold(std::uint64_t connection) const = 0;
};

// Trainer side. Reactor thread; ends before its reactor. `on_hangup` comes once and may end it.
class DescriptorConnection {
 public:
  // kUnavailable: nobody listens there (another host or mount namespace: use TCP).
  static Result<std::unique_ptr<DescriptorConnection>> Connect(Reactor& reactor,
                                                               const std::string& path,
                                                               std::function<void()> on_hangup);
  virtual ~DescriptorConnection() = default;
  // The descriptor stays the caller's. kUnavailable: the peer is gone, or does not read.
  virtual Status Send(const DescriptorMessage& message, int fd) = 0;
  // Asks the peer to let go: it sees a hang-up, and `on_hangup` comes when nobody holds the
  // connection any more.
  virtual void Finish() = 0;
};

}  // namespace headrace::net
