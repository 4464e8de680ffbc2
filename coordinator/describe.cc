#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/pass/pass.h"
#include "coordinator/describe_datasets.h"
#include "coordinator/grant_reason.h"
#include "coordinator/host_keys.h"
#include "coordinator/link_shares.h"
#include "coordinator/message_checks.h"
#include "coordinator/scaling/advice.h"
#include "coordinator/scaling/prices.h"
#include "coordinator/step.h"

namespace headrace::coordinator {
namespace {

// Bad samples of a job in a list of all jobs: 64 of 800 bytes each would make megabytes of it.
constexpr std::ptrdiff_t kFewBad = 3;

// `whole`: of a job that somebody looks at alone.
wire::JobStatus Describe(const PlanRules& rules, const State& state, const Job& job, bool whole,
                         const std::map<std::uint64_t, DatasetView>& datasets,
                         const JobNetwork& network) {
  wire::JobStatus status;
  status.job = job.spec.job;
  status.name = job.spec.name;
  status.hostname = job.spec.host.hostname;
  status.pid = job.spec.host.pid;
  if (job.phase == Job::Phase::kLost) {
    status.state = "lost";
  } else {
    status.state = !job.waits_for.empty() ? "waiting: " + job.waits_for
                   : job.leases.empty()   ? "waiting: no worker"
                                          : "running";
  }
  status.opened_ms = job.spec.opened_ms;
  status.sessions = job.loads;
  // Their ids are for the trainer and its workers alone: who has one can attach as it does.
  for (wire::SessionLoad& load : status.sessions) {
    load.session = SessionId(PublicNumberOf(job.spec.token, load.session));
  }
  status.workers = {job.leases.begin(), job.leases.end()};
  status.unfit = job.unfit;
  status.bad_known = static_cast<std::uint32_t>(job.bad.size());
  status.bad = job.bad;
  if (const auto more = std::ssize(job.bad) - kFewBad; more > 0 && !whole) {
    status.bad.erase(status.bad.begin(), status.bad.begin() + more);
  }
  status.tenant = job.spec.tenant;
  status.priority = job.priority();
  status.group = job.spec.group;
  status.rank = job.spec.rank;
  const TimeShares& times = job.meter.times();
  status.samples_per_second = job.meter.rate();
  status.samples_per_second_when_ready = job.meter.measured().ready_rate;
  status.wait_share = times.all() > 0 ? times.wait() / times.all() : 0;
  status.demand_millicores =
      static_cast<std::uint32_t>(std::min(1000 * job.meter.demand().cores, 4e9));
  for (const auto& [id, grant] : job.grants) {
    status.granted_millicores += grant.millicores;
    const Worker* worker = state.FindWorker(id);
    if (worker != nullptr && worker->info.local)
      status.granted_local_millicores += grant.millicores;
    status.cache_bytes_granted += grant.cache_bytes;
    status.source_bytes_per_second_limit += grant.source_bytes_per_second;
  }
  if (const double remaining = job.meter.remaining(); remaining < kUnlimited) {
    status.remaining_samples = static_cast<std::int64_t>(std::min(remaining, 1e18));
  }
  status.totals = job.meter.totals();
  if (const Demand& demand = job.meter.demand(); demand.known) {
    const double speed = SpeedOfCores(state, job);
    status.need = {.ready_rate = demand.terms.ready_rate,
                   .hit_cost = speed * demand.terms.hit_cost,
                   .miss_cost = speed * demand.terms.miss_cost,
                   .miss_bytes = demand.terms.miss_bytes,
                   .hit_share = job.meter.hit()};
  }
  status.sent_bytes_per_sample = static_cast<std::uint64_t>(job.meter.measured().sent_bytes);
  if (network.share.rate < kUnlimited) {
    status.link_bytes_per_second_share = static_cast<std::uint64_t>(network.share.rate);
  }
  if (job.phase == Job::Phase::kRunning) {
    status.why = ReasonOf(rules, state, job);
    status.advice =
        Advice(job.meter, job.granted_cores(), CacheOfferOf(rules, state, job, datasets),
               {network.share, network.bound_by_own_link()});
  }
  return status;
}

// Says of each job that waits why no pool grows for it, if the price of the next worker is the reason.
void AddPrices(const HourPrices& prices, const State& state, wire::ClusterStatus& status) {
  if (!prices.known()) return;
  std::map<std::string, double> local;  // cores of local workers, by user
  for (const auto& [id, worker] : state.workers()) {
    if (worker.leasable() && worker.info.local) {
      local[UserKey(worker.info.host)] += worker.info.usable_cores();
    }
  }
  // Of all ranks of a program; one without a group is alone.
  struct Program {
    double gpus = 0, own = 0;
    std::set<std::string> hosts;
  };
  using Key = std::tuple<std::string_view, std::string_view, JobId>;
  const auto key_of = [](const Job& job) {
    return Key{job.spec.tenant, job.spec.group, job.spec.group.empty() ? job.spec.job : JobId()};
  };
  std::map<Key, Program> programs;
  for (const auto& [id, job] : state.jobs()) {
    Program& program = programs[key_of(job)];
    ++program.gpus;
    const std::string user = UserKey(job.spec.host);
    if (program.hosts.insert(user).second) program.own += local[user];
  }
  for (wire::JobStatus& each : status.jobs) {
    const Job& job = *state.FindJob(each.job);
    if (each.advice.empty() || job.granted_cores() >= job.meter.demand().cores) continue;
    const Program& program = programs.at(key_of(job));
    if (!WorthBuying(prices, program.gpus, program.own)) {
      each.advice += "; " + WhyNotBought(prices, program.gpus, program.own);
    }
  }
}

wire::WorkerStatus Describe(const Worker& worker, SteadyTime now) {
  wire::WorkerStatus status;
  status.info = worker.info;
  if (worker.phase == Worker::Phase::kLost) {
    status.state = "lost";
  } else {
    status.state = worker.draining ? "draining" : "ready";
  }
  status.reason = worker.drain_reason;
  if (worker.draining) status.slow_for = worker.drained_for;
  status.last = worker.last;
  for (wire::JobUsage& usage : status.last.usage)
    usage.sampled.clear();  // nobody there compares them
  status.last.worker = worker.info.worker;
  status.last.jobs = {worker.jobs.begin(), worker.jobs.end()};
  status.silent_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now - worker.last_seen).count();
  return status;
}

}  // namespace

