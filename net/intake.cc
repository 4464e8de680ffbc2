#include "net/intake.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/process/descriptors.h"
#include "schemas/wire/message.h"

namespace headrace::net {
namespace {

constexpr Duration kSayEvery = std::chrono::seconds(1);
constexpr Duration kSweepEvery = std::chrono::milliseconds(100);

// A number that the kernel gives to one socket alone. 0: not a socket.
std::uint64_t CookieOf(int fd) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  return ::getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

std::string PeerOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "?";
  std::uint16_t port = 0;
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    port = ntohs(v4.sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    port = ntohs(v6.sin6_port);
  } else {
    return "a Unix socket";
  }
  std::string peer(text.data());
  peer.append(":").append(std::to_string(port));
  return peer;
}

// Descriptors that peers never get: files, sockets and processes of our own need some.
std::uint64_t OwnDescriptors(std::uint64_t limit) {
  return std::clamp<std::uint64_t>(limit / 32, 4, 64);
}

}  // namespace

Intake& Intake::Process() {
  static Intake intake;
  return intake;
}

IntakeLimits Intake::LimitsFor(std::uint64_t memory_bytes) {
  IntakeLimits limits;
  if (memory_bytes == 0) return limits;
  const std::uint64_t least = 2 * std::uint64_t{wire::kMaxBodyBytes} +
                              limits.frames * (IntakeMeter::kFrameBytes + IntakeMeter::kReadBytes);
  limits.total_bytes = std::clamp(memory_bytes / 4, least, limits.total_bytes);
  limits.bytes = std::min(limits.bytes, limits.total_bytes);
  return limits;
}

void Intake::Open(const IntakeLimits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
  swept_ = {};
  open_ = true;
}

void Intake::Close() {
  const std::lock_guard lock(mutex_);
  open_ = false;
  connections_.clear();
  held_ = 0;
  large_ = 0;
}

std::uint64_t Intake::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

void Intake::Erase(Connections::iterator connection) {
  const std::uint64_t held = connection->second.meter.held();
  held_ -= held;
  if (held >= kLargeBytes) --large_;
  connections_.erase(connection);
}

void Intake::Overlook(int listener) {
  const std::uint64_t cookie = CookieOf(listener);
  const std::lock_guard lock(mutex_);
  if (cookie != 0) overlooked_.insert(cookie);
}

bool Intake::Accepted(int fd, int listener) {
  // The kernel gives the lowest number that is free: so nearly as many are open.
  const std::uint64_t limit = DescriptorLimit();
  if (static_cast<std::uint64_t>(fd) + OwnDescriptors(limit) >= limit) {
    Complain("a connection was closed: no descriptor is left for it, of " + std::to_string(limit) +
             " peer=" + PeerOf(fd));
    return false;
  }
  const std::uint64_t cookie = CookieOf(fd), of_listener = CookieOf(listener);
  const std::lock_guard lock(mutex_);
  if (const auto before = connections_.find(fd); before != connections_.end()) Erase(before);
  // A kernel without cookies: nothing tells that the descriptor is another socket's by now.
  if (cookie != 0 && !overlooked_.contains(of_listener))
    connections_.emplace(fd, Connection{cookie, {}});
  return true;
}

void Intake::TurnedAway() {
  Complain("a connection was closed: no descriptor is left for it, of " +
           std::to_string(DescriptorLimit()));
}

bool Intake::Admit(int fd, ByteSpan bytes) {
  std::string line;
  bool admitted = true;
  {
    const std::lock_guard lock(mutex_);
    const auto found = connections_.find(fd);
    if (found == connections_.end()) return true;
    Connection& connection = found->second;
    if (connection.cookie != CookieOf(fd)) {  // a socket that we connected
      Erase(found);
      return true;
    }
    const std::uint64_t before = connection.meter.held();
    const std::string_view why = connection.meter.Take(bytes, limits_);
    Count(connection, before);
    if (!why.empty()) {
      line.append(why).append(" peer=").append(PeerOf(fd));
      // ZeroMQ closes it, and drops what it holds of it. While mutex_ is held, since the descriptor is
      // this connection's until ZeroMQ has heard of its end.
      ::shutdown(fd, SHUT_RDWR);
      Erase(found);
      admitted = false;
    } else if (held_ > limits_.total_bytes && large_ > 0) {
      ForgetEnded();
      std::string peers;
      admitted = !CutLargest(fd, peers);
      if (!peers.empty()) {
        line = "the most of all that waits here, which is over the limit peer=" + peers;
      }
    }
  }
  if (!line.empty()) Complain("a connection was cut: it sent " + line);
  return admitted;
}

bool Intake::CutLargest(int fd, std::string& peers) {
  bool cut = false;
  while (held_ > limits_.total_bytes && large_ > 0) {
    const auto largest = std::ranges::max_element(
        connections_, {}, [](const auto& each) { return each.second.meter.held(); });
    if (largest->second.cookie == CookieOf(largest->first)) {  // otherwise it has ended
      peers.append(peers.empty() ? "" : ",").append(PeerOf(largest->first));
      ::shutdown(largest->first, SHUT_RDWR);
      cut = cut || largest->first == fd;
    }
    Erase(largest);
  }
  return cut;
}

void Intake::Count(const Connection& connection, std::uint64_t before) {
  const std::uint64_t now = connection.meter.held();
  held_ += now - before;
  if (now >= kLargeBytes && before < kLargeBytes) ++large_;
  if (now < kLargeBytes && before >= kLargeBytes) --large_;
}

void Intake::ForgetEnded() {
  const SteadyTime now = Clock::Real().Now();
  if (swept_ != SteadyTime{} && now - swept_ < kSweepEvery) return;
  swept_ = now;
  for (auto it = connections_.begin(); it != connections_.end();) {
    const auto next = std::next(it);
    if (CookieOf(it->first) != it->second.cookie) Erase(it);
    it = next;
  }
}

void Intake::Ended(int fd) {
  const std::lock_guard lock(mutex_);
  if (const auto found = connections_.find(fd); found != connections_.end()) Erase(found);
}

void Intake::HandedOn(int fd, std::size_t frames) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  IntakeMeter& meter = found->second.meter;
  const std::uint64_t before = meter.held();
  meter.HandedOn(frames);
  Count(found->second, before);
}

void Intake::Complain(const std::string& line) {
  std::uint64_t times = 0;
  {
    const std::lock_guard lock(mutex_);
    ++unsaid_;
    const SteadyTime now = Clock::Real().Now();
    if (complained_ != SteadyTime{} && now - complained_ < kSayEvery) return;
    complained_ = now;
    times = std::exchange(unsaid_, 0);
  }
  LogWarning(line + " times=" + std::to_string(times));
}

}  // namespace headrace::net
