#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/ids.h"
#include "dataworker/cache/cache_entry.h"
#include "dataworker/cache/cache_tier.h"
#include "dataworker/cache/fetch_gate.h"
#include "dataworker/cache/open_claims.h"

namespace headrace::dataworker {

// A job's quotas in the tiers.
struct StoreQuota {
  std::uint64_t bytes = 0;  // of all tiers together; DivideQuota divides it
  // By the tier's name, in place of `bytes`. Tiers that it does not name have none.
  std::vector<std::pair<std::string, std::uint64_t>> tiers = {};
};

// What a job has in each tier, in their order, and in all together.
struct StoreJobStats {
  JobCacheStats all;  // a miss is a miss of every tier
  std::vector<JobCacheStats> tiers;
};

// The cache tiers of a worker as one cache, fastest first.
//
//   lookup     the tiers are asked in order. The fast ones answer at once. The first one that must
//              look ends the lookup with `later`, and FindLater goes on from there
//   new entry  goes to the fastest tier with room
//   promotion  an entry that is found in a lower tier moves up if a faster one has room for it
//   demotion   an entry that a tier gives up to meet a quota is offered to those after it
//
// So an entry is in one tier; for moments, while it moves, in two. Thread-safe. The worker and the
// leases share it. It outlives claims, not the pins. Methods: a tier's, and those of claims.
class SampleStore {
 public:
  struct Tier {
    std::string name;
    std::unique_ptr<CacheTier> tier;
  };
  // Most entries of slow tiers that one job has in memory or on their way at the same time. More
  // wait for their turn in FetchGate.
  static constexpr std::size_t kMostFetches = 64;

  // REQUIRES: at least one tier.
  explicit SampleStore(std::vector<Tier> tiers, std::size_t most_fetches = kMostFetches);
  SampleStore(const SampleStore&) = delete;
  SampleStore& operator=(const SampleStore&) = delete;
  ~SampleStore();

  using OnFound = std::function<void(CacheLookup)>;

  // Never waits. For a hit of the first tier it costs what the tier costs.
  CacheLookup Find(JobId job, const CacheKey& key) {
    CacheLookup found = fastest_->Find(job, key);
    if (!found.pin && !found.later && !only_one_) found = FindFrom(1, job, key);
    return found;
  }
  // Goes on where a lookup stopped. Calls `on_found` exactly once, with a pin or with a miss:
  // before it returns, or on a thread of a tier. Until the pin is released it holds one of the
  // job's places: a caller that has one must not wait for the next. REQUIRES: stopped.later.
  void FindLater(JobId job, const CacheKey& key, const CacheLookup& stopped, OnFound on_found);

  // The right to make one entry, in the fastest tier with room. See CacheTier::Claim. Whoever waits for
  // the entry (AwaitClaim) hears of its end.
  class Claim {
   public:
    explicit operator bool() const { return static_cast<bool>(claim_); }
    // Whether another one makes it. REQUIRES: the claim is empty.
    [[nodiscard]] bool taken() const { return !open_; }
    // False: no tier has room after all. `cost`: see CacheTier::Claim.
    bool Commit(ByteSpan payload, Duration cost = {});

   private:
    friend class SampleStore;
    Claim(SampleStore& store, OpenClaims::Token open, std::size_t tier, CacheTier::Claim claim,
          JobId job, const CacheKey& key)
        : store_(store),
          open_(std::move(open)),
          tier_(tier),
          claim_(std::move(claim)),
          job_(job),
          key_(key) {}
    SampleStore& store_;
    OpenClaims::Token open_;  // ends after the tier's claim
    const std::size_t tier_;
    CacheTier::Claim claim_;
    const JobId job_;
    const CacheKey key_;
  };
  Claim TryClaim(JobId job, const CacheKey& key, std::size_t expected_bytes);
  // Waits for the end of another's claim: see OpenClaims.
  OpenClaims::Wait AwaitClaim(const CacheKey& key, OpenClaims::OnEnd on_end) {
    return claims_->Await(EntryId::Of(key), std::move(on_end));
  }
  void TickClaims() { claims_->Tick(); }

