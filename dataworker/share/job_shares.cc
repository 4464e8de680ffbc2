#include "dataworker/share/job_shares.h"

#include <algorithm>

#include "dataworker/share/moving_mean.h"

namespace headrace::dataworker {
namespace {

// A job whose mean of bytes is below this does not read any more.
constexpr double kSomeBytes = 1;
// A job's units wait at most this long because of what its stage processes used.
constexpr double kMostBehind = 100e6;  // ns
// A refused job that asks by itself does so again sooner, or does not wait any more.
constexpr Duration kMostBetweenAsks = std::chrono::seconds(1);
constexpr SteadyTime kUntilItAsks = SteadyTime::max();

}  // namespace

void JobShares::Queue(Session& session, JobId id, std::int64_t units, bool ask, SteadyTime now) {
  Job& job = jobs_[id];
  job.reads_unasked = job.reads_unasked || !ask;
  if (session.job_ != &job) {
    if (session.job_ != nullptr) {  // its trainer knows its job by another id now
      session.job_->sessions.Leave(session);
      session.job_->queued -= session.queued_;
      --session.job_->attached;
      Place(*session.job_, now);
      job.queued += session.queued_;
    }
    session.job_ = &job;
    ++job.attached;
  }
  job.sessions.Activate(session);
  CountDebt(job, now);
  session.queued_ += units;
  job.queued += units;
  Place(job, now);
}

void JobShares::Unqueue(Session& session, std::int64_t units, SteadyTime now) {
  Job& job = *session.job_;
  CountDebt(job, now);
  session.queued_ -= units;
  job.queued -= units;
  if (session.queued_ == 0) job.sessions.Deactivate(session);
  Place(job, now);
}

void JobShares::Leave(Session& session) {
  session.job_->sessions.Deactivate(session);
  --session.job_->attached;
  session.job_ = nullptr;
}

JobShares::Job* JobShares::FirstJob(SteadyTime now) {
  while (!held_.empty() && held_.begin()->first <= now) Place(*held_.begin()->second, now);
  return static_cast<Job*>(share_.First(!Paused(now)));
}

JobShares::Session* JobShares::First(SteadyTime now) {
  const Job* job = FirstJob(now);
  return job == nullptr ? nullptr : static_cast<Session*>(job->sessions.First());
}

SteadyTime JobShares::ReadyAt(SteadyTime now) {
  const SteadyTime next = held_.empty() ? SteadyTime::max() : held_.begin()->first;
  return share_.First() == nullptr ? next : std::min(next, all_.ReadyAt(now));
}

bool JobShares::Paused(SteadyTime now) { return all_.limited() && all_.ReadyAt(now) > now; }

bool JobShares::Limited(const Session& session) const {
  return session.job_->source.limited() || all_.limited();
}

JobShares::Charged JobShares::Start(Session& session, std::int64_t units, SteadyTime now) {
  Job& job = *session.job_;
  Charged charged{.job = &job};
  if (job.drained_at <= now) SetWeight(job, JobLimits::kLeastMillicores);
  charged.of_session = job.sessions.Start(session, static_cast<double>(units));
  charged.of_job = share_.Start(job, static_cast<double>(units));
  session.queued_ -= units;
  if (session.queued_ == 0) job.sessions.Deactivate(session);
  CountDebt(job, now);
  job.queued -= units;
  ++job.running;
  ++session.running_;
  if (Limited(session) && job.reads_unasked) {
    charged.bytes = std::max(job.mean_bytes, 0.0);
    job.source.Take(charged.bytes, now);
    all_.Take(charged.bytes, now);
    Place(job, now);
  } else if (job.queued == 0) {
    Place(job, now);
  }
  return charged;
}

void JobShares::Settle(Session& session, const Charged& charged, std::int64_t units,
                       const Cost& cost, SteadyTime now) {
  Job& job = *charged.job;  // the session may have another one by now
  const auto many = static_cast<double>(units);
  share_.Settle(job, charged.of_job, cost.ns, many);
  session.job_->sessions.Settle(session, charged.of_session, cost.ns, many);
  --job.running;
  --session.running_;
  const auto read = static_cast<double>(cost.bytes);
  const double each = read / many;
  job.cpu_ns += cost.cpu_ns;
  job.source_bytes += cost.bytes;
  job.mean_bytes = NextMean(job.mean_bytes, each);
  if (!job.source.limited() && !all_.limited()) return;
  job.source.Take(read - charged.bytes, now);
  all_.Take(read - charged.bytes, now);
  Place(job, now);
}

void JobShares::Place(Job& job, SteadyTime now) {
  // Units that read nothing, because all is cached or was read ahead, do not wait for a debt; nor do
  // those that ask before they read.
  const bool unasked = job.reads_unasked && (job.mean_bytes < 0 || job.mean_bytes >= kSomeBytes);
  const bool reads = unasked || job.reads_elsewhere;
  const SteadyTime ready = job.queued > 0 && reads ? job.source.ReadyAt(now) : now;
  if (job.held_until != SteadyTime()) held_.erase({job.held_until, &job});
  job.held_until = SteadyTime();
  if (job.queued == 0) {
    share_.Deactivate(job);
  } else if (ready > now) {
    share_.Deactivate(job);
    job.held_until = ready;
    held_.insert({ready, &job});
  } else {
    // A job that reads nothing, because all is cached, does not wait for what others read.
    const bool pausable = job.reads_unasked && job.mean_bytes >= kSomeBytes;
    share_.Activate(job, pausable ? FairShare::Kind::kPausable : FairShare::Kind::kPlain);
  }
}

void JobShares::CountDebt(Job& job, SteadyTime now) {
  if (!job.source.limited() && !all_.limited()) return;
  const Duration own = job.source.InDebt(now), all = all_.InDebt(now);
  if (job.queued > 0 && (job.reads_unasked || job.reads_elsewhere)) {
    const Duration others = job.mean_bytes >= kSomeBytes ? all - job.all_debt : Duration(0);
    job.limited += std::min(own - job.own_debt + others, now - job.debts_at);
  }
  job.own_debt = own;
  job.all_debt = all;
  job.debts_at = now;
}

void JobShares::SetWeight(Job& job, std::uint32_t millicores) {
  job.drained_at = SteadyTime::max();
  share_.SetWeight(job, std::max(millicores, JobLimits::kLeastMillicores));
}

std::optional<std::int64_t> JobShares::SetLimits(JobId id, const JobLimits& limits,
                                                 SteadyTime now) {
  Job& job = jobs_[id];
  SetWeight(job, limits.millicores);
  const bool other = job.limits.source_bytes_per_second != limits.source_bytes_per_second;
  if (other) {
    CountDebt(job, now);
    job.source.SetRate(limits.source_bytes_per_second, now);
    Place(job, now);
  }
  job.limits = limits;
  return other ? std::optional(job.queued) : std::nullopt;
}

void JobShares::Drain(JobId id, SteadyTime until) {
  Job& job = jobs_[id];
  if (job.drained_at != SteadyTime::max()) return;
  if (job.weight() == JobLimits::kLeastMillicores) return;
  job.drained_at = until;
}

void JobShares::SetSourceLimit(std::uint64_t bytes_per_second, SteadyTime now) {
  for (auto& [id, job] : jobs_) CountDebt(job, now);
  all_.SetRate(bytes_per_second, now);
}

void JobShares::Charge(JobId id, Duration cpu, std::uint64_t source_bytes, SteadyTime now) {
  Job& job = jobs_[id];
  share_.Charge(job, static_cast<double>(cpu.count()), kMostBehind);
  if (source_bytes == 0) return;
  job.reads_elsewhere = true;
  job.source_bytes += source_bytes;
  CountDebt(job, now);
  job.source.Take(static_cast<double>(source_bytes), now);
  all_.Take(static_cast<double>(source_bytes), now);
  Place(job, now);
}

bool JobShares::MayRead(JobId id, Reader who, SteadyTime now) {
  const auto found = jobs_.find(id);
  if (who == Reader::kUnit) {
    return (found == jobs_.end() || found->second.source.ReadyAt(now) <= now) && !Paused(now);
  }
  if (found == jobs_.end()) return true;
  Job& job = found->second;
  const bool may = job.source.ReadyAt(now) <= now && !(job.reads_elsewhere && Paused(now));
  CountRefusal(job, may ? now : kUntilItAsks, now);
  return may;
}

void JobShares::CountRefusal(Job& job, SteadyTime until, SteadyTime now) {
  if (job.refused_at != SteadyTime() && job.queued == 0) {
    const SteadyTime end =
        job.refused_until == kUntilItAsks ? job.refused_at + kMostBetweenAsks : job.refused_until;
    job.limited += std::max(std::min(now, end) - job.refused_at, Duration(0));
  }
  job.refused_at = until > now ? now : SteadyTime();
  job.refused_until = until;
}

JobShares::Taken JobShares::TakeAhead(JobId id, double bytes, SteadyTime now) {
  Job& job = jobs_[id];
  if (bytes <= 0 || (!job.source.limited() && !all_.limited())) return {};
  const SteadyTime ready = std::max(job.source.ReadyAt(now), all_.ReadyAt(now));
  CountRefusal(job, ready, now);
  if (ready > now) return {.again = ready};
  CountDebt(job, now);
  job.source.Take(bytes, now);
  all_.Take(bytes, now);
  Place(job, now);
  return {.again = std::nullopt, .bytes = bytes};
}

void JobShares::SettleAhead(JobId id, double taken, std::uint64_t read, SteadyTime now) {
  const double more = static_cast<double>(read) - taken;
  all_.Take(more, now);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;  // it has gone, and is not named again
  Job& job = found->second;
  job.source_bytes += read;
  CountDebt(job, now);
  job.source.Take(more, now);
  Place(job, now);
}

JobShares::Pace JobShares::MayReceive(JobId id, SteadyTime now) {
  const auto found = jobs_.find(id);
  Pace pace{all_.ReceiveAt(now), all_.rate()};
  if (found == jobs_.end()) return pace;
  Job& job = found->second;
  pace.at = std::max(pace.at, job.source.ReceiveAt(now));
  if (job.source.limited()) {
    pace.rate = all_.limited() ? std::min(pace.rate, job.source.rate()) : job.source.rate();
  }
  CountRefusal(job, pace.at, now);
  return pace;
}

std::uint32_t JobShares::Millicores(JobId id, SteadyTime now) const {
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return JobLimits::kDefaultMillicores;
  if (job->second.drained_at <= now) return JobLimits::kLeastMillicores;
  return static_cast<std::uint32_t>(job->second.weight());
}

std::vector<JobWork> JobShares::Usage(SteadyTime now) {
  std::vector<JobWork> usage;
  for (auto& [id, job] : jobs_) {
    CountDebt(job, now);
    if (job.refused_until != kUntilItAsks) CountRefusal(job, job.refused_until, now);
    usage.push_back({.job = id,
                     .cpu_ns = job.cpu_ns,
                     .source_bytes = job.source_bytes,
                     .limited_ns = static_cast<std::uint64_t>(job.limited.count()),
                     .queued = job.queued,
                     .busy = job.queued > 0 || job.running > 0});
  }
  return usage;
}

void JobShares::Forget(JobId id) {
  const auto job = jobs_.find(id);
  if (job == jobs_.end() || job->second.attached > 0 || job->second.running > 0) return;
  jobs_.erase(job);
}

}  // namespace headrace::dataworker
