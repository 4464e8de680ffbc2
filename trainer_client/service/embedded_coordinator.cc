#include "trainer_client/service/embedded_coordinator.h"

#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
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
#include "base/process/stats.h"
#include "trainer_client/service/start_program.h"

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
  const std::vector<std::string> command = {options.binary.empty() ? "headrace" : options.binary,
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
                                            CacheWord(options.cache_bytes)};
  // Its last lines are part of the error when it does not start.
  HR_TRY(child_, StartProgram(command, directory_ + "/log"));
  return {};
}

Status EmbeddedService::WaitReady(std::chrono::milliseconds timeout) {
  const UniqueFd notify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
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
    // Without inotify (its watches are limited), looks again every 5 ms.
    std::array<pollfd, 2> polls{pollfd{child_.pidfd(), POLLIN, 0}, pollfd{notify.get(), POLLIN, 0}};
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

double EmbeddedService::CpuSeconds() const {
  return child_.pid() > 0 && owner_pid_ == ::getpid() ? ProcessTreeCpuSeconds(child_.pid()) : 0;
}

EmbeddedService::~EmbeddedService() {
  if (owner_pid_ == ::getpid()) Stop();
}

void EmbeddedService::Stop() {
  child_.Signal(SIGTERM);
  (void)child_.AwaitEnd(kStopTimeout);
  child_.Kill();  // also the workers of a killed coordinator
  if (!directory_.empty()) {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
}

}  // namespace headrace::client
