#include "coordinator/pool/local/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace headrace::coordinator {
namespace {

int PidfdOpen(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

double Seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

struct SpawnSettings {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t files;
  SpawnSettings() {
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&files);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
};

}  // namespace

Result<ChildProcess> ChildProcess::Start(const std::vector<std::string>& command) {
  if (command.empty()) return InvalidArgument("no command to start");
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);

  SpawnSettings settings;
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&settings.attributes, &none);
  posix_spawnattr_setsigdefault(&settings.attributes, &all);
  posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_addopen(&settings.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

  pid_t pid = 0;
  const int error =
      ::posix_spawnp(&pid, argv[0], &settings.files, &settings.attributes, argv.data(), environ);
  if (error != 0) return ErrnoStatus(error, "start " + command[0]);
  net::UniqueFd pidfd(PidfdOpen(pid));
  if (!pidfd.valid()) {
    const int why = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return ErrnoStatus(why, "pidfd_open for " + command[0]);
  }
  return ChildProcess(pid, std::move(pidfd));
}

ChildProcess::~ChildProcess() {
  if (!pidfd_.valid()) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void ChildProcess::Signal(int signal) const {
  if (pidfd_.valid()) ::kill(pid_, signal);  // not reaped: the id is still the child's
}

std::optional<ChildProcess::Ended> ChildProcess::Reap() {
  if (!pidfd_.valid()) return std::nullopt;
  int status = 0;
  rusage usage{};
  Ended ended;
  const pid_t reaped = ::wait4(pid_, &status, WNOHANG, &usage);
  if (reaped < 0 && errno == ECHILD) {
    // SIGCHLD is ignored, by our parent's will perhaps: the system has reaped it, or is about to.
    if (pollfd fd{pidfd_.get(), POLLIN, 0}; ::poll(&fd, 1, 0) == 0) return std::nullopt;
    pidfd_.reset();
    ended.how = "nobody knows how";
    return ended;
  }
  if (reaped != pid_) return std::nullopt;
  pidfd_.reset();
  ended.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  ended.how = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                  : "exit code " + std::to_string(WEXITSTATUS(status));
  return ended;
}

}  // namespace headrace::coordinator
