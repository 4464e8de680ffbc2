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

// Bytes that go out without a copy: `data` stays valid until `owner` is released, which happens on
// any thread (ZeroMQ's I/O thread) once they are sent or dropped.
struct PayloadFrame {
  ByteSpan data;
  std::shared_ptr<const void> owner;
};

// A received message, verified. Payload frames live as long as this object (or a copy of `payload_owner`).
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
  // kUnavailable when the peer is unknown or its queue is full (the message is dropped, never blocks).
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

// Thread rule: Post and Stop are thread-safe; everything else on the reactor thread (or before Start).
class Reactor {
 public:
  // `name` names the thread (at most 15 characters).
  static Result<std::unique_ptr<Reactor>> Make(std::string name, Clock& clock = Clock::Real());
  virtual ~Reactor() = default;

  // Runs on a thread of its own (Start, joined by Stop or the destructor) or on the caller's (Run).
  virtual Status Start() = 0;
  virtual Status Run() = 0;
  // Idempotent. Pending posts are run, then sockets are closed with a linger of at most 200 ms.
  virtual void Stop() = 0;
  [[nodiscard]] virtual bool OnThread() const = 0;

  // Runs `task` on the reactor thread, in order. After Stop: dropped.
  virtual void Post(std::function<void()> task) = 0;

  // kUnavailable: address in use or not to be bound; message names it and a remedy.
  virtual Result<std::unique_ptr<Socket>> BindRouter(const std::string& endpoint,
                                                     SocketEvents events) = 0;
  // Connects in the background; messages wait (up to 1000, or 64 MiB) until the peer is there.
  virtual Result<std::unique_ptr<Socket>> ConnectDealer(const std::string& endpoint,
                                                        SocketEvents events) = 0;

  // First run after `interval`, then each `interval` after the end of the last (no bursts).
  virtual TimerId AddTimer(Duration interval, std::function<void()> callback) = 0;
  virtual TimerId AddOnce(Duration delay, std::function<void()> callback) = 0;
  virtual void CancelTimer(TimerId timer) = 0;

  // Calls back while `fd` is readable or hung up, until removed. The descriptor stays the caller's.
  virtual void WatchFd(int fd, std::function<void()> on_readable) = 0;
  virtual void UnwatchFd(int fd) = 0;

  [[nodiscard]] virtual Clock& clock() const = 0;
};

}  // namespace headrace::net
