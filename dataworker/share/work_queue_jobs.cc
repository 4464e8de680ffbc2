// What the jobs of a work queue may use, and what they have used.
#include <algorithm>

#include "dataworker/share/work_queue.h"

namespace headrace::dataworker {
namespace {

// What stage processes used keeps a job's units waiting for no more than that of others' time.
constexpr double kMostBehind = 100e6;  // ns
// Who is refused asks again sooner, or does not wait any more.
constexpr Duration kMostBetweenAsks = std::chrono::seconds(1);

}  // namespace

void WorkQueue::SetWeightOf(Job& job, std::uint32_t millicores) {
  job.drained_at = SteadyTime::max();
  share_.SetWeight(job, std::max(millicores, JobLimits::kLeastMillicores));
}

void WorkQueue::SetLimits(JobId id, const JobLimits& limits) {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    const SteadyTime now = parts_.clock.Now();
    Job& job = jobs_[id];
    SetWeightOf(job, limits.millicores);
    if (job.limits.source_bytes_per_second != limits.source_bytes_per_second) {
      CountDebt(job, now);
      job.bucket.SetRate(limits.source_bytes_per_second, now);
      PlaceJob(job, now);
      todo = Next(job.queued, now);
    }
    job.limits = limits;
  }
  Do(todo);
}

void WorkQueue::Drain(JobId id) {
  const std::lock_guard lock(mutex_);
  Job& job = jobs_[id];
  if (job.drained_at != SteadyTime::max()) return;
  if (job.weight() == JobLimits::kLeastMillicores) return;
  job.drained_at = parts_.clock.Now() + kDrainFor;
}

void WorkQueue::SetSourceLimit(std::uint64_t bytes_per_second) {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    const SteadyTime now = parts_.clock.Now();
    for (auto& [id, job] : jobs_) CountDebt(job, now);
    all_.SetRate(bytes_per_second, now);
    todo = Next(queued_, now);
  }
  Do(todo);
}

void WorkQueue::Charge(JobId id, Duration cpu, std::uint64_t source_bytes) {
  const std::lock_guard lock(mutex_);
  const SteadyTime now = parts_.clock.Now();
  Job& job = jobs_[id];
  share_.Charge(job, static_cast<double>(cpu.count()), kMostBehind);
  if (source_bytes == 0) return;
  job.reads_elsewhere = true;
  job.source_bytes += source_bytes;
  CountDebt(job, now);
  job.bucket.Take(static_cast<double>(source_bytes), now);
  all_.Take(static_cast<double>(source_bytes), now);
  PlaceJob(job, now);
}

bool WorkQueue::MayRead(JobId id) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return true;
  Job& of = job->second;
  const SteadyTime now = parts_.clock.Now();
  const bool may = of.bucket.ReadyAt(now) <= now && !(of.reads_elsewhere && Paused(now));
  if (of.refused_at != SteadyTime() && of.queued == 0) {
    of.limited += std::min(now - of.refused_at, kMostBetweenAsks);
  }
  of.refused_at = may ? SteadyTime() : now;
  return may;
}

std::uint32_t WorkQueue::Millicores(JobId id) const {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return JobLimits::kDefaultMillicores;
  if (job->second.drained_at <= parts_.clock.Now()) return JobLimits::kLeastMillicores;
  return static_cast<std::uint32_t>(job->second.weight());
}

std::vector<JobWork> WorkQueue::Usage() {
  const std::lock_guard lock(mutex_);
  const SteadyTime now = parts_.clock.Now();
  std::vector<JobWork> usage;
  for (auto& [id, job] : jobs_) {
    CountDebt(job, now);
    usage.push_back({.job = id,
                     .cpu_ns = job.cpu_ns,
                     .source_bytes = job.source_bytes,
                     .limited_ns = static_cast<std::uint64_t>(job.limited.count()),
                     .queued = job.queued,
                     .busy = job.queued > 0 || job.running > 0});
  }
  return usage;
}

void WorkQueue::ForgetJob(JobId id) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(id);
  if (job == jobs_.end() || job->second.attached > 0 || job->second.running > 0) return;
  jobs_.erase(job);
}

}  // namespace headrace::dataworker
