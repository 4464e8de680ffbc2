// This file is long because all options of one command are in it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/state_file.h"
#include "coordinator/policy/core/policy.h"
#include "simulate/baseline/baseline.h"
#include "simulate/engine.h"
#include "simulate/eviction/experiment.h"
#include "simulate/generate.h"
#include "simulate/plot.h"
#include "simulate/summary.h"
#include "simulate/trace/csv.h"
#include "simulate/trace/trace.h"

namespace headrace::cli {
namespace {

struct Options {
  std::string from_state;
  std::optional<simulate::LiveState> state;  // of that file
  simulate::TraceFiles files;
  simulate::AssignOptions assign;
  simulate::GenerateOptions generate;
  simulate::EngineOptions engine;
  simulate::Cluster cluster;
  std::string policy = "utilization";
  std::string order;  // "": the policy's own, and of a baseline fifo
  std::string cache;
  double cache_gb = 0;
  double source_gbps = 0, link_gbps = 0;
  bool json = false, bound = false;
  std::string plot, jobs_out, timeline, cache_timeline;
  std::string evictions;
  int every = 1;
};

const std::map<std::string, simulate::GpuOrder> kOrders = {
    {"fifo", simulate::GpuOrder::kFifo},
    {"sjf", simulate::GpuOrder::kSjf},
    {"max_min", simulate::GpuOrder::kMaxMin},
    {"least_work", simulate::GpuOrder::kLeastWork},
    {"packed", simulate::GpuOrder::kPacked},
    {"least_service", simulate::GpuOrder::kLeastService},
    {"least_attained", simulate::GpuOrder::kLeastAttained},
    {"sia", simulate::GpuOrder::kSia}};
const std::map<std::string, simulate::CacheMode> kCaches = {
    {"joint", simulate::CacheMode::kJoint},
    {"lru", simulate::CacheMode::kLru},
    {"minio", simulate::CacheMode::kMinio},
    {"quiver", simulate::CacheMode::kQuiver}};

const coordinator::PolicyRegistry& Policies() {
  static const coordinator::PolicyRegistry& registry = *[] {
    auto* made = new coordinator::PolicyRegistry;
    RegisterPolicies(*made);
    return made;
  }();
  return registry;
}

Status WriteFile(const std::filesystem::path& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  stream.flush();
  return stream ? Status::Ok() : NotFound(path.string() + ": cannot be written");
}

Status WritePlots(const std::filesystem::path& folder, const simulate::Trace& trace,
                  const simulate::Cluster& cluster, const simulate::Outcome& outcome) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return NotFound(folder.string() + ": " + error.message());
  for (const auto& [name, chart] : simulate::ChartsOf(trace, cluster, outcome)) {
    HR_RETURN_IF_ERROR(WriteFile(folder / name, simulate::ToSvg(chart)));
  }
  return Status::Ok();
}

Result<simulate::Outcome> Simulate(const Options& options, const simulate::Trace& trace,
                                   const simulate::Cluster& cluster, simulate::CacheMode mode,
                                   simulate::Scheduler& scheduler) {
  if (!options.state) return simulate::Simulate(trace, cluster, mode, options.engine, scheduler);
  return simulate::SimulateFrom(options.state->start, coordinator::kUnlimited, nullptr, trace,
                                cluster, mode, options.engine, scheduler);
}

// Runs one policy, order and cache; writes their names into `setting`.
Result<simulate::Outcome> RunOnce(const Options& options, const simulate::Trace& trace,
                                  simulate::Setting& setting) {
  const coordinator::Policy* policy = Policies().Find(options.policy);
  auto baseline = simulate::MakeBaseline(options.policy);
  std::string cache = options.cache;
  if (cache.empty()) cache = policy != nullptr ? "joint" : "minio";
  setting.cache = cache;
  const simulate::CacheMode mode = kCaches.at(cache);
  setting.order = options.order;
  if (policy != nullptr && !options.order.empty()) {
    simulate::OrderedPolicy scheduler(*policy, kOrders.at(options.order));
    return Simulate(options, trace, setting.cluster, mode, scheduler);
  }
  if (policy != nullptr) {
    simulate::PolicyScheduler scheduler(*policy);
    return Simulate(options, trace, setting.cluster, mode, scheduler);
  }
  if (mode == simulate::CacheMode::kJoint) {
    return InvalidArgument("--cache joint: expected lru, minio or quiver with --policy " +
                           options.policy + ", which does not divide the cache");
  }
  if (setting.order.empty()) setting.order = "fifo";
  simulate::BaselineScheduler scheduler(std::move(baseline), kOrders.at(setting.order));
  return Simulate(options, trace, setting.cluster, mode, scheduler);
}

Result<simulate::Trace> TraceOf(const Options& options) {
  if (!options.state) return ReadTraceFile(options.files, options.assign);
  const bool ends = std::ranges::any_of(options.state->trace.jobs, [](const simulate::Job& job) {
    return std::isfinite(job.iterations);
  });
  if (ends) return options.state->trace;
  return Unavailable(
      "the remaining work of no job is known: `headrace advise` looks an hour ahead");
}

Status Run(const Options& options) {
  HR_TRY(const simulate::Trace trace, TraceOf(options));
  simulate::Setting setting;
  setting.trace = options.state ? options.from_state : options.files.trace;
  setting.format = trace.format;
  setting.policy = options.policy;
  setting.cluster = options.cluster;
  if (options.cache_gb > 0 || !options.state) setting.cluster.cache_bytes = options.cache_gb * 1e9;
  if (options.source_gbps > 0) setting.cluster.source_rate = options.source_gbps * 1e9 / 8;
  if (options.link_gbps > 0) setting.cluster.link = options.link_gbps * 1e9 / 8;
  setting.profile_cores = options.assign.profile_cores;
  setting.all_separable = options.assign.all_separable;
  setting.noise = options.engine.noise;
  setting.restart_s = options.engine.restart_s;
  setting.seed = options.engine.seed;
  HR_TRY(const simulate::Outcome outcome, RunOnce(options, trace, setting));
  simulate::Summary summary = Summarise(trace, setting.cluster, outcome);
  if (options.bound) summary.bounds = BoundsOf(trace, setting.cluster, options.engine);
  if (!options.plot.empty()) {
    HR_RETURN_IF_ERROR(WritePlots(options.plot, trace, setting.cluster, outcome));
  }
  if (!options.jobs_out.empty()) {
    HR_RETURN_IF_ERROR(WriteFile(options.jobs_out, JobsCsv(trace, outcome)));
  }
  if (!options.timeline.empty()) {
    HR_RETURN_IF_ERROR(WriteFile(options.timeline, TimelineCsv(outcome)));
  }
  if (!options.cache_timeline.empty()) {
    HR_RETURN_IF_ERROR(WriteFile(options.cache_timeline, CacheCsv(trace, outcome)));
  }
  const std::string text =
      options.json ? SummaryJson(setting, summary) : SummaryTable(setting, summary);
  std::fputs(text.c_str(), stdout);
  return Status::Ok();
}

Status Generate(simulate::GenerateOptions options, const Options& others) {
  options.gpus = others.cluster.gpus;
  options.seed = others.engine.seed;
  options.private_datasets = others.assign.private_datasets;
  HR_TRY(const simulate::Trace trace, simulate::Generate(options));
  std::fputs(WriteTrace(trace).c_str(), stdout);
  return Status::Ok();
}

// DLCache's experiment on eviction, with the objects of a file.
Status RunEvictions(const Options& options) {
  HR_TRY(const std::string text, simulate::ReadFile(options.evictions));
  HR_TRY(const simulate::ObjectSets sets, simulate::ObjectSets::Read(options.evictions, text));
  std::fputs(EvictionTable(sets, options.every).c_str(), stdout);
  return Status::Ok();
}

std::vector<std::string> Names() {
  std::vector<std::string> names = Policies().Names();
  for (const std::string& name : simulate::BaselineNames()) names.push_back(name);
  return names;
}

std::string PolicyHelp() {
  std::string help = "\nPolicies of the coordinator:\n";
  const auto add = [&](const std::string& name, std::string_view summary) {
    help += "  " + name + std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') +
            std::string(summary) + "\n";
  };
  for (const std::string& name : Policies().Names()) add(name, Policies().Find(name)->summary());
  help += "What others do, to compare with:\n";
  for (const std::string& name : simulate::BaselineNames()) {
    add(name, simulate::MakeBaseline(name)->summary());
  }
  return help;
}

template <typename Value>
std::vector<std::string> Keys(const std::map<std::string, Value>& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

void AddOptions(CLI::App& command, Options& o) {
  auto* trace = command.add_option("--trace", o.files.trace, "Jobs to train")->type_name("FILE");
  auto* generate =
      command
          .add_option("--generate", o.generate.jobs,
                      "Write a synthetic trace of so many jobs to standard output instead")
          ->check(CLI::Range(1, 10'000'000))
          ->type_name("N");
  trace->excludes(generate);
  command
      .add_option("--from-state", o.from_state,
                  "Go on from a state (`headrace advise --state`) in place of a trace; -: standard "
                  "input. What is not given otherwise is as there")
      ->excludes(trace)
      ->excludes(generate)
      ->type_name("FILE");
  command
      .add_option(
          "--evictions", o.evictions,
          "Repeat DLCache's experiment on eviction instead, with its table of objects: a row "
          "for each run (CSV) to standard output")
      ->excludes(trace)
      ->excludes(generate)
      ->type_name("FILE");
  command.add_option("--every", o.every, "With --evictions: one in so many runs")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--policy", o.policy, "Who divides cores, cache and bandwidth; see below")
      ->check(CLI::IsMember(Names()))
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--gpus", o.cluster.gpus, "GPUs of the cluster")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--cpu-per-gpu", o.cluster.cpu_per_gpu, "Cores that come with each GPU")
      ->check(CLI::Range(0.01, 10000.0))
      ->capture_default_str();
  command
      .add_option("--extra-cores", o.cluster.extra_cores,
                  "Cores on hosts without GPUs: for data workers alone")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command.add_option("--cache-gb", o.cache_gb, "Cache of the cluster, in GB (1e9 bytes)")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command
      .add_option("--cache-hosts", o.cluster.cache_hosts,
                  "Hosts that the cache is on; what one has cached, the others read again. 1: one "
                  "cache, as traces take it")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command
      .add_option(
          "--floor", o.cluster.floor,
          "Part of its fair share of cores and bandwidth that each job surely has; with our "
          "policies [default: 1 for fifo, 0.5 for others]")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("PART");
  command.add_flag("--shared-cache-first", o.cluster.shared_cache_first,
                   "Jobs that wait and whose data set is cached go first; with our policies");
  command.add_flag("--fill", o.engine.fill,
                   "What is idle of a source with a limit fills the cache, as idle workers do");
  command
      .add_option("--source-gbps", o.source_gbps,
                  "Bandwidth of the source, in Gbit/s [default: no limit]")
      ->check(CLI::Range(1e-6, 1e9));
  command
      .add_option("--link-gbps", o.link_gbps,
                  "Bandwidth of each host's network, each way, in Gbit/s [default: no limit]")
      ->check(CLI::Range(1e-6, 1e9));
  command
      .add_option("--gpus-per-host", o.cluster.gpus_per_host,
                  "With --link-gbps: GPUs of a host; extra cores are on hosts with as many cores")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command
      .add_option("--cache", o.cache,
                  "How the cache is divided: joint (by the policy), lru, minio, quiver "
                  "[default: joint, and minio where the policy does not do it]")
      ->check(CLI::IsMember(Keys(kCaches)))
      ->type_name("NAME");
  command
      .add_option("--order", o.order,
                  "Who gets GPUs first, in place of the policy's own order: fifo, sjf, max_min, "
                  "least_work, packed (least_work, for jobs that can use GPUs), "
                  "least_service (Muri-S), least_attained (Tiresias, Muri-L), sia [default: the "
                  "policy's own; fifo where it does not say]")
      ->check(CLI::IsMember(Keys(kOrders)))
      ->type_name("NAME");
  command
      .add_option("--profile-cores", o.assign.profile_cores,
                  "Cores a GPU that the trace's times were measured with")
      ->check(CLI::Range(0.01, 10000.0))
      ->capture_default_str();
  command.add_flag("--all-separable", o.assign.all_separable,
                   "The input of reinforcement learning, too, can leave the trainer's host");
  command.add_flag("--private-datasets", o.assign.private_datasets, "Each job has data of its own");
  command
      .add_option("--throughputs", o.files.throughputs,
                  "Gavel's table of throughputs [default: beside the trace]")
      ->type_name("FILE");
  command
      .add_option("--profiles", o.files.profiles, "Synergy's profiles [default: beside the trace]")
      ->type_name("FILE");
  command
      .add_option("--noise", o.engine.noise, "Relative error of all that is measured, e.g. 0.05")
      ->check(CLI::Range(0.0, 2.0));
  command
      .add_option("--periods", o.engine.most_periods,
                  "Most control periods simulated after an event")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  command
      .add_option("--round-s", o.engine.round_s,
                  "Seconds between decisions on GPUs, where the policy takes them away")
      ->check(CLI::Range(1.0, 1e7))
      ->capture_default_str();
  command
      .add_option("--restart-s", o.engine.restart_s,
                  "Seconds for which a job that was stopped holds GPUs again before it makes steps")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command.add_flag("--bound", o.bound,
                   "Say, too, what no policy can better, and which share of that is reached");
  command.add_option("--seed", o.engine.seed, "Of noise, of drawn models, of --generate")
      ->capture_default_str();
  command.add_flag("--json", o.json, "JSON instead of a table");
  command.add_option("--plot", o.plot, "Write pictures (SVG) there, too")->type_name("DIR");
  command.add_option("--jobs-out", o.jobs_out, "Write a row for each job (CSV) there, too")
      ->type_name("FILE");
  command.add_option("--timeline", o.timeline, "Write a row for each change (CSV) there, too")
      ->type_name("FILE");
  command
      .add_option("--cache-timeline", o.cache_timeline,
                  "Write a row for each job that reads data at each change (CSV) there, too")
      ->type_name("FILE");
  command
      .add_option("--load", o.generate.load, "With --generate: GPU time asked over what is there")
      ->check(CLI::Range(0.001, 1000.0))
      ->capture_default_str();
  command
      .add_option("--median-s", o.generate.median_s,
                  "With --generate: duration that half of the jobs exceed, in seconds")
      ->check(CLI::Range(1.0, 1e7))
      ->capture_default_str();
  command.add_option("--vision", o.generate.vision, "With --generate: share of vision models")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--speech", o.generate.speech, "With --generate: share of speech models")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_flag("--large-datasets", o.generate.large_datasets,
                   "With --generate: jobs that read data sets of 143 GB to 20.9 TB");
}