  // Drops the entry of exactly this content, wherever it is. Pins stay valid.
  void Forget(const CacheKey& key);

  // As CacheTier's, of the fastest tier that takes it. What files() has is not taken again.
  TakenOver TakeOver(JobId job, const std::shared_ptr<SealedMemory>& memory,
                     std::span<const SealedEntry> entries);
  // In memory, and in files().
  struct Room {
    std::uint64_t memory = 0, files = 0;
  };
  [[nodiscard]] Room RoomToTakeOver(JobId job) const;
  // Lookups that found something in memory, in files(), and nowhere.
  struct Lookups {
    std::uint64_t hits = 0, of_files = 0, misses = 0;
  };
  void CountLookups(JobId job, const Lookups& lookups);
  // Of the fastest tier that has such; nullptr: none does.
  [[nodiscard]] MarkedFiles* files() const { return files_; }

  // As CacheTier's, with a quota for all tiers together.
  void AddJob(JobId job, std::uint64_t quota);
  void RemoveJob(JobId job);
  void SetQuota(JobId job, const std::optional<StoreQuota>& quota);
  void ShareQuota(JobId job, std::uint64_t data_set);
  // As CacheTier's, of all tiers. REQUIRES: nobody else is here yet.
  void SetOwners(const std::shared_ptr<const EntryOwners>& owners);
  // Of the fastest tier that keeps replicas; nullptr: none does.
  [[nodiscard]] ReplicaShelf* replicas() const { return replicas_; }
  // As CacheTier's, of all tiers.
  void SetKept(const std::set<JobId>& jobs);
  void Doom(const std::set<JobId>& jobs);
  bool SweepDoomed();
  // Has the tiers keep to so much of the worker's memory: see CacheTier::KeepTo.
  std::uint64_t KeepTo(std::uint64_t most);
  // Sets the quotas to what the job, or the jobs of its data set, have: that is kept, and no more.
  void FreezeQuota(JobId job);

  // Answers every open FindLater, with a miss if need be, before it returns; later ones at once.
  // The owner calls it while all that an answer refers to is there. Idempotent.
  void Stop();

  // Of all tiers together.
  [[nodiscard]] CacheStats Stats() const;
  [[nodiscard]] std::vector<std::pair<std::string, CacheStats>> TierStats() const;
  // The jobs that are attached or have entries, by id.
  [[nodiscard]] std::vector<StoreJobStats> JobStats() const;
  [[nodiscard]] const std::string& tier_name(std::size_t tier) const { return tiers_[tier].name; }
  [[nodiscard]] std::size_t tiers() const { return tiers_.size(); }

 private:
  // Asks the tiers from this one on.
  CacheLookup FindFrom(std::size_t tier, JobId job, const CacheKey& key);
  void Fetch(std::size_t tier, JobId job, const CacheKey& key, FetchGate::Place place,
             OnFound on_found);
  CacheTier::Claim ClaimFrom(std::size_t& tier, JobId job, const CacheKey& key, std::size_t bytes);
  // Stores in the fastest tier of [first, last) with room.
  bool Put(std::size_t first, std::size_t last, JobId job, const CacheKey& key, ByteSpan payload,
           Duration cost = {});
  void Promote(std::size_t from, JobId job, const CacheKey& key, const CachePin& pin);

  const std::vector<Tier> tiers_;
  CacheTier* const fastest_;
  ReplicaShelf* const replicas_;
  MarkedFiles* const files_;
  const bool only_one_;
  const std::vector<std::uint64_t> budgets_;
  const std::shared_ptr<FetchGate> gate_;
  const std::shared_ptr<OpenClaims> claims_ = std::make_shared<OpenClaims>();
  std::atomic<bool> stopped_ = false;
};

}  // namespace headrace::dataworker
