#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/result.h"
#include "schemas/wire/message.h"
#include "schemas/wire/roles.h"

// A reactor is one thread that owns sockets, descriptors and timers. Other threads reach it by
// Post. Compute never runs here.
namespace headrace::net {

// Limits of what a socket holds for a peer that does not read. Send refuses more.
inline constexpr std::size_t kMaxQueuedMessages = 1000;
inline constexpr std::size_t kMaxDealerQueuedBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxRouterQueuedBytes = std::size_t{512} << 20;  // for each peer
// Larger payloads must be cut (SplitPayload). A peer that sends a larger frame is disconnected.
inline constexpr std::size_t kMaxFrameBytes = wire::kMaxBodyBytes;

// Bytes that are sent without a copy. `data` stays valid until `owner` is released. That happens on
// any thread (ZeroMQ's I/O thread) once the bytes are sent or dropped. Without `owner` they are
// copied.
struct PayloadFrame {
  ByteSpan data;
  std::shared_ptr<const void> owner;
};

// A received message, verified. The payload frames live as long as this object or a copy of
// `payload_owner`.
struct Incoming {
  std::string peer;  // ROUTER: identity of the sender, opaque; DEALER: empty
  wire::Body body;
  std::vector<ByteSpan> payload;
  std::shared_ptr<void> payload_owner;
  wire::Role role = wire::Role::kLocal;  // of the sender's key; it may send such a message
  // Whether the kernel says that the sender is a process of this user on this host: it connected
  // to a Unix socket (SO_PEERCRED).
  bool from_this_user = false;
};

class Reactor;
class DescriptorNetwork;  // net/descriptor_channel.h

// A ZeroMQ socket owned by a reactor. Reactor thread only.
class Socket {
 public:
  virtual ~Socket() = default;
  // Never blocks. On an error the message is dropped. kNotFound: the peer is unknown or gone.
  // kUnavailable: its queue is full, or the reactor has stopped. kInvalidArgument: over the limits.
  virtual Status Send(std::string_view peer, const wire::Body& body,
                      std::vector<PayloadFrame> payload = {}) = 0;
  // Actual address after binding ("tcp://127.0.0.1:41733"). Empty for a connecting socket.
  [[nodiscard]] virtual const std::string& endpoint() const = 0;
};

struct SocketEvents {
  // Gets each valid message. Each message is a sign of life of its peer.
  std::function<void(Incoming&&)> on_message;
  // Gets each invalid message: damaged, hostile or of another version. It may answer the peer, but
  // must never trust the message.
  std::function<void(const std::string& peer, const Status& error)> on_invalid;
  // For ConnectDealer, except inproc://: called when the connection ended, after the messages that
  // ZeroMQ had handed on. What was sent on it may be lost. ZeroMQ connects again in the background, as another peer. Not
  // called where the other host falls silent: the kernel does not know.
  std::function<void()> on_disconnected;
  // For BindRouter: bytes that may wait for all peers together. Beyond it, only a peer that has nothing
  // waiting gets more, so peers that do not read keep nobody from those that do.
  std::size_t most_unsent_bytes = std::size_t{3} << 30;
  // For ConnectDealer: what the server is. With keys, a server without that role's key gets nothing.
  wire::Role server = wire::Role::kCoordinator;
};

using TimerId = std::uint64_t;

// Owns ZeroMQ's I/O threads and the name space of "inproc://" endpoints. Reactors that share a
// context reach each other by these endpoints. Thread-safe.
// With `keys` (net/keyring.h), everything that crosses TCP is encrypted, servers admit known keys
// alone, and a peer's message must be one that its role may send.
class Context;
class Keyring;
[[nodiscard]] std::shared_ptr<Context> MakeContext(int io_threads = 1,
                                                   std::shared_ptr<Keyring> keys = nullptr);

// Thread rule: Post and Stop are thread-safe. All else is for the reactor thread, or before Start.
// Fork rule: in a forked child every call does nothing or returns kUnavailable, and none hangs.
// Sockets may outlive their reactor; they are closed then.
class Reactor {
 public:
  // `name` names the thread (at most 15 characters). Without `context` the reactor makes its own.
  static Result<std::unique_ptr<Reactor>> Make(std::string name, Clock& clock = Clock::Real(),
                                               std::shared_ptr<Context> context = nullptr);
  virtual ~Reactor() = default;

  // Start runs the reactor on its own thread, which Stop or the destructor joins. Run runs it on
  // the caller's thread and returns after Stop; Stop does not wait for it. Either works once:
  // kUnavailable the second time.
  virtual Status Start() = 0;
  virtual Status Run() = 0;
  // Runs pending posts, then closes the sockets with a linger of at most 200 ms. On the reactor
  // thread it returns at once and takes effect at the end of the turn. Idempotent.
  virtual void Stop() = 0;
  [[nodiscard]] virtual bool OnThread() const = 0;
  // Says whether keys keep strangers out of the TCP sockets.
  [[nodiscard]] virtual bool guarded() const { return false; }

  // Runs `task` on the reactor thread, in order. After Stop, tasks are dropped.
  virtual void Post(std::function<void()> task) = 0;

  // Endpoints: tcp://HOST:PORT (port 0 or *: any), ipc://PATH, inproc://NAME. kUnavailable: the
  // address is in use or can't be bound. kInvalidArgument: malformed. The message names the address
  // and a remedy.
  virtual Result<std::unique_ptr<Socket>> BindRouter(const std::string& endpoint,
                                                     SocketEvents events) = 0;
  // Connects in the background. Messages wait until the peer is there (at most 1000, or 64 MiB).
  // kInvalidArgument: malformed. kUnavailable: in a forked process.
  virtual Result<std::unique_ptr<Socket>> ConnectDealer(const std::string& endpoint,
                                                        SocketEvents events) = 0;

  // Runs `callback` after `interval`, then each time `interval` after its last run ended (no
  // bursts).
  virtual TimerId AddTimer(Duration interval, std::function<void()> callback) = 0;
  virtual TimerId AddOnce(Duration delay, std::function<void()> callback) = 0;
  // May be called from a timer's own callback, and after the timer has run.
  virtual void CancelTimer(TimerId timer) = 0;

  // Calls back while `fd` is readable or hung up, until UnwatchFd. The caller still owns the
  // descriptor, and must unwatch it before closing it. Works for sockets, pipes, eventfds and
  // pidfds, not for regular files.
  virtual void WatchFd(int fd, std::function<void()> on_readable) = 0;
  virtual void UnwatchFd(int fd) = 0;

  // Where descriptors go in place of Unix sockets; null: to Unix sockets.
  [[nodiscard]] virtual DescriptorNetwork* descriptors() { return nullptr; }

  [[nodiscard]] virtual Clock& clock() const = 0;
};

}  // namespace headrace::net
