#include "trainer_client/embedded.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/process_stats.h"

namespace headrace::client {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kStopTimeout{2000};

struct Shared {
  std::mutex mutex;
  std::weak_ptr<EmbeddedService> service;
  std::int64_t pid = 0;
};
// Never destroyed: clients may end after static objects do.
Shared& TheShared() {
  static Shared* const shared = new Shared;
  return *shared;
}

int WaitReadable(int fd, std::chrono::milliseconds timeout) {
  pollfd poll{fd, POLLIN, 0};
  return ::poll(&poll, 1, static_cast<int>(std::max<std::int64_t>(timeout.count(), 0)));
}

}  // namespace

double ProcessTreeCpuSeconds(std::int64_t pid) {
  double seconds = ProcessCpuSeconds(pid);
  std::error_code error;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", error)) {
    std::ifstream children(task.path() / "children");
    for (std::int64_t child = 0; children >> child;) seconds += ProcessTreeCpuSeconds(child);
  }
  return seconds;
}

Result<std::shared_ptr<EmbeddedService>> EmbeddedService::Acquire(const ClientOptions& options) {
  Shared& shared = TheShared();
  const std::scoped_lock lock(shared.mutex);
  if (auto service = shared.service.lock();
      service && shared.pid == ::getpid() && service->running()) {
    return service;
  }
  std::shared_ptr<EmbeddedService> service(new EmbeddedService);
  HR_RETURN_IF_ERROR(service->Start(options));
  shared.service = service;
  shared.pid = ::getpid();
  return service;
}

Status EmbeddedService::Start(const ClientOptions& options) {
  owner_pid_ = ::getpid();
  HR_RETURN_IF_ERROR(MakeDirectory());
  HR_RETURN_IF_ERROR(Spawn(options));
  return WaitReady(options.connect_timeout);
}

Status EmbeddedService::MakeDirectory() {
  std::vector<std::string> places;
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr) {
    places.emplace_back(runtime);
  }
  places.emplace_back("/tmp");  // not TMPDIR: a socket's path has at most 107 bytes
  int error = 0;
  for (const std::string& place : places) {
    std::string path = place + "/headrace-XXXXXX";
    if (path.size() > 60) continue;
    if (::mkdtemp(path.data()) != nullptr) {
      directory_ = path;
      return Status::Ok();
    }
    error = errno;
  }
  return ErrnoStatus(error, "making a private directory in " + places.back());
}

Status EmbeddedService::Spawn(const ClientOptions& options) {
  const std::string binary = options.binary.empty() ? "headrace" : options.binary;
  const std::vector<std::string> command = {binary,
                                            "coordinator",
                                            "--embedded",
                                            "--dir",
                                            directory_,
                                            "--parent-pid",
                                            std::to_string(owner_pid_),
                                            "--workers",
                                            std::to_string(options.workers),
                                            "--threads",
                                            std::to_string(options.threads),
                                            "--cache",
                                            std::to_string(options.cache_bytes)};
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  // Shown when it does not start; with HEADRACE_LOG set the user wants to see it as it comes.
  if (std::getenv("HEADRACE_LOG") == nullptr) {
    const std::string log = directory_ + "/log";
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
  // A process group of its own: a Ctrl-C in the terminal is for the trainer to handle.
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int error =
      ::posix_spawnp(&pid, binary.c_str(), &files, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (error == ENOENT || error == EACCES) {
    return NotFound("cannot run the headrace program at " + binary + " (" + std::strerror(error) +
                    "); install the package again, or name it by ClientOptions::binary");
  }
  if (error != 0) return ErrnoStatus(error, "starting " + binary);
  pid_ = pid;
  pidfd_ = net::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd_.valid()) {
    const int failed = errno;
    ::kill(pid, SIGKILL);
    return ErrnoStatus(failed, "pidfd_open");
  }
  return Status::Ok();
}

Status EmbeddedService::WaitReady(std::chrono::milliseconds timeout) {
  const net::UniqueFd notify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (notify.valid()) {
    ::inotify_add_watch(notify.get(), directory_.c_str(), IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE);
  }
  const std::string path = directory_ + "/ready";
  const SteadyTime deadline = Clock::Real().Now() + timeout;
  for (;;) {
    std::ifstream ready(path);
    if (ready && std::getline(ready, endpoint_) && !endpoint_.empty() && !ready.eof()) {
      return Status::Ok();
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::Real().Now());
    if (left.count() <= 0) {
      return Unavailable("the local coordinator was not ready within " +
                         std::to_string(timeout.count()) + " ms" + LastLines());
    }
    // Without inotify (its watches are limited), look again every 5 ms.
    std::array<pollfd, 2> polls{pollfd{pidfd_.get(), POLLIN, 0}, pollfd{notify.get(), POLLIN, 0}};
    const auto wait = notify.valid() ? left : std::min(left, std::chrono::milliseconds(5));
    (void)::poll(polls.data(), polls.size(), static_cast<int>(wait.count()));
    if ((polls[0].revents & POLLIN) != 0) {
      return Unavailable("the local coordinator ended at its start" + LastLines());
    }
    std::array<char, 4096> events;
    while (notify.valid() && ::read(notify.get(), events.data(), events.size()) > 0) {
    }
  }
}

std::string EmbeddedService::LastLines() const {
  std::ifstream log(directory_ + "/log", std::ios::binary);
  std::ostringstream text;
  text << log.rdbuf();
  std::string lines = text.str();
  constexpr std::size_t kMost = 2000;
  if (lines.size() > kMost) lines.erase(0, lines.size() - kMost);
  while (!lines.empty() && lines.back() == '\n') lines.pop_back();
  return lines.empty() ? "" : "; its last words:\n" + lines;
}

bool EmbeddedService::running() const {
  return pid_ > 0 && pidfd_.valid() &&
         WaitReadable(pidfd_.get(), std::chrono::milliseconds(0)) == 0;
}

double EmbeddedService::CpuSeconds() const {
  return pid_ > 0 && owner_pid_ == ::getpid() ? ProcessTreeCpuSeconds(pid_) : 0;
}

EmbeddedService::~EmbeddedService() {
  if (owner_pid_ == ::getpid()) Stop();
}

// Workers that a killed coordinator left behind are in its process group.
void EmbeddedService::KillGroup() const {
  siginfo_t info{};
  const bool ours =
      ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  const auto pid = static_cast<pid_t>(pid_);
  // Reaped by the program itself: the id is no other's as long as the group has members.
  if (ours || (::kill(pid, 0) != 0 && errno == ESRCH)) ::kill(-pid, SIGKILL);
}

void EmbeddedService::Stop() {
  if (pid_ > 0) {
    // By pidfd: the program may have reaped the child itself, and its id be another's by now.
    const auto signal = [this](int number) {
      (void)::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
    };
    signal(SIGTERM);
    if (WaitReadable(pidfd_.get(), kStopTimeout) == 0) signal(SIGKILL);
    KillGroup();
    int status = 0;
    while (::waitpid(static_cast<pid_t>(pid_), &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
  }
  if (!directory_.empty()) {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
}

}  // namespace headrace::client
