#include "coordinator/coordinator.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/process/allowance.h"
#include "base/process/descriptors.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/coordinator_pools.h"
#include "cli/options.h"
#include "cli/page_source.h"
#include "cli/private_directory.h"
#include "cli/signals.h"
#include "cli/tenants.h"
#include "net/exposure.h"
#include "net/intake_gate.h"
#include "net/keyring.h"
#include "net/reactor.h"
#include "schemas/wire/host_identity.h"
#include "web/status_server.h"

namespace headrace::cli {
namespace {

struct Options {
  std::string listen = "tcp://127.0.0.1:7070";
  bool insecure = false;
  std::string state_dir;
  bool forget_bad_samples = false;
  std::string policy = "utilization";
  std::optional<double> floor;
  std::string tenants;  // path
  coordinator::HourPrices prices;
  bool shared_cache_first = false;
  bool no_replicas = false;
  double source_rate = 0;  // bytes/s; 0: no limit
  PoolFlags pools;
  std::string advertise;
  std::int64_t queued_s = 3600;
  std::int32_t workers = 0;
  std::int32_t most_workers = 0;
  std::int32_t threads = 0;  // for all local workers together; 0: usable CPUs
  std::string cache;         // for all local workers together; CacheBytes reads it
  dataworker::StageRules stages;
  std::vector<std::string> allowed_roots;
  std::vector<std::string> allowed_endpoints;
  coordinator::Quotas quotas;
  std::int64_t heartbeat_ms = 1000;
  bool embedded = false;
  std::string directory;
  std::int64_t parent_pid = 0;
  std::string http_address, http_token_file, http_admin_token_file;
};

// The most workers of a pool.
std::int32_t MostWorkers(const Options& options, const coordinator::PoolRules& pool) {
  return std::min(pool.most, std::max({options.workers, options.most_workers, 1}));
}

// Threads of one worker: an equal part of all local workers' threads, rounded up so that each CPU
// is used.
std::int32_t ThreadsOfWorker(const Options& options, const coordinator::PoolRules& pool) {
  const std::int32_t threads = options.threads > 0 ? options.threads : UsableCpus();
  const std::int32_t workers = MostWorkers(options, pool);
  return (threads + workers - 1) / workers;
}

// `elsewhere`: the pool adds what each worker is to have. Otherwise they divide what this host gives.
std::vector<std::string> WorkerCommand(const Options& options, const coordinator::PoolRules& pool,
                                       bool elsewhere, const std::string& binary,
                                       const std::string& endpoint) {
  const std::int32_t workers = MostWorkers(options, pool);
  const std::uint64_t cache_bytes = CacheBytes(options.cache) / static_cast<std::uint64_t>(workers);
  std::vector<std::string> command = {binary, "worker"};
  const auto add = [&](const char* name, std::string value) {
    command.emplace_back(name);
    command.push_back(std::move(value));
  };
  add("--coordinator", endpoint);
  if (elsewhere) {
    if (options.insecure) command.emplace_back("--insecure");
    for (std::string& word :
         LimitWords(options.stages, options.allowed_roots, options.allowed_endpoints)) {
      command.push_back(std::move(word));
    }
    return command;
  }
  // They reach it by loopback, and would listen there alone.
  if (net::IsAnyAddress(options.listen)) add("--listen", "tcp://0.0.0.0:0");
  if (options.insecure) command.emplace_back("--insecure");
  add("--threads", std::to_string(ThreadsOfWorker(options, pool)));
  add("--cache", std::to_string(cache_bytes));
  for (std::string& word :
       LimitWords(options.stages, options.allowed_roots, options.allowed_endpoints)) {
    command.push_back(std::move(word));
  }
  // Private workers end with the trainer, not with its coordinator: an iteration goes on without a
  // coordinator.
  const std::int64_t parent =
      options.embedded && options.parent_pid > 0 ? options.parent_pid : ::getpid();
  add("--parent-pid", std::to_string(parent));
  if (!options.directory.empty()) add("--directory", options.directory);
  return command;
}

// The address that workers elsewhere are given has this host in it; empty: as it listens.
std::string AdvertisedHost(const Options& options, bool elsewhere) {
  if (!elsewhere) return "";
  if (options.advertise.empty() && net::IsAnyAddress(options.listen)) {
    return wire::ReadHostIdentity().hostname;
  }
  if (options.advertise.empty() && net::IsLocalEndpoint(options.listen)) {
    LogWarning("workers on other hosts do not reach the coordinator at " + options.listen +
               "; say --listen tcp://0.0.0.0:PORT");
  }
  return options.advertise;
}

Status Coordinate(const Options& options) {
  HR_TRY(const StopSignals signals, StopSignals::Block());
  HR_TRY(const std::string binary, OwnPath());
  // A terminal's Ctrl-C is for the trainer; we end when the trainer ends.
  if (options.embedded) ::setpgid(0, 0);
  std::optional<UniqueFd> parent;
  if (options.parent_pid > 0) {
    HR_TRY(parent, WatchProcess(options.parent_pid));
  }
  std::optional<PrivateDirectory> directory;
  if (options.embedded) {
    HR_TRY(directory, PrivateDirectory::Take(options.directory));
  }

  HR_TRY(
      std::unique_ptr<net::Reactor> reactor,
      net::MakeKeyedReactor("hr-coordinator", options.embedded ? "" : KeysDirectory(options.listen),
                            {wire::Role::kCoordinator}));
  Status failure;
  coordinator::CoordinatorOptions wanted;
  wanted.listen = options.embedded ? "ipc://" + options.directory + "/control" : options.listen;
  wanted.insecure = options.insecure;
  wanted.state_dir = options.state_dir;
  wanted.forget_bad_samples = options.forget_bad_samples;
  wanted.policy = options.policy;
  wanted.floor = options.floor;
  if (!options.tenants.empty()) {
    HR_TRY(TenantsFile file, ReadTenants(options.tenants));
    wanted.tenants = std::move(file.tenants);
    wanted.dataset_bytes = std::move(file.dataset_bytes);
  }
  wanted.shared_cache_first = options.shared_cache_first;
  wanted.replicas = !options.no_replicas;
  wanted.prices = options.prices;
  if (options.source_rate > 0) wanted.source_rate = options.source_rate;
  coordinator::PoolRegistry pools;
  RegisterPools(pools);
  HR_TRY(wanted.pools, PoolsOf(options.pools, options.prices.core,
                               options.workers > 0 || options.most_workers > 0));
  const auto is_elsewhere = [&pools](const coordinator::PoolWish& pool) {
    return IsElsewhere(pools, pool);
  };
  if (std::ranges::all_of(wanted.pools, is_elsewhere) &&
      (options.threads > 0 || !options.cache.empty())) {
    return InvalidArgument("--threads and --cache are of local workers; what a worker of --pool " +
                           wanted.pools.front().kind +
                           " has is said by options of that pool, see headrace coordinator --help");
  }
  wanted.advertise = AdvertisedHost(options, std::ranges::any_of(wanted.pools, is_elsewhere));
  wanted.pool_patience.queued = std::chrono::seconds(options.queued_s);
  wanted.workers = options.workers;
  wanted.most_workers = options.most_workers;
  wanted.on_demand_at_least = options.pools.on_demand_at_least;
  wanted.room_within = std::chrono::seconds(options.pools.next_pool_s);
  wanted.worker_cores = ThreadsOfWorker(options, wanted.pools.front().rules);
  wanted.worker_command = [&](const coordinator::PoolWish& pool, const std::string& endpoint) {
    return WorkerCommand(options, pool.rules, is_elsewhere(pool), binary, endpoint);
  };
  wanted.quotas = options.quotas;
  wanted.heartbeat = std::chrono::milliseconds(options.heartbeat_ms);
  if (options.embedded) {
    wanted.may_be_followed = false;
    wanted.lease_all = true;
    wanted.worker_beats = 3;
    for (coordinator::PoolWish& pool : wanted.pools) {
      if (pool.kind == "local") pool.settings.emplace_back("stop-grace-ms", "300");
    }
  }
  wanted.on_failure = [&](const Status& error) {
    failure = error;
    reactor->Stop();
  };
  HR_TRY(std::unique_ptr<coordinator::Coordinator> made,
         coordinator::Coordinator::Make(*reactor, std::move(wanted)));
  const auto end = [&] {
    made->Stop();  // while sockets are open: workers say goodbye, and would wait for an answer
    reactor->Stop();
  };
  reactor->WatchFd(signals.fd(), end);
  if (parent) reactor->WatchFd(parent->get(), end);
  if (directory) {
    HR_RETURN_IF_ERROR(directory->WriteReady(made->endpoint()));
  }
  std::unique_ptr<web::StatusServer> status_server;
  if (!options.http_address.empty()) {
    HR_TRY(status_server,
           ServePage(*reactor, *made, {options.http_address, options.http_token_file},
                     {options.policy, options.http_admin_token_file}));
  }
  LogInfo("coordinator " + std::string(kVersion) + " listens at " + made->endpoint());
  const Status ran = reactor->Run();
  status_server.reset();
  made->Stop();
  LogInfo("coordinator ends");
  return failure.ok() ? ran : failure;
}

std::string PolicyHelp() {
  coordinator::PolicyRegistry policies;
  RegisterPolicies(policies);
  std::string help = "How cores, cache and bandwidth are divided:";
  for (const std::string& name : policies.Names()) {
    help += "\n  " + name + ": " + std::string(policies.Find(name)->summary());
  }
  return help;
}

int Main(const Options& options) {
  InitLog("coordinator", options.embedded ? LogLevel::kError : LogLevel::kInfo);
  RaiseDescriptorLimit();
  net::OpenIntakeGate(ReadAllowance().memory_bytes);
  if (options.embedded && options.directory.empty()) {
    return Fail(InvalidArgument("--embedded needs --dir, the private directory of its sockets"));
  }
  if (!options.embedded) {
    if (Status s = CheckAddress(options.listen); !s.ok()) return Fail(s);
  }
  const Status status = Coordinate(options);
  return status.ok() ? 0 : Fail(status);
}

}  // namespace

void AddCoordinator(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("coordinator", "Serve jobs: give them workers, and keep the books");
  command->add_option("--listen", options->listen, "Where clients and workers reach it")
      ->type_name("ADDRESS")
      ->capture_default_str();
  AddKeys(*command);
  AddInsecure(*command, options->insecure);
  command
      ->add_option("--state-dir", options->state_dir,
                   "Keep a journal there, so that a restart goes on where this one ended")
      ->type_name("DIR");
  command->add_flag("--forget-bad-samples", options->forget_bad_samples,
                    "Give samples to workers again that are held back in the journal");
  command->add_option("--policy", options->policy, PolicyHelp())
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option(
          "--floor", options->floor,
          "Part of its fair share of cores and bandwidth that each job surely has, whatever "
          "the policy prefers [default: 1 for fifo, 0.5 for others]")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("PART");
  command
      ->add_option("--tenants", options->tenants,
                   "Weights and quotas of tenants, and bounds of data sets, a JSON file")
      ->type_name("FILE");
  command
      ->add_option("--source-bytes-per-second", options->source_rate,
                   "Bandwidth of the sources of all jobs together [default: no limit]")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE");
  command->add_flag(
      "--shared-cache-first", options->shared_cache_first,
      "Of programs that wait for a trainer of their tenant's quota, those whose data set "
      "is cached go first");
  command->add_flag("--no-replicas", options->no_replicas,
                    "Workers keep no copies of cached samples that workers of other hosts own");
  AddPools(*command, options->pools);
  command
      ->add_option("--advertise", options->advertise,
                   "Host name or address that the pool's workers elsewhere use for this host "
                   "[default: where it listens, or the host's name]")
      ->type_name("HOST");
  command
      ->add_option("--queued-s", options->queued_s,
                   "Give up a worker that the pool's engine has not started for so long; another "
                   "one is asked for later")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("SECONDS")
      ->capture_default_str();
  command
      ->add_option(
          "--gpu-price", options->prices.gpu,
          "What a GPU costs an hour: with --core-price, the pool grows only where work gets "
          "cheaper by it [default: not known]")
      ->check(CLI::NonNegativeNumber)
      ->type_name("PRICE");
  command
      ->add_option("--core-price", options->prices.core,
                   "What a core of a pool costs an hour that says no price, in the same currency")
      ->check(CLI::NonNegativeNumber)
      ->type_name("PRICE");
  AddCount(*command, "--workers", options->workers, "Workers of the pool to start and keep alive");
  AddCount(*command, "--max-workers", options->most_workers,
           "Start up to so many while jobs ask for them; those not needed for a minute end");
  AddSharedThreads(*command, options->threads);
  AddCache(*command, options->cache, "Memory cache of all local workers together");
  AddLimits(*command, options->stages, options->allowed_roots, options->allowed_endpoints);
  for (Quota* quota : options->quotas.All()) AddQuota(*command, *quota);
  command->add_option("--heartbeat-ms", options->heartbeat_ms, "How often everybody reports")
      ->check(CLI::Range(10, 60'000))
      ->type_name("MS")
      ->capture_default_str();
  command->add_flag("--embedded", options->embedded,
                    "Serve one program on this host, over sockets in --dir");
  command
      ->add_option("--dir", options->directory,
                   "Private directory of the sockets; with --embedded removed at the end")
      ->type_name("DIR");
  AddHttp(*command, options->http_address, options->http_token_file,
          &options->http_admin_token_file);
  AddParentPid(*command, options->parent_pid);
  command->footer(
      "Examples:\n"
      "  headrace coordinator                                  programs of this host may send "
      "jobs\n"
      "  headrace coordinator --workers 4 --cache 8G           with workers of its own\n"
      "  headrace coordinator --listen tcp://0.0.0.0:7070 --pool slurm --max-workers 32 "
      "--slurm-cores 8\n"
      "  headrace coordinator ... --pool slurm:name=spot,partition=preempt,price=0.01,preemptible "
      "--pool slurm:price=0.04\n"
      "  headrace coordinator --state-dir /var/lib/headrace    remembers jobs across restarts");
  command->callback([&chosen, options] { chosen = [options] { return Main(*options); }; });
}

}  // namespace headrace::cli
