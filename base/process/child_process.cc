#include "base/process/child_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>

#include "base/process/rusage.h"

namespace headrace {
namespace {

// Waits with the system call, since the C library's waitid() gives no times. `reap`: gives the id
// back.
int Wait(int pidfd, bool reap, siginfo_t* info, rusage* usage) {
  const int options = WEXITED | WNOHANG | (reap ? 0 : WNOWAIT);
  return static_cast<int>(::syscall(SYS_waitid, P_PIDFD, pidfd, info, options, usage));
}

ChildProcess::Ended Describe(const siginfo_t& info, const rusage& usage) {
  ChildProcess::Ended ended;
  const bool exited = info.si_code == CLD_EXITED;
  ended.cpu_seconds = CpuSecondsOf(usage);
  ended.failed = !exited || info.si_status != 0;
  ended.how =
      (exited ? "ended with status " : "was killed by signal ") + std::to_string(info.si_status);
  return ended;
}

}  // namespace

Result<ChildProcess> ChildProcess::Start(const SpawnOptions& options) {
  ChildProcess child;
  HR_TRY(child.pid_, Spawn(options));
  child.own_group_ = options.own_group;
  child.pidfd_ = OpenPidfd(child.pid_);
  if (!child.pidfd_.valid()) {
    const int why = errno;
    ::kill(child.pid_, SIGKILL);
    ::waitpid(child.pid_, nullptr, 0);
    return ErrnoStatus(why, "pidfd_open for " + options.command[0]);
  }
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      own_group_(other.own_group_),
      pidfd_(std::move(other.pidfd_)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  pid_ = std::exchange(other.pid_, 0);
  own_group_ = other.own_group_;
  pidfd_ = std::move(other.pidfd_);
  return *this;
}

bool ChildProcess::running() const { return pid_ > 0 && !AwaitEnd(std::chrono::milliseconds(0)); }

bool ChildProcess::AwaitEnd(std::chrono::milliseconds patience) const {
  if (pid_ == 0) return true;
  pollfd fd{pidfd_.get(), POLLIN, 0};
  const auto most = std::int64_t{std::numeric_limits<int>::max()};
  return ::poll(&fd, 1, static_cast<int>(std::clamp<std::int64_t>(patience.count(), 0, most))) > 0;
}

// Signals by pidfd: if somebody else has reaped the child, its id may belong to another process.
void ChildProcess::Signal(int number) const {
  if (pid_ > 0) (void)::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
}

// A child that nobody has reaped keeps its id, and with it the group's.
void ChildProcess::SignalGroup(int number) const {
  if (!own_group_) return Signal(number);
  if (pid_ > 0) (void)::kill(-pid_, number);
}

std::optional<ChildProcess::Ended> ChildProcess::Look() const {
  if (pid_ == 0 || running()) return std::nullopt;
  siginfo_t info{};
  rusage usage{};
  if (Wait(pidfd_.get(), false, &info, &usage) != 0) return Ended{.how = "ended, nobody knows how"};
  return Describe(info, usage);
}

std::optional<ChildProcess::Ended> ChildProcess::Reap() {
  if (pid_ == 0) return std::nullopt;
  siginfo_t info{};
  rusage usage{};
  Ended ended{.how = "ended, nobody knows how"};
  if (Wait(pidfd_.get(), true, &info, &usage) == 0) {
    if (info.si_pid == 0) return std::nullopt;
    ended = Describe(info, usage);
  } else if (running()) {
    // SIGCHLD is ignored, perhaps because of our parent: the system will reap the child.
    return std::nullopt;
  }
  pid_ = 0;
  pidfd_.reset();
  return ended;
}

void ChildProcess::Kill() {
  if (pid_ == 0) return;
  if (running()) Signal(SIGKILL);
  siginfo_t info{};
  if (own_group_) {
    const bool ours = Wait(pidfd_.get(), false, &info, nullptr) == 0;
    // Somebody else has reaped it. No other process gets its id while the group has members.
    if (ours || (::kill(pid_, 0) != 0 && errno == ESRCH)) ::kill(-pid_, SIGKILL);
  }
  while (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0 &&
         errno == EINTR) {
  }
  pid_ = 0;
  pidfd_.reset();
}

}  // namespace headrace
