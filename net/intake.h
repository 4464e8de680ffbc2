#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "base/buffer.h"
#include "base/clock.h"
#include "net/intake_meter_internal.h"

namespace headrace::net {

// Bounds what the peers of a server can make it hold. ZeroMQ hands on a message when it is whole, and
// bounds neither its frames nor its bytes; so each byte that comes is counted here before ZeroMQ gets
// it (intake_gate.h), and a connection ends that goes beyond the limits. One for the process, since
// descriptors are. Thread-safe; ZeroMQ's I/O threads and reactors use it.
class Intake {
 public:
  static Intake& Process();

  // The limits of a process that may use so much; 0: not known. What waits unread may be a quarter of
  // it, and 1 GiB at most. A connection may always hold two frames of the largest legal size.
  [[nodiscard]] static IntakeLimits LimitsFor(std::uint64_t memory_bytes);
  // A connection that holds less never ends because of the others.
  static constexpr std::uint64_t kLargeBytes = std::uint64_t{1} << 20;

  // Watches connections that are accepted after this. A few descriptors are never given to
  // peers.
  void Open(const IntakeLimits& limits = {});
  void Close();
  [[nodiscard]] bool open() const { return open_.load(std::memory_order_relaxed); }

  // What this listening socket accepts is not watched: it speaks another protocol, and its server bounds it
  // by itself.
  void Overlook(int listener);

  // `listener` accepted a connection. False: there are too few descriptors left for the process itself,
  // and the caller closes it.
  [[nodiscard]] bool Accepted(int fd, int listener);
  // No descriptor was left for a connection, which the caller has closed.
  void TurnedAway();
  // The peer sent `bytes`. False: the connection ends, and its bytes are not used.
  [[nodiscard]] bool Admit(int fd, ByteSpan bytes);
  // The connection has ended.
  void Ended(int fd);
  // A server was handed so many frames of the connection.
  void HandedOn(int fd, std::size_t frames);

  // Cost of what waits on all connections.
  [[nodiscard]] std::uint64_t held() const;

 private:
  struct Connection {
    std::uint64_t cookie = 0;  // of the kernel: tells sockets apart that had the same descriptor
    IntakeMeter meter;
  };
  using Connections = std::map<int, Connection>;

  Intake() = default;
  // All need mutex_.
  void Erase(Connections::iterator connection);
  // The connection's meter had `before`.
  void Count(const Connection& connection, std::uint64_t before);
  void ForgetEnded();
  // Ends connections until the rest is within the limit of all, largest first. Returns the peers, and
  // whether `fd` is among them.
  [[nodiscard]] bool CutLargest(int fd, std::string& peers);

  // A line for the log, at most one a second.
  void Complain(const std::string& line);

  std::atomic<bool> open_{false};
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  IntakeLimits limits_;
  Connections connections_;
  std::set<std::uint64_t> overlooked_;  // cookies of listening sockets
  std::uint64_t held_ = 0;
  std::size_t large_ = 0;  // connections with kLargeBytes
  SteadyTime swept_{};
  SteadyTime complained_{};
  std::uint64_t unsaid_ = 0;  // since the last line
};

}  // namespace headrace::net