// Reads the state that is asked for; what was given beside it stays.
Status ReadState(const CLI::App& command, Options& options) {
  if (options.from_state.empty()) return Status::Ok();
  HR_TRY(options.state, ReadStateFile(options.from_state));
  const auto given = [&](const char* name) { return command.count(name) > 0; };
  if (!given("--policy")) options.policy = options.state->policy;
  simulate::Cluster cluster = options.state->cluster;
  if (given("--gpus")) cluster.gpus = options.cluster.gpus;
  if (given("--cpu-per-gpu")) cluster.cpu_per_gpu = options.cluster.cpu_per_gpu;
  if (given("--extra-cores")) cluster.extra_cores = options.cluster.extra_cores;
  if (given("--cache-hosts")) cluster.cache_hosts = options.cluster.cache_hosts;
  if (given("--gpus-per-host")) cluster.gpus_per_host = options.cluster.gpus_per_host;
  if (given("--floor")) cluster.floor = options.cluster.floor;
  cluster.shared_cache_first |= options.cluster.shared_cache_first;
  options.cluster = std::move(cluster);
  return Status::Ok();
}

}  // namespace

void AddSimulate(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "simulate",
      "Train the jobs of a trace on a virtual cluster, with the coordinator's policies");
  AddOptions(*command, *options);
  command->footer(PolicyHelp() +
                  "\nFormats of traces: docs/reference/traces.md.\n"
                  "\nExamples:\n"
                  "  headrace simulate --generate 1000 --gpus 64 > trace.csv\n"
                  "  headrace simulate --trace trace.csv --gpus 64 --cpu-per-gpu 3\n"
                  "  headrace simulate --trace trace.csv --gpus 64 --policy fixed --json");
  command->callback([&chosen, options, command] {
    const bool generates = command->count("--generate") > 0;
    const bool evicts = !options->evictions.empty();
    if (!generates && !evicts && options->files.trace.empty() && options->from_state.empty()) {
      throw CLI::RequiredError("--trace FILE, --from-state FILE, --generate N or --evictions FILE");
    }
    options->assign.seed = options->engine.seed;
    options->engine.record_cache = !options->cache_timeline.empty();
    chosen = [options, command, generates, evicts] {
      if (const Status read = ReadState(*command, *options); !read.ok()) return Fail(read);
      const Status status = evicts      ? RunEvictions(*options)
                            : generates ? Generate(options->generate, *options)
                                        : Run(*options);
      return status.ok() ? 0 : Fail(status);
    };
  });
}

}  // namespace headrace::cli
