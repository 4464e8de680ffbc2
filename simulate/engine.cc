// This file is long because one clock moves jobs, their cache and all decisions.
#include "simulate/engine.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "simulate/decider.h"
#include "simulate/divide_cache.h"
#include "simulate/network.h"
#include "simulate/running_job.h"
#include "simulate/summary.h"

namespace headrace::simulate {
namespace {

using coordinator::kUnlimited;

// Number of samples of a drift within an epoch (CacheModel::Drifts).
constexpr double kStepsPerEpoch = 20;
// Periods for which a job is observed after its grant has changed. After its measurements have
// changed, it is observed for as many as its controller remembers.
constexpr int kPeriodsOfGrant = 3;
constexpr int kPeriodsOfChange = coordinator::Controller::Options{}.shrink_periods + 3;

// The jobs of a data set are taken to run on the same hosts: as many as the largest of them needs.
std::vector<int> HostsOfDatasets(const Trace& trace, const Cluster& cluster) {
  std::vector<int> hosts(trace.datasets.size(), 1);
  for (const Job& job : trace.jobs) {
    if (job.dataset < 0) continue;
    int& own = hosts[static_cast<std::size_t>(job.dataset)];
    own = std::max(own, cluster.HostsOf(job.gpus));
  }
  return hosts;
}

Status CheckStart(const Start& start, const Trace& trace, const Cluster& cluster) {
  if (!start.jobs.empty() && start.jobs.size() != trace.jobs.size()) {
    return InvalidArgument("a start of " + std::to_string(start.jobs.size()) + " jobs, of " +
                           std::to_string(trace.jobs.size()));
  }
  double gpus = 0;
  for (std::size_t i = 0; i < start.jobs.size(); ++i) {
    const Job& job = trace.jobs[i];
    if (!start.jobs[i].running) continue;
    if (job.arrival_s > start.time_s) {
      return InvalidArgument("job " + job.id + " runs before it arrives");
    }
    gpus += job.gpus;
  }
  if (gpus > cluster.gpus) {
    return InvalidArgument("its jobs hold " + NumberText(gpus) + " GPUs, of " +
                           std::to_string(cluster.gpus));
  }
  if (start.cached_bytes.empty()) return Status::Ok();
  if (start.cached_bytes.size() != trace.datasets.size()) {
    return InvalidArgument("a cache of " + std::to_string(start.cached_bytes.size()) +
                           " data sets, of " + std::to_string(trace.datasets.size()));
  }
  double cached = 0;
  for (const double each : start.cached_bytes) cached += each;
  if (cached > cluster.cache_bytes * (1 + 1e-9)) {
    return InvalidArgument("more is cached than the cache has room for: " + NumberText(cached) +
                           " of " + NumberText(cluster.cache_bytes) + " bytes");
  }
  return Status::Ok();
}

class Engine {
 public:
  Engine(const Trace& trace, const Cluster& cluster, CacheMode mode, const EngineOptions& options,
         Scheduler& scheduler, const Start& start, double until_s)
      : trace_(trace),
        cluster_(cluster),
        mode_(mode),
        options_(options),
        scheduler_(scheduler),
        cache_(trace.datasets, cluster.cache_bytes, HostsOfDatasets(trace, cluster),
               cluster.cache_hosts == 1 ? kUnlimited : cluster.cache_bytes / cluster.cache_hosts),
        random_(options.seed),
        decider_(trace, cluster, mode, options, scheduler),
        until_(until_s),
        now_(start.time_s) {
    if (!start.cached_bytes.empty()) cache_.Hold(start.cached_bytes);
    for (const Job& job : trace.jobs) {
      const auto d = static_cast<std::size_t>(job.dataset);
      jobs_.emplace_back(job, jobs_.size(), cluster, job.dataset < 0 ? 0 : cache_.bytes(d));
      RunningJob& made = jobs_.back();
      if (!start.jobs.empty()) {
        made.Resume(start.jobs[jobs_.size() - 1], cache_, mode);
      }
      if (made.stage == Stage::kRunning) held_gpus_ += job.gpus;
      if (made.stage != Stage::kDone) ++(made.endless() ? endless_ : finite_);
    }
  }

