#include "cli/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/process/spawn.h"

namespace headrace::cli {

Result<StopSignals> StopSignals::Block() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return ErrnoStatus(errno, "sigprocmask");
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // past `ulimit -f` the write then fails, and names the file
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus(errno, "signalfd");
  return StopSignals(std::move(fd));
}

Result<UniqueFd> WatchProcess(std::int64_t pid) {
  UniqueFd fd = OpenPidfd(static_cast<pid_t>(pid));
  if (fd.valid()) return fd;
  if (errno == ESRCH) return NotFound("process " + std::to_string(pid) + " has ended");
  return ErrnoStatus(errno, "pidfd_open " + std::to_string(pid));
}

}  // namespace headrace::cli
