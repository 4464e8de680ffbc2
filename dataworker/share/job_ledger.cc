#include "dataworker/share/job_ledger.h"

#include <algorithm>
#include <limits>

namespace headrace::dataworker {
namespace {

// Adds what a job of the data set may keep.
void AddQuota(const wire::JobGrant& grant, StoreQuota& quota) {
  quota.bytes += grant.cache_bytes;
  for (const wire::TierBytes& tier : grant.tiers) {
    const auto at =
        std::ranges::find(quota.tiers, tier.tier, &std::pair<std::string, std::uint64_t>::first);
    if (at == quota.tiers.end()) {
      quota.tiers.emplace_back(tier.tier, tier.bytes);
    } else {
      at->second += tier.bytes;
    }
  }
}

}  // namespace

void JobLedger::EndGrant(JobId job) {
  queue_.Drain(job);
  Freeze(job);
}

void JobLedger::Freeze(JobId job) {
  if (cached_.contains(job) || !ended_.insert(job).second) return;
  // Others of its data set have the quota now.
  const auto own = data_set_.find(job);
  const bool shared =
      own != data_set_.end() && own->second != 0 &&
      std::ranges::any_of(cached_, [&](JobId other) { return data_set_.at(other) == own->second; });
  if (!shared) cache_.FreezeQuota(job);
}

void JobLedger::SetCacheQuotas(const std::vector<wire::JobGrant>& grants) {
  std::map<std::uint64_t, StoreQuota> quotas;  // by data set
  for (const wire::JobGrant& grant : grants) {
    if (grant.job.valid() && grant.data_set != 0 && !grant.idle) {
      AddQuota(grant, quotas[grant.data_set]);
    }
  }
  std::set<JobId> idle;
  std::set<JobId> former;
  former.swap(cached_);
  for (const wire::JobGrant& grant : grants) {
    if (!grant.job.valid()) continue;
    if (grant.idle) {
      idle.insert(grant.job);
      continue;
    }
    cached_.insert(grant.job);
    ended_.erase(grant.job);
    data_set_[grant.job] = grant.data_set;
    StoreQuota quota;
    if (grant.data_set == 0) {
      AddQuota(grant, quota);
    } else {
      quota = quotas[grant.data_set];
      cache_.ShareQuota(grant.job, grant.data_set);
    }
    cache_.SetQuota(grant.job, quota);
  }
  for (const JobId job : former) {
    if (!cached_.contains(job) && !idle.contains(job)) EndGrant(job);
  }
  for (const JobId job : idle) Freeze(job);
}

void JobLedger::OnDirective(const wire::WorkerDirective& directive, std::optional<SteadyTime> asked,
                            std::span<const Attached> sessions) {
  if (directive.grants.empty() && !directive.jobs.empty()) {
    for (const std::set<JobId>& jobs : {granted_, cached_, ended_}) {
      for (const JobId job : jobs) {
        queue_.SetLimits(job, JobLimits());
        cache_.SetQuota(job, std::nullopt);
      }
    }
    granted_.clear();
    cached_.clear();
    data_set_.clear();
    forms_.clear();
    ended_.clear();
    has_grants_ = false;
    return;
  }
  has_grants_ = has_grants_ || !directive.grants.empty();
  std::set<JobId> former;
  former.swap(granted_);
  // A job whose lease ended goes on as it was.
  std::erase_if(forms_, [&](const auto& form) {
    return !former.contains(form.first) && !ended_.contains(form.first);
  });
  for (const wire::JobGrant& grant : directive.grants) {
    if (!grant.job.valid()) continue;
    forms_[grant.job] = {.encoded = grant.cache_encoded, .nodes = grant.cache_nodes};
    // Without a lease it is of cache alone.
    if (std::ranges::find(directive.jobs, grant.job) == directive.jobs.end()) continue;
    granted_.insert(grant.job);
    queue_.SetLimits(grant.job, {.millicores = grant.millicores,
                                 .source_bytes_per_second = grant.source_bytes_per_second});
  }
  SetCacheQuotas(directive.grants);
  for (const JobId job : former) {
    if (!granted_.contains(job)) EndGrant(job);
  }
  if (!has_grants_ || !asked) return;
  std::set<JobId> unnamed, waiting;
  for (const Attached& session : sessions) {
    if (granted_.contains(session.job)) continue;
    // The coordinator may not have known of it yet.
    (session.since < *asked ? unnamed : waiting).insert(session.job);
  }
  for (const JobId job : unnamed) {
    if (!waiting.contains(job)) EndGrant(job);
  }
}

double JobLedger::StageCores(JobId job, std::span<const Attached> sessions) {
  std::set<JobId> active{job};
  double shares = 0;
  for (const Attached& session : sessions) {
    if (session.stage_batches == 0) continue;
    active.insert(session.job);
    shares += session.job == job ? 1 : 0;
  }
  for (const JobWork& work : queue_.Usage()) {
    if (work.busy) active.insert(work.job);
  }
  if (active.size() == 1) return std::numeric_limits<double>::infinity();
  double weights = 0;
  for (const JobId other : active) weights += queue_.Millicores(other);
  return threads_ * queue_.Millicores(job) / weights / std::max(shares, 1.0);
}

std::vector<wire::JobUsage> JobLedger::Usage(std::span<const Attached> sessions) {
  std::map<JobId, wire::JobUsage> usage;
  for (const Attached& session : sessions) {
    usage[session.job].queued_samples += static_cast<std::uint64_t>(session.stage_samples);
  }
  for (const StoreJobStats& stats : cache_.JobStats()) {
    wire::JobUsage& job = usage[stats.all.job];
    job.cache_bytes = stats.all.bytes;
    job.cache_entries = stats.all.entries;
    job.cache_entry_bytes = stats.all.entry_bytes;
    job.cache_made_ns = static_cast<std::uint64_t>(std::max(Duration(), stats.all.made_in).count());
    job.cache_hits = stats.all.hits;
    job.cache_misses = stats.all.misses;
    job.replica_bytes = stats.all.replicas.bytes;
    job.replica_entries = stats.all.replicas.entries;
    job.replica_hits = stats.all.replicas.hits;
    EntrySample sample = stats.all.sample;
    sample.KeepTo(wire::kMaxSampledNames);
    job.sampled_below = sample.below;
    job.sampled = std::move(sample.names);
    for (std::size_t i = 0; i < stats.tiers.size(); ++i) {
      const JobCacheStats& tier = stats.tiers[i];
      job.tiers.push_back({cache_.tier_name(i), tier.bytes, tier.entries, tier.hits, tier.misses});
    }
  }
  for (const JobWork& work : queue_.Usage()) {
    const auto job = usage.find(work.job);
    if (job == usage.end()) {
      if (!granted_.contains(work.job)) queue_.ForgetJob(work.job);
      continue;
    }
    job->second.cpu_ns = work.cpu_ns;
    job->second.source_bytes = work.source_bytes;
    job->second.limited_ns = work.limited_ns;
    job->second.queued_samples +=
        static_cast<std::uint64_t>(std::max<std::int64_t>(work.queued, 0));
  }
  std::erase_if(made_, [&](const auto& entry) { return !usage.contains(entry.first); });
  std::erase_if(ended_, [&](JobId job) {
    if (usage.contains(job)) return false;
    cache_.SetQuota(job, std::nullopt);
    data_set_.erase(job);
    return true;
  });
  std::vector<wire::JobUsage> list;
  std::size_t sampled = 0;
  for (auto& [id, job] : usage) {
    job.job = id;
    if (const auto made = made_.find(id); made != made_.end()) {
      job.samples = made->second.samples;
      job.cpu_ns += made->second.stage_cpu_ns;
    }
    sampled += job.sampled.size();
    if (sampled > wire::kMaxSampledOfWorker) {
      job.sampled_below = 0;
      job.sampled.clear();
    }
    if (list.size() < wire::kMaxJobsOfWorker) list.push_back(job);
  }
  return list;
}

}  // namespace headrace::dataworker