  Result<Outcome> Run() {
    outcome_.first_arrival_s = now_;
    while (next_arrival_ < jobs_.size() || !active_.empty()) {
      TakeArrivals();
      TakeCompletions();
      if (until_ == kUnlimited ? endless_ > 0 && finite_ == 0 : now_ >= until_) break;
      UpdateHits();
      if (dirty_) HR_RETURN_IF_ERROR(Reallocate());
      const double next = std::min(NextEvent(), until_);
      if (next == kUnlimited) {
        if (next_arrival_ == jobs_.size() && active_.empty()) break;
        return Infeasible(std::to_string(active_.size()) + " jobs never go on, from " +
                          std::to_string(now_) + " s on; the first is " +
                          jobs_[active_[0]].job().id);
      }
      Advance(next - now_);
      now_ = next;
      if (now_ >= next_tick_) Tick();
      if (now_ >= next_round_) {
        next_round_ = kUnlimited;
        round_ = dirty_ = true;
      }
    }
    for (const RunningJob& each : jobs_) outcome_.useful_gpu_s += each.outcome.useful_gpu_s;
    return std::move(outcome_);
  }
  [[nodiscard]] Start Stop() const {
    Start stop{now_, {}, {}};
    for (const RunningJob& each : jobs_) stop.jobs.push_back(each.Stop());
    for (std::size_t d = 0; d < trace_.datasets.size(); ++d) {
      stop.cached_bytes.push_back(cache_.cached(d));
    }
    return stop;
  }

 private:
  void TakeArrivals() {
    for (; next_arrival_ < jobs_.size() && trace_.jobs[next_arrival_].arrival_s <= now_;
         ++next_arrival_) {
      if (trace_.jobs[next_arrival_].gpus > cluster_.gpus) {
        outcome_.refused.push_back(next_arrival_);
        --(jobs_[next_arrival_].endless() ? endless_ : finite_);
        continue;
      }
      RunningJob& job = jobs_[next_arrival_];
      if (job.stage == Stage::kDone) continue;
      active_.push_back(next_arrival_);
      if (job.stage == Stage::kRunning) {  // since before the start
        running_.push_back(next_arrival_);
        Watch(job, kPeriodsOfChange);
        Change();
        continue;
      }
      ++waiting_;
      if (scheduler_.preempts()) PlanRound();
      if (FillsNow() && cluster_.gpus - held_gpus_ >= job.job().gpus) Change();
    }
  }

  void TakeCompletions() {
    bool any = false, stepped = false;
    for (const std::size_t i : running_) {
      RunningJob& job = jobs_[i];
      if (job.done()) {
        job.Finish(now_);
        held_gpus_ -= job.job().gpus;
        --finite_;
        outcome_.jobs.push_back(job.outcome);
        outcome_.end_s = now_;
        any = true;
      } else if (job.StepPhase()) {
        job.SetRate();
        stepped = true;
        Watch(job, kPeriodsOfChange);
        changed_rates_ = true;
        ticks_ = 0;
        if (!scheduler_.has_controllers() || job.pinned()) Change();
      }
    }
    if (stepped) ShareNetwork();
    if (!any) return;
    const auto done = [&](std::size_t i) { return jobs_[i].stage == Stage::kDone; };
    std::erase_if(running_, done);
    std::erase_if(active_, done);
    Change();
    if (scheduler_.preempts()) PlanRound();
  }

  // Records that something happened outside the control loop.
  void Change() {
    dirty_ = true;
    ticks_ = 0;
  }
  void Watch(RunningJob& job, int periods) const {
    if (scheduler_.has_controllers() && !job.pinned()) {
      job.periods_left = std::max(job.periods_left, periods);
    }
  }
  void PlanRound() {
    if (waiting_ == 0 || next_round_ != kUnlimited) return;
    next_round_ = (std::floor(now_ / options_.round_s) + 1) * options_.round_s;
    // Does not wait for a round while nothing runs.
    if (running_.empty()) next_round_ = now_;
    if (next_round_ == now_) {
      next_round_ = kUnlimited;
      round_ = true;
      Change();
    }
  }
  // Whether what is free goes to jobs that wait at once.
  [[nodiscard]] bool FillsNow() const {
    return !scheduler_.preempts() || scheduler_.fills_between_rounds();
  }

