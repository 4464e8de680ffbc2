#include "net/intake.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/process/descriptors.h"

namespace headrace::net {
namespace {

constexpr Duration kSayEvery = std::chrono::seconds(1);

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

void Intake::Open(const IntakeLimits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
  open_ = true;
}

void Intake::Close() {
  const std::lock_guard lock(mutex_);
  open_ = false;
  connections_.clear();
  held_ = 0;
}

std::uint64_t Intake::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

void Intake::Erase(Connections::iterator connection) {
  held_ -= connection->second.meter.held();
  connections_.erase(connection);
}

bool Intake::Accepted(int fd) {
  // The kernel gives the lowest number that is free: so nearly as many are open.
  const std::uint64_t limit = DescriptorLimit();
  if (static_cast<std::uint64_t>(fd) + OwnDescriptors(limit) >= limit) {
    Complain("a connection was closed: no descriptor is left for it, of " + std::to_string(limit) +
             " peer=" + PeerOf(fd));
    return false;
  }
  const std::uint64_t cookie = CookieOf(fd);
  const std::lock_guard lock(mutex_);
  if (const auto before = connections_.find(fd); before != connections_.end()) Erase(before);
  connections_.emplace(fd, Connection{cookie, {}});
  return true;
}

void Intake::TurnedAway() {
  Complain("a connection was closed: no descriptor is left for it, of " +
           std::to_string(DescriptorLimit()));
}

bool Intake::Admit(int fd, ByteSpan bytes) {
  std::string why;
  int largest = -1;  // another connection, which ends so that there is room for this one
  {
    const std::lock_guard lock(mutex_);
    const auto found = connections_.find(fd);
    if (found == connections_.end()) return true;
    if (found->second.cookie != CookieOf(fd)) {  // a socket that we connected
      Erase(found);
      return true;
    }
    IntakeMeter& meter = found->second.meter;
    const std::uint64_t before = meter.held();
    why = meter.Take(bytes, limits_);
    held_ += meter.held() - before;
    if (why.empty() && held_ > limits_.total_bytes) {
      ForgetEnded();
      if (held_ > limits_.total_bytes) largest = Largest();
      if (largest == fd) why = "the most of all that waits here, which is over the limit";
    }
    if (!why.empty()) {
      Erase(found);
    } else if (largest >= 0) {
      Erase(connections_.find(largest));
    }
  }
  if (why.empty() && largest < 0) return true;
  const int ends = why.empty() ? largest : fd;
  Complain("a connection was cut: it sent " +
           (why.empty() ? "the most of all that waits here, which is over the limit" : why) +
           " peer=" + PeerOf(ends));
  // ZeroMQ closes it, and drops what it holds of it.
  ::shutdown(ends, SHUT_RDWR);
  return ends != fd;
}

void Intake::ForgetEnded() {
  for (auto it = connections_.begin(); it != connections_.end();) {
    const auto next = std::next(it);
    if (CookieOf(it->first) != it->second.cookie) Erase(it);
    it = next;
  }
}

int Intake::Largest() const {
  return std::ranges::max_element(connections_, {},
                                  [](const auto& each) { return each.second.meter.held(); })
      ->first;
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
  held_ -= before - meter.held();
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
