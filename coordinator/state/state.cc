// This file is long because it applies every kind of update.
#include "coordinator/state/state.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

namespace headrace::coordinator {
namespace {

Status Contradiction(std::string what) { return DataLoss("state update refused: " + what); }

std::string Text(JobId job) { return "job " + std::to_string(job.value); }
std::string Text(WorkerId worker) { return "worker " + std::to_string(worker.value); }

template <typename Map, typename Id>
auto* Find(Map& map, Id id) {
  const auto it = map.find(id);
  return it == map.end() ? nullptr : &it->second;
}

double Grown(std::uint64_t now, std::uint64_t before) {
  return now > before ? static_cast<double>(now - before) : 0;
}

// Means that forget half in each report.
SourceUse UseOf(const wire::JobUsage& now, const wire::JobUsage& before, const SourceUse* known,
                double passed_ns) {
  const SourceUse last{Grown(now.source_bytes, before.source_bytes) / passed_ns * 1e9,
                       std::min(1.0, Grown(now.limited_ns, before.limited_ns) / passed_ns)};
  if (known == nullptr) return last;
  return {(known->rate + last.rate) / 2, (known->held + last.held) / 2};
}

CostReport CostOf(const wire::JobUsage& now, const wire::JobUsage& before, const Job& job) {
  const Terms& terms = job.meter.measured();
  CostReport report;
  const double samples = Grown(now.samples, before.samples);
  report.cpu_s = Grown(now.cpu_ns, before.cpu_ns) * 1e-9;
  report.hits = std::min(samples, Grown(now.cache_hits, before.cache_hits) +
                                      Grown(now.replica_hits, before.replica_hits));
  // Lookups of leaves are not samples, and come late.
  if (!job.has_dataset() && job.meter.leaves().known()) report.hits = samples * job.meter.hit();
  report.misses = samples - report.hits;
  report.hit_worth = terms.miss_cost > 0 ? std::clamp(terms.hit_cost / terms.miss_cost, 0.0, 1.0)
                                         : JobMeter::kHitGuess;
  return report;
}

// The job reads the data set no more: workers fill it no further, unless another job does.
void Cool(const std::map<JobId, Job>& jobs, JobId job, std::uint64_t dataset,
          KnownDatasets& datasets) {
  const bool read = std::ranges::any_of(jobs, [&](const auto& each) {
    return each.first != job && each.second.datasets.contains(dataset);
  });
  if (!read) datasets.SetWarm(dataset, false);
}

// Forgets what no loader of the job reads now, beyond what is remembered of a job.
void BoundDatasets(const std::map<JobId, Job>& jobs, KnownDatasets& datasets, Job& job) {
  if (job.datasets.size() <= KnownDatasets::kMostOfJob) return;
  std::set<std::uint64_t> open;
  for (const auto& [id, session] : job.sessions) open.insert({session.dataset, session.leaves});
  for (const std::uint64_t each : datasets.SurplusOf(job.datasets, open)) {
    job.datasets.erase(each);
    Cool(jobs, job.spec.job, each, datasets);
  }
}

}  // namespace

double Job::granted_cores() const {
  double millicores = 0;
  for (const auto& [id, grant] : grants) millicores += grant.millicores;
  return millicores / 1000;
}

bool Job::lanes_stay() const {
  return std::ranges::any_of(sessions, [](const auto& each) { return each.second.lanes_stay; });
}

bool Job::has_dataset() const {
  return std::ranges::any_of(sessions, [](const auto& each) { return each.second.dataset != 0; });
}

Status State::Apply(const Update& update) {
  return std::visit([this](const auto& u) { return On(u); }, update);
}

const Job* State::FindJob(JobId job) const { return Find(jobs_, job); }
const Worker* State::FindWorker(WorkerId worker) const { return Find(workers_, worker); }
const Job* State::FindJobByToken(std::string_view token) const {
  const auto* id = Find(jobs_by_token_, std::string(token));
  return id ? FindJob(*id) : nullptr;
}
const Worker* State::FindWorkerByToken(std::string_view token) const {
  const auto* id = Find(workers_by_token_, std::string(token));
  return id ? FindWorker(*id) : nullptr;
}

Status State::On(const AddJob& update) {
  if (Job* job = Find(jobs_, update.job)) {
    if (job->spec.token != update.token || job->spec.consumer != update.consumer) {
      return Contradiction(Text(update.job) + " belongs to another owner");
    }
    job->spec = update;
    job->phase = Job::Phase::kRunning;
    return Status::Ok();
  }
  if (update.job.value < counters_.next_job || update.consumer.value < counters_.next_consumer) {
    return Contradiction(Text(update.job) + ": this id was given before");
  }
  if (!jobs_by_token_.emplace(update.token, update.job).second) {
    return Contradiction(Text(update.job) + ": another job has its token");
  }
  asking_.erase({update.host.hostname, update.host.pid});
  Job& job = jobs_[update.job];
  job.spec = update;
  counters_.next_job = update.job.value + 1;
  counters_.next_consumer = update.consumer.value + 1;
  return Status::Ok();
}

Status State::On(const MarkJobLost& update) {
  Job* job = Find(jobs_, update.job);
  if (!job) return Contradiction(Text(update.job) + " is unknown");
  FreeLeasesOf(*job);
  job->phase = Job::Phase::kLost;
  job->slow.clear();
  return Status::Ok();
}

Status State::On(const ReviveJob& update) {
  Job* job = Find(jobs_, update.job);
  if (!job) return Contradiction(Text(update.job) + " is unknown");
  job->phase = Job::Phase::kRunning;
  return Status::Ok();
}

Status State::On(const RemoveJob& update) {
  Job* job = Find(jobs_, update.job);
  if (!job) return Contradiction(Text(update.job) + " is unknown");
  FreeLeasesOf(*job);
  EndReading(*job);
  jobs_by_token_.erase(job->spec.token);
  jobs_.erase(update.job);
  speeds_.Forget(update.job);
  return Status::Ok();
}

Status State::On(const AddSession& update) {
  Job* job = Find(jobs_, update.job);
  if (!job) return Contradiction(Text(update.job) + " is unknown");
  if (job->sessions.contains(update.session)) {
    return Contradiction(Text(update.job) + ": session " + std::to_string(update.session.value) +
                         " is open already");
  }
  job->sessions[update.session] = {update.session,    update.plan_name, update.plan_hash,
                                   update.split,      update.dataset,   update.rows,
                                   update.lanes_stay, update.far,       update.everywhere,
                                   update.source,     update.prefixes,  update.leaves};
  if (update.dataset == 0) {
    // Named for the first loader of the job.
    if (update.leaves == 0) return Status::Ok();
    const bool is_new = job->datasets.insert(update.leaves).second;
    if (is_new || datasets_.Find(update.leaves) == nullptr) {
      datasets_.Begin(update.leaves, update.plan_name, job->spec.tenant, 0, update.job, true);
    }
  } else {
    job->datasets.insert(update.dataset);
    datasets_.Begin(update.dataset, update.plan_name, job->spec.tenant, update.rows, update.job);
  }
  BoundDatasets(jobs_, datasets_, *job);
  return Status::Ok();
}

Status State::On(const RemoveSession& update) {
  Job* job = Find(jobs_, update.job);
  if (!job || job->sessions.erase(update.session) == 0) {
    return Contradiction(Text(update.job) + " has no session " +
                         std::to_string(update.session.value));
  }
  std::erase_if(job->loads, [&](const auto& load) { return load.session == update.session; });
  BoundDatasets(jobs_, datasets_, *job);
  return Status::Ok();
}

Status State::On(const AddWorker& update) {
  const WorkerId id = update.info.worker;
  if (Worker* worker = Find(workers_, id)) {
    if (worker->token != update.token) return Contradiction(Text(id) + " is another process");
    worker->info = update.info;
    worker->phase = Worker::Phase::kReady;
    return Status::Ok();
  }
  if (id.value < counters_.next_worker) return Contradiction(Text(id) + ": given before");
  if (!workers_by_token_.emplace(update.token, id).second) {
    return Contradiction(Text(id) + ": another worker has its token");
  }
  Worker& worker = workers_[id];
  worker.info = update.info;
  worker.token = update.token;
  counters_.next_worker = id.value + 1;
  return Status::Ok();
}

Status State::On(const MarkWorkerLost& update) {
  Worker* worker = Find(workers_, update.worker);
  if (!worker) return Contradiction(Text(update.worker) + " is unknown");
  FreeLeasesOf(*worker);
  worker->phase = Worker::Phase::kLost;
  return Status::Ok();
}

Status State::On(const ReviveWorker& update) {
  Worker* worker = Find(workers_, update.worker);
  if (!worker) return Contradiction(Text(update.worker) + " is unknown");
  worker->phase = Worker::Phase::kReady;
  return Status::Ok();
}

Status State::On(const DrainWorker& update) {
  Worker* worker = Find(workers_, update.worker);
  if (!worker) return Contradiction(Text(update.worker) + " is unknown");
  FreeLeasesOf(*worker);
  worker->draining = true;
  worker->drain_reason = update.reason;
  return Status::Ok();
}

Status State::On(const RemoveWorker& update) {
  Worker* worker = Find(workers_, update.worker);
  if (!worker) return Contradiction(Text(update.worker) + " is unknown");
  FreeLeasesOf(*worker);
  // Keeps the sum finite, whatever workers claimed: a journal that says "infinite" cannot be read
  // back.
  counters_.ended_cpu_seconds = std::min(counters_.ended_cpu_seconds + update.cpu_seconds,
                                         std::numeric_limits<double>::max());
  workers_by_token_.erase(worker->token);
  datasets_.Forget(update.worker);
  workers_.erase(update.worker);
  speeds_.Forget(update.worker);
  return Status::Ok();
}

Status State::On(const SetLeases& update) {
  Job* job = Find(jobs_, update.job);
  if (!job || job->phase != Job::Phase::kRunning) {
    return Contradiction(Text(update.job) + " is not running");
  }
  if (update.generation <= job->generation) {
    return Contradiction(Text(update.job) + ": stale lease generation " +
                         std::to_string(update.generation));
  }
  for (const WorkerId id : update.workers) {
    const Worker* worker = Find(workers_, id);
    if (!worker || !worker->leasable()) {
      return Contradiction(Text(update.job) + ": " + Text(id) + " can't be leased");
    }
  }
  for (const WorkerId id : job->leases) workers_[id].jobs.erase(update.job);
  job->leases = {update.workers.begin(), update.workers.end()};
  for (const WorkerId id : job->leases) workers_[id].jobs.insert(update.job);
  job->generation = update.generation;
  // Those of cache alone stay until the next plan.
  std::erase_if(job->grants, [&](const auto& each) {
    if (each.second.millicores == 0 || job->leases.contains(each.first)) return false;
    workers_[each.first].granted.erase(update.job);
    return true;
  });
  return Status::Ok();
}

Status State::On(const SetCounters& update) {
  if (update.next_job < counters_.next_job || update.next_consumer < counters_.next_consumer ||
      update.next_worker < counters_.next_worker) {
    return Contradiction("counters went backwards");
  }
  counters_ = update;
  return Status::Ok();
}

Status State::On(const SeeConsumer& update) {
  Job* job = Find(jobs_, update.job);
  if (!job) return Contradiction(Text(update.job) + " is unknown");
  job->last_seen = update.at;
  if (update.has_loads) {
    job->loads = update.loads;
    job->unfit = update.unfit;
    std::map<WorkerId, SteadyTime> slow;
    for (const wire::UnfitWorker& each : update.unfit) {
      const auto known = job->slow.find(each.worker);
      if (each.slow) slow[each.worker] = known == job->slow.end() ? update.at : known->second;
    }
    job->slow = std::move(slow);
    job->bad = update.bad;
    job->meter.Report(update.loads);
  }
  return Status::Ok();
}

Status State::On(const HoldBack& update) {
  for (const wire::BadSample& sample : update.samples) held_back_.Add(sample);
  return Status::Ok();
}

Status State::On(const ForgetHeldBack&) {
  held_back_ = HeldBackSamples();
  return Status::Ok();
}

Status State::On(const RememberJob& update) {
  ended_.Add(update.job);
  return Status::Ok();
}

Status State::On(const OrderJob& update) {
  Job* job = Find(jobs_, update.job);
  if (!job) return Contradiction(Text(update.job) + " is unknown");
  job->cancelled = update.cancelled;
  job->ordered_priority = update.priority;
  return Status::Ok();
}

Status State::On(const RememberDataset& update) {
  if (update.dataset == 0) return Contradiction("a data set without a hash");
  datasets_.Begin(update.dataset, update.name, update.tenant, update.rows, update.last,
                  update.leaves);
  for (const JobId id : update.jobs) {
    Job* job = Find(jobs_, id);
    if (job == nullptr) {
      datasets_.End(update.dataset, id);
    } else {
      job->datasets.insert(update.dataset);
      BoundDatasets(jobs_, datasets_, *job);
    }
  }
  return Status::Ok();
}

Status State::On(const PinDataset& update) { return datasets_.Pin(update.dataset, update.bytes); }

Status State::On(const UnpinDataset& update) { return datasets_.Unpin(update.dataset); }

Status State::On(const WarmDataset& update) {
  datasets_.SetWarm(update.dataset, true);
  return Status::Ok();
}

Status State::On(const DropDataset& update) {
  datasets_.AddDrop(
      {update.number, update.dataset, update.jobs, {update.workers.begin(), update.workers.end()}});
  return Status::Ok();
}

Status State::On(const SetFillRates& update) {
  fill_rates_ = update.rates;
  return Status::Ok();
}

Status State::On(const AskForRoom& update) {
  const std::pair program(update.program.hostname, update.program.pid);
  if (asking_.size() < kMostAsking || asking_.contains(program)) asking_[program] = update.at;
  return Status::Ok();
}

Status State::On(const CountSlowDrain& update) {
  if (Worker* worker = Find(workers_, update.worker)) worker->drained_for = update.jobs;
  slow_drained_at_ = update.at;
  ++slow_drains_;
  return Status::Ok();
}

Status State::On(const SeeWorker& update) {
  Worker* worker = Find(workers_, update.worker);
  if (!worker) return Contradiction(Text(update.worker) + " is unknown");
  worker->last_seen = update.at;
  return Status::Ok();
}

Status State::On(const ReportWorker& update) {
  Worker* worker = Find(workers_, update.report.worker);
  if (!worker) return Contradiction(Text(update.report.worker) + " is unknown");
  worker->last_seen = update.at;
  std::unordered_map<JobId, const wire::JobUsage*> earlier;
  for (const wire::JobUsage& usage : worker->last.usage) earlier[usage.job] = &usage;
  std::map<JobId, SteadyTime> used_at;
  std::map<JobId, SourceUse> source_use;
  for (const wire::JobUsage& usage : update.report.usage) {
    Job* job = Find(jobs_, usage.job);
    const auto before = earlier.find(usage.job);
    if (!job || before == earlier.end()) continue;
    if (update.at > worker->reported_at) {
      source_use[usage.job] = UseOf(usage, *before->second, Find(worker->source_use, usage.job),
                                    static_cast<double>((update.at - worker->reported_at).count()));
    }
    if (usage.samples > before->second->samples) {
      used_at[usage.job] = update.at;
    } else if (const auto known = worker->used_at.find(usage.job); known != worker->used_at.end()) {
      used_at.insert(*known);
    }
    speeds_.Report(worker->info.worker, usage.job, CostOf(usage, *before->second, *job));
    if (!job->has_dataset()) {
      job->meter.ReportLookups(Grown(usage.cache_hits, before->second->cache_hits),
                               Grown(usage.cache_misses, before->second->cache_misses));
    }
    if (usage.cpu_ns > before->second->cpu_ns) {
      job->meter.ReportUsed(static_cast<double>(usage.cpu_ns - before->second->cpu_ns) * 1e-9);
    }
    if (job->leases.contains(update.report.worker)) {
      job->meter.ReportQueued(usage.queued_samples > 0);
    }
    if (usage.limited_ns <= before->second->limited_ns) continue;
    job->meter.ReportLimited(static_cast<double>(usage.limited_ns - before->second->limited_ns) *
                             1e-9);
  }
  worker->used_at = std::move(used_at);
  worker->source_use = std::move(source_use);
  worker->reported_at = update.at;
  datasets_.Dropped(update.report.worker, update.report.dropped);
  // A sample of entries is told now and then, and holds until the next.
  std::unordered_map<JobId, wire::JobUsage> before;
  for (wire::JobUsage& usage : worker->last.usage) before.emplace(usage.job, std::move(usage));
  worker->last = update.report;
  for (wire::JobUsage& usage : worker->last.usage) {
    const auto known = before.find(usage.job);
    if (usage.sampled_below > 0 || usage.cache_entries == 0 || known == before.end()) continue;
    usage.sampled_below = known->second.sampled_below;
    usage.sampled = std::move(known->second.sampled);
  }
  return Status::Ok();
}

void State::HoldLeaves() {
  std::unordered_map<JobId, LeavesHeld> held;
  for (const auto& [id, worker] : workers_) {
    if (!worker.leasable()) continue;
    for (const wire::JobUsage& usage : worker.last.usage) {
      const Job* job = usage.cache_entries > 0 ? FindJob(usage.job) : nullptr;
      if (job == nullptr || job->has_dataset()) continue;
      const auto grant = job->grants.find(id);
      const std::uint64_t quota = grant == job->grants.end() ? 0 : grant->second.cache_bytes;
      held[usage.job].Add(usage, quota);
    }
  }
  for (auto& [id, job] : jobs_) {
    if (!job.has_dataset()) job.meter.HoldLeaves(held[id]);
  }
}
Status State::On(const EndPeriod& update) {
  // Before the first end, the time of a period is not known, and neither is the use of cores.
  const double seconds = period_ended_ != SteadyTime{}
                             ? std::chrono::duration<double>(update.at - period_ended_).count()
                             : 0;
  HoldLeaves();
  for (auto& [id, job] : jobs_) {
    if (job.phase == Job::Phase::kRunning) job.meter.EndPeriod(job.granted_cores(), seconds);
  }
  speeds_.Learn(seconds);
  std::erase_if(asking_, [&](const auto& ask) { return update.at - ask.second > kAsksAgain; });
  period_ended_ = update.at;
  return Status::Ok();
}

Status State::On(const SetGrants& update) {
  Job* job = Find(jobs_, update.job);
  if (!job) return Contradiction(Text(update.job) + " is unknown");
  for (const auto& [id, grant] : update.grants) {
    if (!Find(workers_, id)) return Contradiction(Text(id) + " is unknown");
  }
  TakeGrantsOf(*job);
  job->grants = update.grants;
  for (const auto& [id, grant] : job->grants) workers_[id].granted.insert(update.job);
  job->waits_for = update.reason;
  return Status::Ok();
}

Status State::On(const ExplainGrants& update) {
  for (const auto& [id, why] : update.jobs) {
    if (!Find(jobs_, id)) return Contradiction(Text(id) + " is unknown");
  }
  for (const auto& [id, why] : update.jobs) Find(jobs_, id)->why = why;
  return Status::Ok();
}

Status State::On(const SuspectWorker& update) {
  Worker* worker = Find(workers_, update.worker);
  if (!worker) return Contradiction(Text(update.worker) + " is unknown");
  worker->suspected_at = update.at;
  return Status::Ok();
}

Status State::On(const SettleWorkerCpu& update) {
  Worker* worker = Find(workers_, update.worker);
  if (!worker) return Contradiction(Text(update.worker) + " is unknown");
  worker->last.cpu_seconds = std::max(worker->last.cpu_seconds, update.cpu_seconds);
  return Status::Ok();
}

Status State::On(const RestartClocks& update) {
  for (auto& [id, job] : jobs_) {
    job.last_seen = update.at;
    for (auto& [worker, since] : job.slow) since = update.at;
  }
  for (auto& [id, worker] : workers_) worker.last_seen = update.at;
  return Status::Ok();
}

void State::TakeGrantsOf(Job& job) {
  for (const auto& [id, grant] : job.grants) workers_[id].granted.erase(job.spec.job);
  job.grants.clear();
}

void State::EndReading(const Job& job) {
  // Its entries count as the largest's, while it runs and after it.
  datasets_.End(datasets_.LargestOf(job.datasets), job.spec.job);
  for (const std::uint64_t each : job.datasets) Cool(jobs_, job.spec.job, each, datasets_);
}

void State::FreeLeasesOf(Job& job) {
  TakeGrantsOf(job);
  if (job.leases.empty()) return;
  for (const WorkerId id : job.leases) workers_[id].jobs.erase(job.spec.job);
  job.leases.clear();
  ++job.generation;
}

void State::FreeLeasesOf(Worker& worker) {
  for (const JobId id : worker.jobs) {
    Job& job = jobs_[id];
    job.leases.erase(worker.info.worker);
    ++job.generation;
  }
  worker.jobs.clear();
  for (const JobId id : worker.granted) jobs_[id].grants.erase(worker.info.worker);
  worker.granted.clear();
}

std::vector<Update> State::Snapshot() const {
  std::vector<Update> updates;
  for (const auto& [id, worker] : workers_) {
    updates.emplace_back(AddWorker{worker.token, worker.info});
    if (worker.phase == Worker::Phase::kLost) updates.emplace_back(MarkWorkerLost{id});
    if (worker.draining) updates.emplace_back(DrainWorker{id, worker.drain_reason});
  }
  for (const auto& [id, job] : jobs_) {
    updates.emplace_back(job.spec);
    for (const auto& [session_id, session] : job.sessions) {
      updates.emplace_back(AddSession{id, session_id, session.plan_name, session.plan_hash,
                                      session.split, session.dataset, session.rows,
                                      session.lanes_stay, session.far, session.everywhere,
                                      session.source, session.prefixes, session.leaves});
    }
    if (job.generation > 0) {
      updates.emplace_back(SetLeases{id, job.generation, {job.leases.begin(), job.leases.end()}});
    }
    if (job.phase == Job::Phase::kLost) updates.emplace_back(MarkJobLost{id});
    if (job.cancelled || job.ordered_priority) {
      updates.emplace_back(OrderJob{id, job.cancelled, job.ordered_priority});
    }
  }
  std::unordered_map<std::uint64_t, std::vector<JobId>> readers;
  for (const auto& [id, job] : jobs_) {
    for (const std::uint64_t dataset : job.datasets) readers[dataset].push_back(id);
  }
  for (const auto& [dataset, known] : datasets_.all()) {
    std::vector<JobId> jobs = datasets_.EndedOf(dataset);
    const std::vector<JobId>& running = readers[dataset];
    jobs.insert(jobs.end(), running.begin(), running.end());
    std::ranges::sort(jobs);
    updates.emplace_back(RememberDataset{dataset, known.name, known.tenant, known.rows, known.last,
                                         std::move(jobs), known.leaves});
    if (known.pinned) updates.emplace_back(PinDataset{dataset, known.pinned_bytes});
  }
  for (const auto& job : ended_.all()) updates.emplace_back(RememberJob{*job});
  if (std::vector<wire::BadSample> held_back = held_back_.All(); !held_back.empty()) {
    updates.emplace_back(HoldBack{std::move(held_back)});
  }
  updates.emplace_back(counters_);
  return updates;
}

double SpeedOfCores(const State& state, const Job& job) {
  double own = 0, mean = 0;
  for (const auto& [id, grant] : job.grants) {
    own += grant.millicores;
    mean += grant.millicores * state.speeds().Of(id);
  }
  return own > 0 ? mean / own : 1;
}

}  // namespace headrace::coordinator
