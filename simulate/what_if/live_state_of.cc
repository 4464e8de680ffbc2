#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "simulate/what_if/live_state.h"

// A coordinator's word on its cluster, as a state.
namespace headrace::simulate {
namespace {

using coordinator::kUnlimited;

// The size of data of which nothing is cached, in bytes: no cache is of use for it.
constexpr double kTooLarge = 1e18;

double Sane(double value) { return std::isfinite(value) && value > 0 ? value : 0; }
double LimitOf(double value) { return Sane(value) > 0 ? value : kUnlimited; }

// The ranks of one program, as one job.
struct Program {
  std::vector<const wire::JobStatus*> ranks;
  [[nodiscard]] const wire::JobStatus& first() const { return *ranks.front(); }
};

std::vector<Program> ProgramsOf(const wire::ClusterStatus& status, LiveState& state) {
  std::map<std::tuple<std::string, std::string, JobId>, Program> programs;
  for (const wire::JobStatus& job : status.jobs) {
    // Who gets no worker takes nothing from others.
    if (job.state == "lost" || job.state == "waiting: cancelled by order") continue;
    programs[{job.tenant, job.group, job.group.empty() ? job.job : JobId()}].ranks.push_back(&job);
  }
  std::vector<Program> measured;
  for (auto& [key, program] : programs) {
    std::ranges::sort(program.ranks, {}, &wire::JobStatus::job);
    const bool known = std::ranges::all_of(
        program.ranks, [](const wire::JobStatus* rank) { return Sane(rank->need.ready_rate) > 0; });
    if (known) {
      measured.push_back(std::move(program));
    } else {
      state.unmeasured.push_back(std::to_string(program.first().job.value));
    }
  }
  std::ranges::sort(measured, [](const Program& a, const Program& b) {
    return std::pair(a.first().opened_ms, a.first().job) <
           std::pair(b.first().opened_ms, b.first().job);
  });
  return measured;
}

// Positions of data sets by job.
std::map<JobId, std::size_t> DatasetsOf(const wire::ClusterStatus& status, LiveState& state) {
  std::map<JobId, std::size_t> of_jobs;
  for (const wire::DatasetStatus& each : status.datasets) {
    if (each.bytes == 0 || each.rows <= 0 || each.jobs.empty()) continue;
    double cached = 0;
    for (const wire::DatasetPart& part : each.parts) cached += static_cast<double>(part.bytes);
    const auto bytes = static_cast<double>(each.bytes);
    const std::size_t position = state.trace.datasets.size();
    for (const JobId job : each.jobs) {
      const auto [at, is_new] = of_jobs.try_emplace(job, position);
      // The largest data set stands for a job.
      if (!is_new && state.trace.datasets[at->second].bytes < bytes) at->second = position;
    }
    state.trace.datasets.push_back({each.name, bytes});
    state.start.cached_bytes.push_back(std::min(cached, bytes));
  }
  return of_jobs;
}

double EntryBytes(const wire::ClusterStatus& status, JobId job, double bytes) {
  for (const wire::DatasetStatus& each : status.datasets) {
    const bool reads = std::ranges::find(each.jobs, job) != each.jobs.end();
    if (reads && each.rows > 0 && static_cast<double>(each.bytes) == bytes) {
      return bytes / static_cast<double>(each.rows);
    }
  }
  return 1;
}

// Adds the program's job, as the coordinator's planner puts ranks together.
void AddJob(const wire::ClusterStatus& status, const Program& program,
            const std::map<JobId, std::size_t>& datasets, LiveState& state) {
  Job job;
  JobStart start;
  const wire::JobStatus& first = program.first();
  job.id = std::to_string(first.job.value);
  job.model = first.name;
  job.tenant = first.tenant.empty() ? "default" : first.tenant;
  job.priority = first.priority;
  job.gpus = static_cast<int>(program.ranks.size());
  job.arrival_s = std::min(static_cast<double>(first.opened_ms) * 1e-3, state.start.time_s);
  double rate = 0, hits = 0, remaining = 0;
  for (const wire::JobStatus* rank : program.ranks) {
    const double each = rank->need.ready_rate;
    rate += each;
    hits += each * std::clamp(Sane(rank->need.hit_share), 0.0, 1.0);
    job.input_core_s += each * Sane(rank->need.miss_cost);
    job.hit_core_s += each * Sane(rank->need.hit_cost);
    job.sample_bytes += each * Sane(rank->need.miss_bytes);
    job.sent_bytes += each * static_cast<double>(rank->sent_bytes_per_sample);
    remaining +=
        rank->remaining_samples < 0 ? kUnlimited : static_cast<double>(rank->remaining_samples);
    start.done += static_cast<double>(rank->totals.samples);
    start.useful_gpu_s += static_cast<double>(rank->totals.step_ns) * 1e-9;
    start.cores += rank->granted_millicores * 1e-3;
    start.source_rate += static_cast<double>(rank->source_bytes_per_second_limit);
  }
  for (double* mean : {&job.input_core_s, &job.hit_core_s, &job.sample_bytes, &job.sent_bytes}) {
    *mean /= rate;
  }
  // An iteration is a sample.
  job.batch = 1;
  job.step_s = 1 / rate;
  job.iterations = start.done + remaining;
  start.running = true;
  start.start_s = job.arrival_s;
  start.run_s = state.start.time_s - job.arrival_s;
  start.useful_gpu_s = std::min(start.useful_gpu_s, start.run_s * job.gpus);
  if (start.source_rate <= 0) start.source_rate = kUnlimited;
  start.cached_share = hits / rate;
  for (const wire::JobStatus* rank : program.ranks) {
    const auto at = datasets.find(rank->job);
    if (at == datasets.end()) continue;
    const double bytes = state.trace.datasets[at->second].bytes;
    job.dataset = static_cast<std::int32_t>(at->second);
    job.entry_bytes = EntryBytes(status, rank->job, bytes);
    // It reads the data set again and again, and this is how far it has come.
    start.unread = bytes - std::fmod(start.done * job.entry_bytes, bytes);
    break;
  }
  if (job.dataset < 0 && job.sample_bytes > 0) {
    job.dataset = static_cast<std::int32_t>(state.trace.datasets.size());
    job.entry_bytes = job.sample_bytes;
    state.trace.datasets.push_back({"of job " + job.id, kTooLarge});
    state.start.cached_bytes.push_back(0);
    start.unread = kTooLarge;
    start.cached_share = 0;
  }
  state.trace.jobs.push_back(std::move(job));
  state.start.jobs.push_back(start);
}

void AddWorkers(const wire::ClusterStatus& status, LiveState& state, double& cores) {
  for (const wire::WorkerStatus& each : status.workers) {
    if (each.state != "ready") continue;
    state.workers.push_back(
        {std::to_string(each.info.worker.value) + " on " + each.info.host.hostname,
         Sane(each.speed) * each.info.usable_cores(), static_cast<double>(each.info.cache_bytes),
         static_cast<double>(each.info.link_bytes_per_second)});
    cores += state.workers.back().cores;
    state.cluster.cache_bytes += state.workers.back().cache_bytes;
  }
}

void AddRules(const wire::PolicyRules& rules, LiveState& state) {
  state.policy = rules.policy;
  state.cluster.source_rate = LimitOf(rules.source_bytes_per_second);
  if (rules.floor >= 0 && rules.floor <= 1) state.cluster.floor = rules.floor;
  state.cluster.shared_cache_first = rules.shared_cache_first;
  for (const wire::TenantRules& each : rules.tenants) {
    coordinator::Tenant tenant{each.name, Sane(each.weight) > 0 ? each.weight : 1};
    tenant.quota = {LimitOf(each.gpus), LimitOf(each.cores), LimitOf(each.cache_bytes),
                    LimitOf(each.source_bytes_per_second)};
    state.cluster.tenants.push_back(std::move(tenant));
  }
}

}  // namespace

std::string ProgramOf(const wire::ClusterStatus& status, const std::string& job) {
  const auto named = std::ranges::find_if(status.jobs, [&](const wire::JobStatus& each) {
    return std::to_string(each.job.value) == job;
  });
  if (named == status.jobs.end() || named->group.empty()) return job;
  JobId least = named->job;
  for (const wire::JobStatus& each : status.jobs) {
    const bool rank = each.group == named->group && each.tenant == named->tenant;
    if (rank && each.state != "lost") least = std::min(least, each.job);
  }
  return std::to_string(least.value);
}

Result<LiveState> LiveStateOf(const wire::ClusterStatus& status) {
  if (status.rules.policy.empty()) {
    return Unsupported("the coordinator is of release " + status.version +
                       ", which does not say what its jobs need");
  }
  LiveState state;
  state.trace.format = "state";
  state.start.time_s = static_cast<double>(status.wall_ms) * 1e-3;
  AddRules(status.rules, state);
  double cores = 0;
  AddWorkers(status, state, cores);
  const std::vector<Program> programs = ProgramsOf(status, state);
  if (programs.empty()) {
    return Unavailable(state.unmeasured.empty()
                           ? "no job runs"
                           : "nothing is measured yet of the jobs that run; ask again in a minute");
  }
  if (cores <= 0) return Unavailable("no worker is ready");
  const auto datasets = DatasetsOf(status, state);
  state.cluster.gpus = 0;
  for (const Program& program : programs) {
    AddJob(status, program, datasets, state);
    state.cluster.gpus += state.trace.jobs.back().gpus;
  }
  // All workers are one pool of cores, of which each GPU has a part.
  state.cluster.cpu_per_gpu = cores / state.cluster.gpus;
  double cached = 0;
  for (const double each : state.start.cached_bytes) cached += each;
  // Some of it lies there twice, or over a quota, and will go.
  if (cached > state.cluster.cache_bytes) {
    for (double& each : state.start.cached_bytes) each *= state.cluster.cache_bytes / cached;
  }
  return state;
}

}  // namespace headrace::simulate