  // Updates the hit shares of jobs whose data is cached.
  void UpdateHits() {
    if (cache_.capacity() <= 0) return;
    for (const std::size_t i : running_) {
      RunningJob& job = jobs_[i];
      if (job.job().dataset < 0) continue;
      const double hit = HitOf(mode_, job.reading.cached_share);
      if (std::abs(hit - job.hit) <= kLeastDrift) continue;
      job.hit = hit;
      Watch(job, kPeriodsOfChange);
      Change();
    }
  }

  double NextEvent() {
    double next = kUnlimited;
    if (next_arrival_ < jobs_.size()) next = trace_.jobs[next_arrival_].arrival_s;
    double epoch = kUnlimited;
    readers_.clear();
    for (const std::size_t i : running_) {
      RunningJob& job = jobs_[i];
      next = std::min(next, now_ + job.NextEvent());
      if (job.job().dataset < 0 || cache_.capacity() <= 0) continue;
      job.reading.rate = job.rate * job.job().entry_bytes;
      job.reading.hit = job.hit;
      readers_.push_back(&job.reading);
      next = std::min(next, now_ + cache_.NextEpoch(job.reading));
      if (job.reading.rate > 0) {
        epoch = std::min(epoch, cache_.bytes(job.reading.dataset) / job.reading.rate);
      }
    }
    PlanFills();
    if (epoch < kUnlimited && cache_.Drifts(readers_)) {
      next = std::min(next, now_ + std::max(options_.period_s, epoch / kStepsPerEpoch));
    }
    PlanTick();
    return std::max(now_ + kInstant, std::min({next, next_tick_, next_round_}));
  }

  // Divides the idle bandwidth of the source over what has less than its quota.
  void PlanFills() {
    fill_rate_ = 0;
    fills_.clear();
    if (!options_.fill || std::isinf(cluster_.source_rate)) return;
    if (cache_.capacity() <= 0) return;
    double idle = cluster_.source_rate;
    std::vector<double> kept;  // bytes that the cache gains with each that is read
    for (const std::size_t i : running_) {
      const Job& job = jobs_[i].job();
      if (job.dataset < 0) continue;
      idle -= jobs_[i].rate * job.sample_bytes * (1 - jobs_[i].hit);
      const std::size_t d = jobs_[i].reading.dataset;
      if (job.sample_bytes <= 0 || !cache_.Fills(d)) continue;
      if (std::ranges::find(fills_, d) != fills_.end()) continue;
      fills_.push_back(d);
      kept.push_back(job.entry_bytes / job.sample_bytes);
    }
    if (idle <= 0) fills_.clear();
    kept.resize(fills_.size());
    if (!fills_.empty()) fill_rate_ = idle / static_cast<double>(fills_.size());
    for (double& each : kept) each *= fill_rate_;
    cache_.SetFills(fills_, kept);
  }

  // With noise no two periods are equal, so all of them are simulated.
  [[nodiscard]] bool Observes(const RunningJob& job) const {
    if (job.restores()) return false;
    return job.periods_left > 0 ||
           (options_.noise > 0 && scheduler_.has_controllers() && !job.pinned());
  }

  void PlanTick() {
    const bool wanted =
        ticks_ < options_.most_periods &&
        (!scheduler_.settled() ||
         std::any_of(running_.begin(), running_.end(), [&](auto i) { return Observes(jobs_[i]); }));
    if (!wanted) {
      next_tick_ = kUnlimited;
    } else if (next_tick_ == kUnlimited) {
      next_tick_ = now_ + options_.period_s;
    }
  }

  void Tick() {
    next_tick_ = kUnlimited;
    ++ticks_;
    if (!scheduler_.settled()) dirty_ = true;
    for (const std::size_t i : running_) {
      RunningJob& job = jobs_[i];
      if (!Observes(job)) continue;
      job.periods_left = std::max(0, job.periods_left - 1);
      if (!job.Observe(options_.period_s, options_.noise, random_)) continue;
      Watch(job, kPeriodsOfGrant);
      dirty_ = true;
    }
  }

