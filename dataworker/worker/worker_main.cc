#include "dataworker/worker/worker_main.h"

#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/process/descriptors.h"
#include "base/process/spawn.h"
#include "base/unique_fd.h"
#include "dataworker/cache/cache_registry.h"
#include "dataworker/worker/await_address.h"
#include "dataworker/worker/local_turn.h"
#include "dataworker/worker/private_directory.h"
#include "dataworker/worker/worker.h"
#include "net/exposure.h"
#include "net/keyring.h"
#include "web/metrics_text.h"
#include "web/status_server.h"

namespace headrace::dataworker {
namespace {

constexpr Duration kAskAgainAfter = std::chrono::seconds(1);
constexpr Duration kTermPatience = std::chrono::seconds(10);

int Complain(const Status& status) {
  std::fprintf(stderr, "headrace worker: %s\n", status.message().c_str());
  return 1;
}

// SIGTERM and SIGINT as a descriptor; threads made later inherit the mask.
Result<UniqueFd> TerminationSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return ErrnoStatus(errno, "sigprocmask");
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus(errno, "signalfd");
  return fd;
}

// Readable when the process has ended.
Result<UniqueFd> ProcessEnd(std::int64_t pid) {
  UniqueFd fd = OpenPidfd(static_cast<pid_t>(pid));
  if (!fd.valid()) return ErrnoStatus(errno, "watch parent process " + std::to_string(pid));
  return fd;
}

bool UsesTcp(const WorkerOptions& options) {
  return options.coordinator.starts_with("tcp://") || options.listen.starts_with("tcp://");
}

Result<std::unique_ptr<web::StatusServer>> ServeStatus(net::Reactor& reactor,
                                                       const WorkerOptions& options,
                                                       const Worker& worker) {
  web::StatusSource source;
  source.metrics = [&worker]() -> std::function<std::string()> {
    return [now = worker.Describe()] { return web::WorkerMetricsText(now); };
  };
  source.not_ready = [&worker]() -> std::string {
    const std::string state = worker.Describe().state;
    return state == "ready" ? "" : state == "waiting" ? "no coordinator has answered" : state;
  };
  HR_TRY(auto server,
         web::StatusServer::Start(reactor, {options.http_address, options.http_token_file},
                                  std::move(source)));
  LogInfo("metrics and health at http://" + server->address());
  return server;
}

}  // namespace

std::string CacheTierHelp() {
  std::string help = "A tier of the cache, slower than --cache; repeatable, the fastest first:";
  for (const CacheTierDescriptor* tier : BuiltinCacheTiers().All()) {
    help += "\n  " + tier->name + ": " + tier->summary;
    for (const Setting& setting : tier->AllSettings()) {
      help += "\n    " + setting.name + ": " + setting.help + " [default: " + setting.value + "]";
    }
  }
  return help;
}

int WorkerMain(const WorkerOptions& options) {
  InitLog("worker", LogLevel::kWarning);
  // The memory of samples comes from buffers that are kept. The rest comes and goes with messages,
  // and a few heaps of malloc are enough for it.
  ::mallopt(M_ARENA_MAX, 2);
  RaiseDescriptorLimit();
  ::signal(SIGXFSZ, SIG_IGN);  // memory over `ulimit -f` is an error of its reservation
  Result<UniqueFd> signals = TerminationSignals();
  if (!signals.ok()) return Complain(signals.status());
  UniqueFd parent;
  if (options.parent_pid > 0) {
    Result<UniqueFd> watched = ProcessEnd(options.parent_pid);
    if (!watched.ok()) return Complain(watched.status());
    parent = std::move(watched).value();
  }
  std::optional<UniqueFd> turn;
  if (options.local) {
    const Result<std::string> directory = PrivateDirectory(options.directory);
    if (!directory.ok()) return Complain(directory.status());
    auto awaited = AwaitLocalTurn(*directory, options.coordinator, signals->get(),
                                  parent.valid() ? parent.get() : -1);
    if (!awaited.ok()) return Complain(awaited.status());
    if (!(turn = std::move(awaited).value())) return 0;
  }
  WorkerOptions placed = options;
  if (options.listen.empty() && !options.local && options.coordinator.starts_with("tcp://")) {
    const auto address =
        AwaitAddress([&] { return net::AddressTowards(options.coordinator); }, kAskAgainAfter,
                     signals->get(), parent.valid() ? parent.get() : -1);
    if (!address.ok()) return Complain(address.status());
    if (!address->has_value()) return 0;
    placed.listen = "tcp://" + **address + ":*";
  }
  Result<std::unique_ptr<net::Reactor>> reactor = net::MakeKeyedReactor(
      "hr-worker", UsesTcp(options) ? options.keys : "", {wire::Role::kWorker});
  if (!reactor.ok()) return Complain(reactor.status());

  Status end;
  Result<std::unique_ptr<Worker>> worker = Worker::Start(**reactor, placed, [&](Status status) {
    end = std::move(status);
    (*reactor)->Stop();
  });
  if (!worker.ok()) return Complain(worker.status());
  std::unique_ptr<web::StatusServer> status_server;
  if (!options.http_address.empty()) {
    auto started = ServeStatus(**reactor, options, **worker);
    if (!started.ok()) return Complain(started.status());
    status_server = std::move(started).value();
  }
  (*reactor)->WatchFd(signals->get(), [&] {
    signalfd_siginfo info;
    while (::read(signals->get(), &info, sizeof(info)) == sizeof(info)) {
      (*worker)->Leave(kTermPatience);
    }
  });
  if (parent.valid()) {
    (*reactor)->WatchFd(parent.get(), [&] {
      // Ends at once if the trainer is gone, because then nobody needs an orderly end.
      if (!options.local) ::_exit(0);
      (*reactor)->UnwatchFd(parent.get());
      (*worker)->Leave(kTermPatience);
    });
  }
  const Status ran = (*reactor)->Run();
  status_server.reset();
  (*worker).reset();
  if (!ran.ok()) return Complain(ran);
  // Infeasible: the host has another worker, so a local one is not needed.
  const bool fine = end.ok() || (options.local && end.code() == Code::kInfeasible);
  return fine ? 0 : Complain(end);
}

}  // namespace headrace::dataworker
