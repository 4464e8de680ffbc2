#include "trainer_client/service/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace headrace::client {

bool WaitReadable(int fd, std::chrono::milliseconds timeout) {
  pollfd poll{fd, POLLIN, 0};
  return ::poll(&poll, 1, static_cast<int>(std::max<std::int64_t>(timeout.count(), 0))) != 0;
}

Result<ChildProcess> ChildProcess::Spawn(const std::vector<std::string>& command,
                                         const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  if (std::getenv("HEADRACE_LOG") == nullptr) {
    ::posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::posix_spawn_file_actions_adddup2(&files, 1, 2);
  } else {
    ::posix_spawn_file_actions_adddup2(&files, 2, 1);
  }
  ::posix_spawn_file_actions_addclosefrom_np(&files, 3);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int error =
      ::posix_spawnp(&pid, arguments[0], &files, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (error == ENOENT || error == EACCES) {
    return NotFound("cannot run the headrace program at " + command[0] + " (" +
                    std::strerror(error) +
                    "); install the package again, or name it by ClientOptions::binary");
  }
  if (error != 0) return ErrnoStatus(error, "starting " + command[0]);
  ChildProcess child;
  child.pid_ = pid;
  child.pidfd_ = net::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!child.pidfd_.valid()) {
    const int failed = errno;
    ::kill(pid, SIGKILL);
    return ErrnoStatus(failed, "pidfd_open");
  }
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), pidfd_(std::move(other.pidfd_)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  pid_ = std::exchange(other.pid_, 0);
  pidfd_ = std::move(other.pidfd_);
  return *this;
}

bool ChildProcess::running() const {
  return pid_ > 0 && !WaitReadable(pidfd_.get(), std::chrono::milliseconds(0));
}

std::string ChildProcess::Failure() const {
  if (pid_ == 0 || running()) return "";
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    return "ended";
  }
  if (info.si_code != CLD_EXITED) return "was killed by signal " + std::to_string(info.si_status);
  return info.si_status == 0 ? "" : "ended with status " + std::to_string(info.si_status);
}

// By pidfd: the program may have reaped the child itself, and its id be another's by now.
void ChildProcess::Signal(int number) const {
  (void)::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
}

bool ChildProcess::Terminate(std::chrono::milliseconds patience) {
  if (pid_ == 0) return true;
  Signal(SIGTERM);
  return WaitReadable(pidfd_.get(), patience);
}

void ChildProcess::Kill() {
  if (pid_ == 0) return;
  if (running()) Signal(SIGKILL);
  siginfo_t info{};
  const bool ours =
      ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  const auto pid = static_cast<pid_t>(pid_);
  // Reaped by the program itself: the id is no other's as long as the group has members.
  if (ours || (::kill(pid, 0) != 0 && errno == ESRCH)) ::kill(-pid, SIGKILL);
  while (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0 &&
         errno == EINTR) {
  }
  pid_ = 0;
}

}  // namespace headrace::client
