#include "dataworker/cache/sample_store.h"

#include <algorithm>
#include <map>
#include <span>

#include "base/check.h"
#include "dataworker/cache/divide_quota.h"
#include "dataworker/cache/marked_files.h"

namespace headrace::dataworker {
namespace {

std::vector<std::uint64_t> Budgets(const std::vector<SampleStore::Tier>& tiers) {
  std::vector<std::uint64_t> budgets;
  for (const auto& each : tiers) budgets.push_back(each.tier->Stats().budget);
  return budgets;
}

ReplicaShelf* ReplicasOf(const std::vector<SampleStore::Tier>& tiers) {
  for (const auto& each : tiers) {
    if (ReplicaShelf* const replicas = each.tier->replicas()) return replicas;
  }
  return nullptr;
}

MarkedFiles* FilesOf(const std::vector<SampleStore::Tier>& tiers) {
  for (const auto& each : tiers) {
    if (MarkedFiles* const files = each.tier->files()) return files;
  }
  return nullptr;
}

void Add(const ReplicaStats& stats, ReplicaStats& sum) {
  sum.bytes += stats.bytes;
  sum.entries += stats.entries;
  sum.hits += stats.hits;
}

}  // namespace

SampleStore::SampleStore(std::vector<Tier> tiers, std::size_t most_fetches)
    : tiers_(std::move(tiers)),
      fastest_(tiers_.front().tier.get()),
      replicas_(ReplicasOf(tiers_)),
      files_(FilesOf(tiers_)),
      only_one_(tiers_.size() == 1),
      budgets_(Budgets(tiers_)),
      gate_(std::make_shared<FetchGate>(most_fetches)) {
  for (std::size_t i = 0; i + 1 < tiers_.size(); ++i) {
    tiers_[i].tier->SetOnGivenUp(
        [this, i](JobId owner, const CacheKey& key, const CachePin& pin, Duration cost) {
          Put(i + 1, tiers_.size(), owner, key, pin.bytes(), cost);
        });
    tiers_[i].tier->SetOnSealedGivenUp([this, i](JobId owner,
                                                 const std::shared_ptr<SealedMemory>& memory,
                                                 std::span<const SealedEntry> entries) {
      for (std::size_t next = i + 1; next < tiers_.size(); ++next) {
        if (tiers_[next].tier->TakeOver(owner, memory, entries).entries > 0) return;
      }
    });
  }
}

SampleStore::~SampleStore() { Stop(); }

void SampleStore::Stop() {
  stopped_ = true;
  for (const Tier& each : tiers_) each.tier->Stop();
  claims_->Close();
  gate_->Close();
}

CacheLookup SampleStore::FindFrom(std::size_t tier, JobId job, const CacheKey& key) {
  for (; tier < tiers_.size(); ++tier) {
    CacheLookup found = tiers_[tier].tier->Find(job, key);
    found.tier = static_cast<std::uint32_t>(tier);
    if (found.pin) Promote(tier, job, key, found.pin);
    if (found.pin || found.later) return found;
  }
  return {};
}

void SampleStore::FindLater(JobId job, const CacheKey& key, const CacheLookup& stopped,
                            OnFound on_found) {
  HR_CHECK(stopped.later);
  gate_->Enter(job,
               [this, job, key, tier = stopped.tier, on_found = std::move(on_found)](
                   FetchGate::Place place) { Fetch(tier, job, key, std::move(place), on_found); });
}

void SampleStore::Fetch(std::size_t tier, JobId job, const CacheKey& key, FetchGate::Place place,
                        OnFound on_found) {
  if (stopped_) {
    place.reset();
    on_found({});
    return;
  }
  tiers_[tier].tier->Fetch(job, key,
                           [this, tier, job, key, place = std::move(place),
                            on_found = std::move(on_found)](CachePin pin) mutable {
                             if (pin) {
                               Promote(tier, job, key, pin);
                               on_found({.pin = WithPlace(std::move(pin), std::move(place)),
                                         .tier = static_cast<std::uint32_t>(tier)});
                               return;
                             }
                             CacheLookup next = FindFrom(tier + 1, job, key);
                             if (next.later) {
                               Fetch(next.tier, job, key, std::move(place), std::move(on_found));
                               return;
                             }
                             place.reset();
                             on_found(std::move(next));
                           });
}

// The copy below goes when the one above is there, so that no reader misses both.
void SampleStore::Promote(std::size_t from, JobId job, const CacheKey& key, const CachePin& pin) {
  if (Put(0, from, job, key, pin.bytes(), pin.cost())) tiers_[from].tier->Forget(key);
}

TakenOver SampleStore::TakeOver(JobId job, const std::shared_ptr<SealedMemory>& memory,
                                std::span<const SealedEntry> entries) {
  std::vector<SealedEntry> fresh;
  if (files_ != nullptr) {
    for (const SealedEntry& entry : entries) {
      if (!files_->Has(entry.key)) fresh.push_back(entry);
    }
    entries = fresh;
  }
  for (const Tier& each : tiers_) {
    TakenOver taken = each.tier->TakeOver(job, memory, entries);
    if (taken.entries > 0) return taken;
  }
  return {};
}

SampleStore::Room SampleStore::RoomToTakeOver(JobId job) const {
  Room room;
  for (const Tier& each : tiers_) {
    const std::uint64_t of_tier = each.tier->RoomToTakeOver(job);
    std::uint64_t& most = each.tier->files() != nullptr ? room.files : room.memory;
    most = std::max(most, of_tier);
  }
  return room;
}

// A tier is asked for what those before it lack.
void SampleStore::CountLookups(JobId job, const Lookups& lookups) {
  std::uint64_t left = lookups.hits + lookups.of_files + lookups.misses;
  for (const Tier& each : tiers_) {
    std::uint64_t found = each.tier.get() == fastest_ ? lookups.hits : 0;
    if (files_ != nullptr && each.tier->files() == files_) found += lookups.of_files;
    left -= found;
    each.tier->CountLookups(job, found, left);
  }
}

std::uint64_t SampleStore::KeepTo(std::uint64_t most) {
  std::uint64_t has = 0;
  for (const Tier& each : tiers_) has += each.tier->KeepTo(most - std::min(most, has));
  return has;
}

bool SampleStore::Put(std::size_t first, std::size_t last, JobId job, const CacheKey& key,
                      ByteSpan payload, Duration cost) {
  for (std::size_t tier = first; tier < last; ++tier) {
    CacheTier::Claim claim = tiers_[tier].tier->TryClaim(job, key, payload.size());
    if (claim && claim.Commit(payload, cost)) return true;
  }
  return false;
}

CacheTier::Claim SampleStore::ClaimFrom(std::size_t& tier, JobId job, const CacheKey& key,
                                        std::size_t bytes) {
  while (true) {
    CacheTier::Claim claim = tiers_[tier].tier->TryClaim(job, key, bytes);
    if (claim || claim.why() == CacheTier::Refusal::kTaken || tier + 1 == tiers_.size()) {
      return claim;
    }
    ++tier;
  }
}

SampleStore::Claim SampleStore::TryClaim(JobId job, const CacheKey& key,
                                         std::size_t expected_bytes) {
  OpenClaims::Token open = claims_->Begin(EntryId::Of(key));
  if (!open) {
    return {*this, nullptr, 0, CacheTier::Claim(CacheTier::Refusal::kTaken), job, key};
  }
  std::size_t tier = 0;
  CacheTier::Claim claim = ClaimFrom(tier, job, key, expected_bytes);
  return {*this, std::move(open), tier, std::move(claim), job, key};
}

bool SampleStore::Claim::Commit(ByteSpan payload, Duration cost) {
  const bool kept = claim_.Commit(payload, cost) ||
                    store_.Put(tier_ + 1, store_.tiers_.size(), job_, key_, payload, cost);
  open_.reset();
  return kept;
}

void SampleStore::Forget(const CacheKey& key) {
  for (const Tier& each : tiers_) each.tier->Forget(key);
}

void SampleStore::AddJob(JobId job, std::uint64_t quota) {
  const std::vector<std::uint64_t> shares = DivideQuota(quota, budgets_);
  for (std::size_t i = 0; i < tiers_.size(); ++i) tiers_[i].tier->AddJob(job, shares[i]);
}

void SampleStore::RemoveJob(JobId job) {
  for (const Tier& each : tiers_) each.tier->RemoveJob(job);
}

// The slowest first: it then has room for what those above it give up.
void SampleStore::SetQuota(JobId job, const std::optional<StoreQuota>& quota) {
  std::vector<std::uint64_t> shares;
  if (quota && quota->tiers.empty()) shares = DivideQuota(quota->bytes, budgets_);
  for (std::size_t i = tiers_.size(); i-- > 0;) {
    std::optional<std::uint64_t> share;
    if (quota && !quota->tiers.empty()) {
      const auto named = std::ranges::find(quota->tiers, tiers_[i].name,
                                           &std::pair<std::string, std::uint64_t>::first);
      share = named == quota->tiers.end() ? 0 : named->second;
    } else if (quota) {
      share = shares[i];
    }
    tiers_[i].tier->SetQuota(job, share);
  }
}

void SampleStore::ShareQuota(JobId job, std::uint64_t data_set) {
  for (const Tier& each : tiers_) each.tier->ShareQuota(job, data_set);
}

void SampleStore::SetOwners(const std::shared_ptr<const EntryOwners>& owners) {
  for (const Tier& each : tiers_) each.tier->SetOwners(owners);
}

void SampleStore::SetKept(const std::set<JobId>& jobs) {
  for (const Tier& each : tiers_) each.tier->SetKept(jobs);
}

void SampleStore::Doom(const std::set<JobId>& jobs) {
  for (const Tier& each : tiers_) each.tier->Doom(jobs);
}

bool SampleStore::SweepDoomed() {
  bool all = true;
  for (const Tier& each : tiers_) all = each.tier->SweepDoomed() && all;
  return all;
}

void SampleStore::FreezeQuota(JobId job) {
  for (const Tier& each : tiers_) each.tier->FreezeQuota(job);
}

CacheStats SampleStore::Stats() const {
  CacheStats sum;
  for (const Tier& each : tiers_) {
    const CacheStats stats = each.tier->Stats();
    sum.bytes += stats.bytes;
    sum.budget += stats.budget;
    sum.entries += stats.entries;
    sum.hits += stats.hits;
    Add(stats.replicas, sum.replicas);
    sum.misses = stats.misses;  // of the last: the others were asked before
  }
  return sum;
}

std::vector<std::pair<std::string, CacheStats>> SampleStore::TierStats() const {
  std::vector<std::pair<std::string, CacheStats>> stats;
  for (const Tier& each : tiers_) stats.emplace_back(each.name, each.tier->Stats());
  return stats;
}

std::vector<StoreJobStats> SampleStore::JobStats() const {
  std::map<JobId, StoreJobStats> jobs;
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    for (const JobCacheStats& stats : tiers_[i].tier->JobStats()) {
      StoreJobStats& job = jobs[stats.job];
      job.tiers.resize(tiers_.size());
      job.tiers[i] = stats;
      job.all.bytes += stats.bytes;
      job.all.entries += stats.entries;
      job.all.entry_bytes += stats.entry_bytes;
      job.all.made_in += stats.made_in;
      job.all.sample.Add(stats.sample);
      job.all.hits += stats.hits;
      Add(stats.replicas, job.all.replicas);
      if (i + 1 == tiers_.size()) job.all.misses = stats.misses;
    }
  }
  std::vector<StoreJobStats> list;
  for (auto& [id, job] : jobs) {
    job.all.job = id;
    for (JobCacheStats& tier : job.tiers) tier.job = id;
    list.push_back(std::move(job));
  }
  return list;
}

}  // namespace headrace::dataworker
