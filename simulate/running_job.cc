#include "simulate/running_job.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "coordinator/estimate/hit_share.h"
#include "simulate/divide_cache.h"

namespace headrace::simulate {

using coordinator::kUnlimited;
using coordinator::Terms;

RunningJob::RunningJob(const Job& job, std::size_t position, const Cluster& cluster,
                       double dataset_bytes)
    : remaining(job.samples()), job_(&job), fair_cores_(job.gpus * cluster.cpu_per_gpu) {
  outcome.job = position;
  if (job.dataset >= 0) reading.dataset = static_cast<std::size_t>(job.dataset);
  SetTerms(1);
  const double share = static_cast<double>(job.gpus) / cluster.gpus;
  const std::vector<coordinator::CacheHost> hosts(
      static_cast<std::size_t>(cluster.HostsOf(job.gpus)));
  const double fair_hit = coordinator::HitShare(share * cluster.cache_bytes, dataset_bytes, hosts);
  // Cores in proportion to its GPUs are those of its own hosts: nothing crosses the network.
  fair_rate_ = Throughput(job.terms(), fair_cores_, fair_hit, share * cluster.source_rate);
  StepPhase();
}

void RunningJob::SetTerms(double factor) {
  terms_ = job_->terms();
  terms_.ready_rate *= factor;
  full_rate_ = terms_.ready_rate;
  if (!pinned()) return;
  const double cost = std::max(terms_.miss_cost, terms_.hit_cost);
  pinned_cores_ = std::min(fair_cores_, cost * full_rate_);
  if (cost > 0) terms_.ready_rate = std::min(full_rate_, pinned_cores_ / cost);
  terms_.miss_cost = terms_.hit_cost = 0;
  terms_.sent_bytes = 0;
}

void RunningJob::Resume(const JobStart& from, const CacheModel& cache, CacheMode mode) {
  if (from.ended) {
    stage = Stage::kDone;
  } else {
    stage = from.running ? Stage::kRunning : Stage::kWaiting;
  }
  if (endless()) {
    endless_done_ = from.done;
  } else {
    remaining = std::max(0.0, job_->samples() - from.done);
  }
  outcome.start_s = from.start_s;
  outcome.run_s = from.run_s;
  outcome.useful_gpu_s = from.useful_gpu_s;
  outcome.preemptions = from.preemptions;
  restart_left_s_ = from.restart_left_s;
  reading.unread = from.unread;
  reading.cached_share = from.cached_share;
  StepPhase();
  if (!from.running) return;
  if (job_->dataset >= 0 && cache.capacity() > 0) {
    if (reading.unread <= 0) reading = cache.Begin(reading.dataset);
    hit = HitOf(mode, reading.cached_share);
  }
  cores = from.cores;
  source_rate = from.source_rate;
  SetRate();
}

JobStart RunningJob::Stop() const {
  return {.running = stage == Stage::kRunning,
          .ended = stage == Stage::kDone,
          .done = received(),
          .start_s = outcome.start_s,
          .run_s = outcome.run_s,
          .useful_gpu_s = outcome.useful_gpu_s,
          .preemptions = outcome.preemptions,
          .restart_left_s = restart_left_s_,
          .unread = reading.unread,
          .cached_share = reading.cached_share,
          .cores = cores,
          .source_rate = source_rate};
}

double RunningJob::busy_cores() const {
  const Terms own = job_->terms();
  return rate * (pinned() ? std::max(own.miss_cost, own.hit_cost) : CostPerSample(own, hit));
}

double RunningJob::NextEvent() const {
  const double done = rate > 0 ? remaining / rate : kUnlimited;
  const double step =
      next_ramp_ < job_->ramp.size() ? job_->ramp[next_ramp_].from_s - outcome.run_s : kUnlimited;
  const double restart = restores() ? restart_left_s_ : kUnlimited;
  return std::min({done, std::max(0.0, step), restart});
}

void RunningJob::Advance(double dt) {
  remaining -= rate * dt;
  if (endless()) endless_done_ += rate * dt;
  // Less than a microsecond of work is a rounding error.
  if (!endless() && remaining < std::max(1e-11 * job_->samples(), 1e-6 * rate)) remaining = 0;
  outcome.run_s += dt;
  if (restores()) {
    restart_left_s_ -= dt;
    if (restart_left_s_ < kInstant) {
      restart_left_s_ = 0;
      restarted_ = true;
    }
  }
  outcome.useful_gpu_s += useful_gpus() * dt;
}

bool RunningJob::StepPhase() {
  bool stepped = std::exchange(restarted_, false);
  while (next_ramp_ < job_->ramp.size() &&
         outcome.run_s >= job_->ramp[next_ramp_].from_s * (1 - 1e-12)) {
    SetTerms(job_->ramp[next_ramp_++].factor);
    stepped = true;
  }
  return stepped;
}

void RunningJob::Finish(double now) {
  stage = Stage::kDone;
  rate = cores = source_rate = 0;
  outcome.finish_s = now;
  outcome.fairness =
      outcome.run_s > 0 && fair_rate_ > 0 ? job_->samples() / outcome.run_s / fair_rate_ : 1;
}

bool RunningJob::Observe(double period_s, double noise, Random& random) {
  const auto error = [&] { return noise > 0 ? std::exp(noise * random.Normal()) : 1.0; };
  coordinator::Sample sample;
  sample.samples = rate * period_s;
  sample.step_s = rate / terms_.ready_rate * period_s * error();
  sample.wait_s = std::max(0.0, period_s - rate / terms_.ready_rate * period_s);
  const Terms without_cores{terms_.ready_rate, 0, 0, terms_.miss_bytes};
  const double by_source = Throughput(without_cores, 0, hit, source_rate);
  const double by_others = std::min(by_source, NetworkThroughput(terms_, hit, network));
  // If the source or the network is as slow as the cores, more cores would cure nothing.
  if (rate < by_others * (1 - 1e-9)) sample.cores_wait_s = sample.wait_s;
  sample.granted_cores = cores;
  sample.used_cores = rate * CostPerSample(terms_, hit);
  sample.hit = hit;
  Terms measured = terms_;
  const double cost_error = error();
  measured.hit_cost *= cost_error;
  measured.miss_cost *= cost_error;
  const coordinator::Demand before = controller_.demand();
  controller_.Observe(sample, measured);
  const coordinator::Demand& after = controller_.demand();
  const auto moved = [](double a, double b) { return std::abs(a - b) > 1e-9 * std::abs(b); };
  return before.known != after.known || moved(before.terms.ready_rate, after.terms.ready_rate) ||
         moved(before.terms.miss_cost, after.terms.miss_cost) ||
         moved(before.terms.hit_cost, after.terms.hit_cost);
}

Terms RunningJob::Told(bool by_controller) const {
  return by_controller && controller_.demand().known ? controller_.demand().terms : terms_;
}

}  // namespace headrace::simulate
