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

// One reactor = one thread that owns sockets, descriptors and timers. Everything else reaches it by
// Post. Compute never runs here.
namespace headrace::net {

// What a socket holds for a peer that does not read, at most. Send refuses what goes beyond.
inline constexpr std::size_t kMaxQueuedMessages = 1000;
inline constexpr std::size_t kMaxDealerQueuedBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxRouterQueuedBytes = std::size_t{512} << 20;  // for each peer
// Larger payload must be cut (SplitPayload); a peer that sends a larger frame is disconnected.
inline constexpr std::size_t kMaxFrameBytes = wire::kMaxBodyBytes;

// Bytes that go out without a copy: `data` stays valid until `owner` is released, which happens on
// any thread (ZeroMQ's I/O thread) once they are sent or dropped. Without owner they are copied.
struct PayloadFrame {
  ByteSpan data;
  std::shared_ptr<const void> owner;
};

// A received message, verified. Payload frames live as long as this object (or a copy of
// `payload_owner`).
struct Incoming {
  std::string peer;  // ROUTER: identity of the sender, opaque; DEALER: empty
  wire::Body body;
  std::vector<ByteSpan> payload;
  std::shared_ptr<void> payload_owner;
};

class Reactor;

// A ZeroMQ socket owned by a reactor. Reactor thread only.
class Socket {
 public:
  virtual ~Socket() = default;
  // Never blocks; on an error the message is dropped. kNotFound: the peer is unknown or gone.
  // kUnavailable: its queue is full, or the reactor has stopped. kInvalidArgument: over the limits.
  virtual Status Send(std::string_view peer, const wire::Body& body,
                      std::vector<PayloadFrame> payload = {}) = 0;
  // Actual address after binding ("tcp://127.0.0.1:41733"). Empty for a connecting socket.
  [[nodiscard]] virtual const std::string& endpoint() const = 0;
};

struct SocketEvents {
  // A valid message. Any of them counts as a sign of life of its peer.
  std::function<void(Incoming&&)> on_message;
  // An invalid one: damaged, hostile or of another version. The peer may be told; never trust it.
  std::function<void(const std::string& peer, const Status& error)> on_invalid;
};

using TimerId = std::uint64_t;

// ZeroMQ's I/O threads, and the name space of "inproc://" endpoints: reactors that share a context
// reach each other by them. Thread-safe.
class Context;
[[nodiscard]] std::shared_ptr<Context> MakeContext(int io_threads = 1);

// Thread rule: Post and Stop are thread-safe; everything else on the reactor thread (or before
// Start). Fork rule: in a forked child all of it does nothing or returns kUnavailable, and nothing
// hangs. Sockets may outlive their reactor; they are closed then.
class Reactor {
 public:
  // `name` names the thread (at most 15 characters). Without `context` it gets one of its own.
  static Result<std::unique_ptr<Reactor>> Make(std::string name, Clock& clock = Clock::Real(),
                                               std::shared_ptr<Context> context = nullptr);
  virtual ~Reactor() = default;

  // Runs on a thread of its own (Start, joined by Stop or the destructor) or on the caller's (Run,
  // which returns after Stop; Stop does not wait for it). Once: kUnavailable the second time.
  virtual Status Start() = 0;
  virtual Status Run() = 0;
  // Idempotent. Pending posts are run, then sockets are closed with a linger of at most 200 ms. On
  // the reactor thread it returns at once and takes effect at the end of the turn.
  virtual void Stop() = 0;
  [[nodiscard]] virtual bool OnThread() const = 0;

  // Runs `task` on the reactor thread, in order. After Stop: dropped.
  virtual void Post(std::function<void()> task) = 0;

  // kUnavailable: address in use or not to be bound; kInvalidArgument: malformed. The message names
  // the address and a remedy. Endpoints: tcp://HOST:PORT (port 0 or *: any), ipc://PATH,
  // inproc://NAME.
  virtual Result<std::unique_ptr<Socket>> BindRouter(const std::string& endpoint,
                                                     SocketEvents events) = 0;
  // Connects in the background; messages wait (up to 1000, or 64 MiB) until the peer is there.
  // kInvalidArgument: malformed. kUnavailable: in a forked process.
  virtual Result<std::unique_ptr<Socket>> ConnectDealer(const std::string& endpoint,
                                                        SocketEvents events) = 0;

  // First run after `interval`, then each `interval` after the end of the last (no bursts).
  virtual TimerId AddTimer(Duration interval, std::function<void()> callback) = 0;
  virtual TimerId AddOnce(Duration delay, std::function<void()> callback) = 0;
  // Also from a timer's own callback, and when it has run already.
  virtual void CancelTimer(TimerId timer) = 0;

  // Calls back while `fd` is readable or hung up, until removed. The descriptor stays the caller's
  // and is unwatched before it is closed. Sockets, pipes, eventfds, pidfds; not regular files.
  virtual void WatchFd(int fd, std::function<void()> on_readable) = 0;
  virtual void UnwatchFd(int fd) = 0;

  [[nodiscard]] virtual Clock& clock() const = 0;
};

}  // namespace headrace::net