wire::ClusterStatus DescribeCluster(const Rules& rules, const State& state,
                                    const wire::StatusQuery& query, const Moment& now) {
  wire::ClusterStatus status;
  status.request = query.request;
  status.version = rules.version;
  status.wall_ms = now.wall_ms;
  status.coordinator_cpu_seconds = now.own_cpu_seconds;
  status.desired_workers = now.desired_workers;
  status.ended_workers_cpu_seconds = state.ended_cpu_seconds();
  status.slow_workers_drained = state.slow_drains();
  status.programs_without_room = static_cast<std::uint32_t>(state.asking_for_room());
  const Job* asked = state.FindJob(query.whole);
  const auto whole = [&](const Job& job) {
    return asked != nullptr &&
           (&job == asked || (!asked->spec.group.empty() && asked->spec.group == job.spec.group &&
                              asked->spec.tenant == job.spec.tenant));
  };
  status.rules = DescribeRules(rules.plan);
  const auto datasets = ViewDatasets(state);
  const LinkShares links(state);
  for (const auto& [id, job] : state.jobs()) {
    status.jobs.push_back(Describe(rules.plan, state, job, whole(job), datasets, links.Of(id)));
  }
  HourPrices prices = rules.plan.prices;
  if (now.next_core_price > 0) prices.core = now.next_core_price;
  AddPrices(prices, state, status);
  status.datasets = DescribeDatasets(state, datasets);
  if (query.ended) {
    const auto& ended = state.ended_jobs().all();
    for (auto at = ended.rbegin(); at != ended.rend(); ++at) status.ended.push_back(**at);
  }
  const bool passes = query.job.valid() && CheckSender(state, query.job, query.token).ok();
  for (const auto& [id, worker] : state.workers()) {
    status.workers.push_back(Describe(worker, now.steady));
    status.workers.back().speed = state.speeds().Of(id);
    if (passes) status.workers.back().info.pass = PassOf(worker.token, query.job);
  }
  const std::vector<SlowWorker> slow = SlowWorkersOf(rules.slow, state, now.steady);
  status.slow_workers = static_cast<std::uint32_t>(slow.size());
  for (const SlowWorker& each : slow) {
    // Both are in the order of their numbers.
    const auto at = std::ranges::lower_bound(status.workers, each.worker, {},
                                             [](const auto& worker) { return worker.info.worker; });
    at->slow_for = each.jobs;
    at->reason = each.reason;
  }
  return status;
}

}  // namespace headrace::coordinator
