#include "trainer_client/local_worker.h"

#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace headrace::client {
namespace {

// For it to answer what other programs had asked; it ends by itself after that.
constexpr std::chrono::milliseconds kPatience{2000};

struct Shared {
  std::mutex mutex;
  std::int64_t pid = 0;                                       // whose they are
  std::map<std::string, std::weak_ptr<LocalWorker>> workers;  // by coordinator
};
// Never destroyed: clients may end after static objects do.
Shared& TheShared() {
  static Shared* const shared = new Shared;
  return *shared;
}

}  // namespace

Result<std::shared_ptr<LocalWorker>> LocalWorker::Acquire(const ClientOptions& options) {
  Shared& shared = TheShared();
  const std::scoped_lock lock(shared.mutex);
  if (shared.pid != ::getpid()) shared.workers.clear();
  shared.pid = ::getpid();
  std::weak_ptr<LocalWorker>& known = shared.workers[options.coordinator];
  if (auto worker = known.lock(); worker && worker->running()) return worker;
  const std::vector<std::string> command = {options.binary.empty() ? "headrace" : options.binary,
                                            "worker",
                                            "--local",
                                            "--coordinator",
                                            options.coordinator,
                                            "--parent-pid",
                                            std::to_string(::getpid()),
                                            "--threads",
                                            std::to_string(options.threads),
                                            "--cache",
                                            std::to_string(options.cache_bytes)};
  HR_TRY(ChildProcess child, ChildProcess::Spawn(command, "/dev/null"));
  auto worker = std::make_shared<LocalWorker>(std::move(child));
  known = worker;
  return worker;
}

LocalWorker::LocalWorker(ChildProcess child) : owner_pid_(::getpid()), child_(std::move(child)) {}

LocalWorker::~LocalWorker() {
  if (owner_pid_ == ::getpid() && child_.Terminate(kPatience)) child_.Kill();
}

}  // namespace headrace::client