  void Advance(double dt) {
    if (changed_rates_) Record();
    if (dt <= 0) return;
    outcome_.held_gpu_s += held_gpus_ * dt;
    for (const std::size_t i : running_) {
      RunningJob& job = jobs_[i];
      const double bytes = job.rate * job.job().sample_bytes * dt;
      if (job.job().dataset >= 0) {
        outcome_.hit_bytes += bytes * job.hit;
        outcome_.remote_bytes += bytes * (1 - job.hit);
      }
      outcome_.core_s += job.busy_cores() * dt;
      job.Advance(dt);
    }
    outcome_.remote_bytes += fill_rate_ * static_cast<double>(fills_.size()) * dt;
    if (!readers_.empty()) cache_.Advance(dt, readers_);
  }

  void Record() {
    changed_rates_ = false;
    TimelinePoint point;
    point.time_s = now_;
    point.gpus = held_gpus_;
    point.cached_bytes = cache_.total_cached();
    point.waiting = waiting_;
    for (const std::size_t i : running_) {
      const RunningJob& job = jobs_[i];
      point.useful_gpus += job.useful_gpus();
      point.cores += job.busy_cores();
      point.granted_cores += job.cores;
      point.source_rate += coordinator::SourceRateFor(job.terms(), job.rate, job.hit);
      if (cluster_.link < kUnlimited) point.network_rate += job.network_rate();
    }
    if (!outcome_.timeline.empty() && outcome_.timeline.back().time_s == now_) {
      outcome_.timeline.back() = point;
    } else {
      outcome_.timeline.push_back(point);
    }
    if (options_.record_cache) RecordCache();
  }

  void RecordCache() {
    std::vector<CachePoint>& points = outcome_.cache;
    while (!points.empty() && points.back().time_s == now_) points.pop_back();
    for (const std::size_t i : running_) {
      const RunningJob& job = jobs_[i];
      if (job.job().dataset < 0) continue;
      const std::size_t d = job.reading.dataset;
      points.push_back({now_, i, cache_.quota(d), cache_.cached(d), job.hit,
                        1 - job.useful_gpus() / job.job().gpus});
    }
  }

  // Jobs on which the scheduler may decide. These are all jobs, without those that wait while it
  // cannot admit any of them (its own rule: running jobs keep their GPUs; or no round is due).
  std::vector<std::size_t> Candidates() const {
    bool any = round_;
    if (!any && FillsNow()) {
      const double free = cluster_.gpus - held_gpus_;
      any = std::any_of(active_.begin(), active_.end(), [&](std::size_t i) {
        return jobs_[i].stage == Stage::kWaiting && trace_.jobs[i].gpus <= free;
      });
    }
    return any ? active_ : running_;
  }

  Status Reallocate() {
    dirty_ = false;
    const auto candidates = Candidates();
    HR_TRY(const Decision decision, decider_.Decide(jobs_, candidates, cache_, round_, now_));
    outcome_.decisions += decision.passes;
    Apply(candidates, decision);
    round_ = false;
    if (scheduler_.preempts()) PlanRound();
    return Status::Ok();
  }

  void Apply(const std::vector<std::size_t>& candidates, const Decision& decision) {
    running_.clear();
    held_gpus_ = 0;
    changed_rates_ = true;
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      RunningJob& job = jobs_[candidates[k]];
      const coordinator::Grant& grant = decision.allocation.jobs[k];
      const bool ran = job.stage == Stage::kRunning;
      if (!grant.admitted) {
        if (ran) {
          ++job.outcome.preemptions;
          ++waiting_;
        }
        job.stage = Stage::kWaiting;
        job.rate = job.cores = job.source_rate = 0;
        continue;
      }
      running_.push_back(candidates[k]);
      held_gpus_ += job.job().gpus;
      if (!ran) Admit(job);
      if (std::abs(grant.cores - job.cores) > 1e-9 * job.cores) Watch(job, kPeriodsOfGrant);
      job.cores = job.pinned() ? job.pinned_cores() : grant.cores;
      job.source_rate = grant.source_rate;
      job.SetRate();
    }
    ShareNetwork();
    if (mode_ == CacheMode::kJoint) {
      if (cache_.capacity() > 0) {
        cache_.SetQuotas(decision.datasets, decision.allocation.dataset_bytes);
      }
    } else if (cache_.capacity() > 0) {
      DivideTheCache();
    }
  }

