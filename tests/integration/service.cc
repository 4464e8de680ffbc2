#include "tests/integration/service.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "base/process/spawn.h"
#include "base/unique_fd.h"
#include "cli/query.h"

namespace headrace::testing_support {
namespace {

namespace fs = std::filesystem;

int OpenPidfd(int pid) { return headrace::OpenPidfd(pid).release(); }

bool WaitReadable(int fd, int timeout_ms) {
  pollfd poll{fd, POLLIN, 0};
  return ::poll(&poll, 1, timeout_ms) == 1;
}

}  // namespace

Process::Process(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = 0;
  HR_CHECK(::posix_spawnp(&pid, arguments[0], nullptr, nullptr, arguments.data(), environ) == 0);
  pid_ = pid;
}
Process::~Process() { Kill(); }

void Process::Kill() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

bool WaitForEnd(int pid, int timeout_ms) {
  const UniqueFd pidfd(OpenPidfd(pid));
  return !pidfd.valid() || WaitReadable(pidfd.get(), timeout_ms);
}

std::vector<int> ChildrenOf(int pid) {
  std::vector<int> children;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream file(task.path() / "children");
    for (int child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

bool WaitForFile(const std::string& path, int timeout_ms) {
  const UniqueFd notify(::inotify_init1(IN_CLOEXEC));
  ::inotify_add_watch(notify.get(), fs::path(path).parent_path().c_str(), IN_CREATE | IN_MOVED_TO);
  const SteadyTime deadline = Clock::Real().Now() + std::chrono::milliseconds(timeout_ms);
  while (!fs::exists(path)) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::Real().Now());
    if (left.count() <= 0 || !WaitReadable(notify.get(), static_cast<int>(left.count()))) {
      return fs::exists(path);
    }
    char events[4096];
    HR_CHECK(::read(notify.get(), events, sizeof(events)) > 0);
  }
  return true;
}

Cluster::Cluster(int workers, std::string cache) : cache_(std::move(cache)) {
  RestartCoordinator();
  for (int i = 0; i < workers; ++i) AddWorker();
}

void Cluster::RestartCoordinator() {
  const std::string socket = folder_.path() + "/control";
  coordinator_.reset();
  fs::remove(socket);
  // They end with the test, however it ends: a reader of its output waits for all of them.
  coordinator_ = std::make_unique<Process>(std::vector<std::string>{
      HEADRACE_PROGRAM, "coordinator", "--listen", "ipc://" + socket, "--heartbeat-ms", "250",
      "--parent-pid", std::to_string(::getpid())});
  HR_CHECK(WaitForFile(socket, 10'000));
}

void Cluster::AddWorker() {
  const std::string directory = folder_.path() + "/w" + std::to_string(workers_.size());
  workers_.push_back(std::make_unique<Process>(std::vector<std::string>{
      HEADRACE_PROGRAM, "worker", "--coordinator", "ipc://" + folder_.path() + "/control",
      "--directory", directory, "--threads", "1", "--cache", cache_, "--share-from", "0",
      "--parent-pid", std::to_string(::getpid())}));
}

void Cluster::WaitForWorkers() const {
  const std::string address = "ipc://" + folder_.path() + "/control";
  // By worker. A heartbeat is answered with what holds, and one before the last was answered.
  std::map<WorkerId, std::uint64_t> before;
  const SteadyTime deadline = Clock::Real().Now() + std::chrono::seconds(60);
  for (std::size_t told = 0; told < workers_.size();) {
    HR_CHECK(Clock::Real().Now() < deadline);
    const auto status = cli::QueryStatus(address);
    HR_CHECK(status.ok());
    told = 0;
    for (const wire::WorkerStatus& worker : status->workers) {
      const std::uint64_t request = worker.last.request;
      if (request == 0) continue;  // it has only registered
      const auto [first, is_new] = before.try_emplace(worker.info.worker, request);
      if (request >= first->second + 2) ++told;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::shared_ptr<Client> Cluster::Connect(ClientOptions options) const {
  options.coordinator = "ipc://" + folder_.path() + "/control";
  options.workers = 0;
  options.local_worker = false;  // the tests start theirs
  options.job_name = "integration_test";
  auto client = Client::Open(options);
  HR_CHECK(client.ok());
  return *client;
}

ClientOptions EmbeddedOptions(int workers) {
  ClientOptions options;
  options.binary = HEADRACE_PROGRAM;
  options.workers = workers;
  options.threads = workers;
  options.job_name = "integration_test";
  return options;
}

}  // namespace headrace::testing_support
