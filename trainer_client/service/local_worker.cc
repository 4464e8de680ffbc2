#include "trainer_client/service/local_worker.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/log.h"
#include "trainer_client/service/start_program.h"

namespace headrace::client {
namespace {

// The time in which it answers requests of other programs; it ends by itself after that.
constexpr std::chrono::milliseconds kPatience{2000};
constexpr Duration kFirstPause = std::chrono::seconds(1);
// Short: code that only this host may run waits for it. A start costs some 50 ms of CPU.
constexpr Duration kLongestPause = std::chrono::seconds(2);
constexpr Duration kHealthyAfter = std::chrono::seconds(60);

struct SharedWorkers {
  std::mutex mutex;
  std::int64_t pid = 0;                                       // the process that owns them
  std::map<std::string, std::weak_ptr<LocalWorker>> workers;  // by coordinator
};
// Never destroyed: clients may end after static objects do.
SharedWorkers& TheSharedWorkers() {
  static SharedWorkers* const shared = new SharedWorkers;
  return *shared;
}

}  // namespace

Result<std::shared_ptr<LocalWorker>> LocalWorker::Acquire(const ClientOptions& options) {
  if (!options.keys.empty() && ::access((options.keys + "/worker.key").c_str(), F_OK) != 0) {
    return NotFound(options.keys + " has no worker.key, which it would need");
  }
  SharedWorkers& shared = TheSharedWorkers();
  const std::scoped_lock lock(shared.mutex);
  if (shared.pid != ::getpid()) shared.workers.clear();
  shared.pid = ::getpid();
  std::weak_ptr<LocalWorker>& known = shared.workers[options.coordinator];
  auto worker = known.lock();
  if (!worker) {
    worker = std::make_shared<LocalWorker>(std::vector<std::string>{
        options.binary.empty() ? "headrace" : options.binary, "worker", "--local", "--coordinator",
        options.coordinator, "--parent-pid", std::to_string(::getpid()), "--threads",
        std::to_string(options.threads), "--cache", CacheWord(options.cache_bytes), "--keys",
        options.keys});
  }
  HR_RETURN_IF_ERROR(worker->Want(Clock::Real().Now()));
  known = worker;
  return worker;
}

LocalWorker::LocalWorker(std::vector<std::string> command)
    : owner_pid_(::getpid()), command_(std::move(command)) {}

LocalWorker::~LocalWorker() {
  if (owner_pid_ != ::getpid()) return;
  child_.Signal(SIGTERM);
  if (child_.AwaitEnd(kPatience)) child_.Kill();
}

std::int64_t LocalWorker::pid() const {
  const std::scoped_lock lock(mutex_);
  return child_.running() ? child_.pid() : 0;
}

Status LocalWorker::Want(SteadyTime now) {
  const std::scoped_lock lock(mutex_);
  return child_.running() ? Status::Ok() : Start(now);
}

Status LocalWorker::Start(SteadyTime now) {
  child_.Kill();  // what is left of one that died
  HR_TRY(child_, StartProgram(command_, "/dev/null"));
  started_ = now;
  return Status::Ok();
}

void LocalWorker::Keep(SteadyTime now) {
  const std::scoped_lock lock(mutex_);
  if (child_.running()) return;
  if (child_.pid() != 0) {
    const std::optional<ChildProcess::Ended> ended = child_.Look();
    child_.Kill();
    if (!ended || !ended->failed) {
      pause_ = {};
      return;
    }
    pause_ = now - started_ >= kHealthyAfter
                 ? kFirstPause
                 : std::clamp<Duration>(2 * pause_, kFirstPause, kLongestPause);
    restart_ = now + pause_;
    if (pause_ < kLongestPause || now - said_ >= kHealthyAfter) {
      said_ = now;
      LogWarning("the worker on this host " + ended->how + "; it starts again in " +
                 std::to_string(std::chrono::duration_cast<std::chrono::seconds>(pause_).count()) +
                 " s");
    }
  }
  if (pause_ == Duration{} || now < restart_) return;
  if (Status started = Start(now); !started.ok()) {
    LogWarning("no worker on this host: " + started.message());
    restart_ = now + kHealthyAfter;
  }
}

}  // namespace headrace::client