  void ShareNetwork() {
    if (std::isinf(cluster_.link)) return;
    std::vector<NetworkUser> users;
    for (const std::size_t i : running_) {
      const RunningJob& job = jobs_[i];
      users.push_back({job.job().gpus, job.terms(), job.hit, job.cores, job.pinned_cores()});
    }
    const std::vector<coordinator::NetworkShare> shares = NetworkShares(cluster_, users);
    for (std::size_t k = 0; k < running_.size(); ++k) {
      jobs_[running_[k]].network = shares[k];
      jobs_[running_[k]].SetRate();
    }
  }

  void Admit(RunningJob& job) {
    job.stage = Stage::kRunning;
    --waiting_;
    if (job.outcome.run_s == 0) {
      job.outcome.start_s = now_;
    } else {
      job.BeginRestart(options_.restart_s);
    }
    if (job.job().dataset >= 0 && cache_.capacity() > 0) {
      // After a pause, what is unread is a fresh sample of the data set.
      const double unread = job.reading.unread;
      job.reading = cache_.Begin(job.reading.dataset);
      if (unread > 0) job.reading.unread = unread;
      job.hit = HitOf(mode_, job.reading.cached_share);
    }
    Watch(job, kPeriodsOfChange);
  }

  void DivideTheCache() {
    std::vector<CacheUser> users;
    for (const std::size_t i : running_) {
      const RunningJob& job = jobs_[i];
      if (job.job().dataset < 0) continue;
      const std::size_t d = job.reading.dataset;
      users.push_back({d, cache_.bytes(d), job.job().entry_bytes, job.job().gpus, job.terms(),
                       job.cores, job.rate, static_cast<int>(cache_.hosts(d).size())});
    }
    const CacheQuotas quotas = DivideCache(mode_, cluster_, users);
    cache_.SetQuotas(quotas.datasets, quotas.bytes);
  }

  const Trace& trace_;
  const Cluster& cluster_;
  const CacheMode mode_;
  const EngineOptions& options_;
  Scheduler& scheduler_;
  CacheModel cache_;
  Random random_;
  Decider decider_;
  std::vector<RunningJob> jobs_;      // in the order of Trace::jobs
  std::vector<std::size_t> active_;   // arrived and not done, in order of arrival
  std::vector<std::size_t> running_;  // active jobs that run, in the same order
  std::vector<Reading*> readers_;     // readers of the present step
  std::vector<std::size_t> fills_;    // data sets that are filled in it
  double fill_rate_ = 0;              // bytes/s of each
  Outcome outcome_;
  const double until_;
  double now_;
  int finite_ = 0, endless_ = 0;  // jobs that are not done
  double next_tick_ = kUnlimited;
  double next_round_ = kUnlimited;
  double held_gpus_ = 0;
  std::size_t next_arrival_ = 0;
  int waiting_ = 0;
  int ticks_ = 0;       // control periods since something happened outside of them
  bool dirty_ = false;  // the scheduler must decide again
  bool round_ = false;  // it may take GPUs away
  bool changed_rates_ = false;
};

}  // namespace

Result<Outcome> Simulate(const Trace& trace, const Cluster& cluster, CacheMode cache,
                         const EngineOptions& options, Scheduler& scheduler) {
  const Start start{trace.jobs.empty() ? 0 : trace.jobs[0].arrival_s, {}, {}};
  return Engine(trace, cluster, cache, options, scheduler, start, kUnlimited).Run();
}

Result<Outcome> SimulateFrom(const Start& start, double until_s, Start* end, const Trace& trace,
                             const Cluster& cluster, CacheMode cache, const EngineOptions& options,
                             Scheduler& scheduler) {
  HR_RETURN_IF_ERROR(CheckStart(start, trace, cluster));
  Engine engine(trace, cluster, cache, options, scheduler, start, until_s);
  HR_TRY(Outcome outcome, engine.Run());
  if (end != nullptr) *end = engine.Stop();
  return outcome;
}

}  // namespace headrace::simulate
