#include "net/intake_gate.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "net/intake.h"

// Not <sys/socket.h>: what it says of these functions must not be in the way of our own.
struct sockaddr;
using socklen_t = unsigned int;

namespace {

constexpr int kPeek = 2;  // MSG_PEEK

// Is closed for a moment when no other descriptor is left. Otherwise nobody could accept the
// connection that waits, and ZeroMQ would ask for it again without end.
std::atomic<int> spare{-1};

int OpenSpare() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

int Accept(int listener, sockaddr* address, socklen_t* size, int flags) {
  using headrace::net::Intake;
  const auto accept = [&] {
    return static_cast<int>(::syscall(SYS_accept4, listener, address, size, flags));
  };
  int fd = accept();
  if (!Intake::Process().open()) return fd;
  if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
    const int held = spare.exchange(-1);
    if (held < 0) {
      errno = EMFILE;
      return -1;
    }
    ::close(held);
    fd = accept();
    const int error = errno;
    if (fd >= 0) {
      ::close(fd);
      Intake::Process().TurnedAway();
    }
    spare = OpenSpare();
    errno = fd >= 0 ? ECONNABORTED : error;
    return -1;
  }
  if (fd < 0 || Intake::Process().Accepted(fd, listener)) return fd;
  ::close(fd);
  errno = ECONNABORTED;  // ZeroMQ accepts the next one
  return -1;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int accept4(int listener, sockaddr* address, socklen_t* size,
                                                   int flags) {
  return Accept(listener, address, size, flags);
}

__attribute__((visibility("default"))) int accept(int listener, sockaddr* address,
                                                  socklen_t* size) {
  return Accept(listener, address, size, 0);
}

__attribute__((visibility("default"))) ssize_t recv(int fd, void* to, std::size_t size, int flags) {
  using headrace::net::Intake;
  const ssize_t got = ::syscall(SYS_recvfrom, fd, to, size, flags, nullptr, nullptr);
  if ((flags & kPeek) != 0 || !Intake::Process().open()) return got;
  if (got > 0) {
    const headrace::ByteSpan bytes(static_cast<const std::byte*>(to),
                                   static_cast<std::size_t>(got));
    if (Intake::Process().Admit(fd, bytes)) return got;
    errno = ECONNRESET;
    return -1;
  }
  const int error = errno;
  if (got == 0 ? size > 0 : error != EAGAIN && error != EINTR) Intake::Process().Ended(fd);
  errno = error;
  return got;
}

}  // extern "C"

namespace headrace::net {

void OpenIntakeGate(std::uint64_t memory_bytes) {
  if (spare.load() < 0) spare = OpenSpare();
  Intake::Process().Open(Intake::LimitsFor(memory_bytes));
}

}  // namespace headrace::net
