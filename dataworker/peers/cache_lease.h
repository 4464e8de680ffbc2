#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/buffer.h"
#include "base/ids.h"
#include "dataworker/cache/sample_store.h"
#include "dataworker/peers/entry_claim.h"
#include "dataworker/peers/peer_cache.h"

namespace headrace::dataworker {

// A job's cache as its sessions use it: this worker's own store, and what other workers keep for the
// job. An entry that another worker owns is looked for there, and is stored there. It looks like one
// more tier after those of the store, and a slow one: Find says `later`.
//
// A miss comes with the right to make the entry, if there is room for it. Whoever finds that somebody
// else makes it waits for that, a bounded time (OpenClaims): Find says `later`.
//
// After the workers have changed, a miss is looked for at the worker that owned the entry before, and moves
// to its owner (PeerCache).
//
// Small entries stay where they are made: to make one costs less than to ask for it. What the entries
// of the lease took so far tells; until there is one, all are shared. Of entries that the job's workers
// on all hosts share the coordinator says whether they are worth asking for, by measured costs.
//
// Where the coordinator says so, copies of what workers of other hosts gave stay here (ReplicaShelf), and
// their owners are not asked again. A copy whose entry belongs here now becomes that entry, and one that the
// owner lacks goes to it, when it is found.
//
// Keeps the store, and the job known to it, while one of the job's sessions, or a batch of one, lives.
// Thread-safe.
class CacheLease {
 public:
  using OnFound = SampleStore::OnFound;

  // `peers`: nullptr: there are none.
  CacheLease(std::shared_ptr<SampleStore> store, JobId job, std::uint64_t quota,
             std::shared_ptr<PeerCache> peers = nullptr)
      : store_(std::move(store)), peers_(std::move(peers)), job_(job) {
    store_->AddJob(job_, quota);
  }
  CacheLease(const CacheLease&) = delete;
  CacheLease& operator=(const CacheLease&) = delete;
  ~CacheLease() { store_->RemoveJob(job_); }

  [[nodiscard]] JobId job() const { return job_; }

  // No lookup can find anything now: nothing is kept here, and no other worker keeps the job's samples.
  [[nodiscard]] bool HasNothing() const;
  // As SampleStore's. Never waits.
  [[nodiscard]] CacheLookup Find(const CacheKey& key) const;
  // As SampleStore's. REQUIRES: stopped.later.
  void FindLater(const CacheKey& key, const CacheLookup& stopped, OnFound on_found) const;

  // Whether the lookup's answer comes when another one has made the entry.
  [[nodiscard]] bool AwaitsMaker(const CacheLookup& found) const {
    return found.later && found.tier == makers_tier();
  }
  // The right to make the entry; null: there is none. `found`: what the lookup said, whose claim it takes
  // away; it may have been of older content. `expected_bytes`: of the entry.
  [[nodiscard]] std::shared_ptr<EntryClaim> TryClaim(const CacheKey& key,
                                                     std::size_t expected_bytes,
                                                     CacheLookup& found) const;

  // Keeps a copy of an entry that was found, if another worker owns it and copies may be kept. Copies its
  // bytes. Compute threads.
  void KeepCopy(const CacheKey& key, const CacheLookup& found) const;

  // Learns what an entry of the job takes.
  void NoteSize(std::size_t bytes) const;

  // The tiers of the store, the other workers, and copies of what they have.
  [[nodiscard]] std::size_t tiers() const { return store_->tiers() + 2; }
  [[nodiscard]] std::string tier_name(std::size_t tier) const {
    if (tier < store_->tiers()) return store_->tier_name(tier);
    return tier == peers_tier() ? "peers" : "replicas";
  }

 private:
  // Whether an entry of the job is worth a question to a worker there. REQUIRES: peers_.
  [[nodiscard]] bool WorthAsking(PeerCache::Place place) const;
  [[nodiscard]] std::uint32_t peers_tier() const {
    return static_cast<std::uint32_t>(store_->tiers());
  }
  [[nodiscard]] std::uint32_t replicas_tier() const { return peers_tier() + 1; }
  [[nodiscard]] std::uint32_t makers_tier() const { return peers_tier() + 2; }
  [[nodiscard]] std::uint32_t former_tier() const { return peers_tier() + 3; }
  // A copy that is here; no pin: there is none.
  [[nodiscard]] CacheLookup FindCopy(const CacheKey& key) const;
  // What becomes of the owner's answer.
  void OnOwner(const CacheKey& key, PeerCache::Answer answer, const OnFound& on_found) const;
  // Looks for what is claimed at the worker that owned it before.
  void AskFormer(const CacheKey& key, std::shared_ptr<EntryClaim> claim, OnFound on_found) const;
  [[nodiscard]] bool MayBeAtFormer(const CacheKey& key) const;
  // What a miss of the store becomes: with a claim, or `later` where another has it.
  [[nodiscard]] CacheLookup WithClaim(const CacheKey& key, CacheLookup miss) const;
  // Looks into this worker's own store.
  [[nodiscard]] CacheLookup FindHere(const CacheKey& key) const;
  void AwaitMaker(const CacheKey& key, OnFound on_found, int tries) const;
  void FindHereLater(const CacheKey& key, const CacheLookup& stopped, OnFound on_found,
                     int tries) const;

  const std::shared_ptr<SampleStore> store_;
  const std::shared_ptr<PeerCache> peers_;
  const JobId job_;
  mutable std::atomic<std::uint64_t> mean_bytes_ = 0;  // of the newest entries; 0: there was none
};

}  // namespace headrace::dataworker
