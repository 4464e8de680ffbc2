#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/buffer.h"
#include "base/ids.h"
#include "dataworker/cache/sample_store.h"
#include "dataworker/peers/peer_cache.h"

namespace headrace::dataworker {

// A job's cache as its sessions use it: this worker's own store, and what other workers keep for the
// job. An entry that another worker owns is looked for there, and is stored there. It looks like one
// more tier after those of the store, and a slow one: Find says `later`.
//
// Small entries stay where they are made: to make one costs less than to ask for it. What the entries
// of the lease took so far tells; until there is one, all are shared. Of entries that the job's workers
// on all hosts share the coordinator says whether they are worth asking for, by measured costs.
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

  // The right to make one entry, here or for its owner. Its destructor gives it back.
  class Claim {
   public:
    explicit operator bool() const { return mine_ || theirs_; }
    // False: there is no room for it after all, or no way to its owner.
    // `cost`: see CacheTier::Claim; its owner does not learn it.
    bool Commit(ByteSpan entry, Duration cost = {}) {
      return mine_ ? mine_->Commit(entry, cost) : theirs_->Commit(entry);
    }

   private:
    friend class CacheLease;
    std::optional<SampleStore::Claim> mine_;
    std::shared_ptr<PeerClaim> theirs_;
  };
  // `found`: what the lookup said; it may have been of older content.
  [[nodiscard]] Claim TryClaim(const CacheKey& key, std::size_t expected_bytes,
                               const CacheLookup& found) const;

  // The tiers of the store, and the other workers.
  [[nodiscard]] std::size_t tiers() const { return store_->tiers() + 1; }
  [[nodiscard]] std::string tier_name(std::size_t tier) const {
    return tier < store_->tiers() ? store_->tier_name(tier) : "peers";
  }

 private:
  // Whether another worker has, or gets, the entry.
  [[nodiscard]] bool Elsewhere(const CacheKey& key) const;
  [[nodiscard]] std::uint32_t peers_tier() const {
    return static_cast<std::uint32_t>(store_->tiers());
  }
  [[nodiscard]] CacheLookup FromPeer(const CacheKey& key, PeerCache::Answer answer) const;

  const std::shared_ptr<SampleStore> store_;
  const std::shared_ptr<PeerCache> peers_;
  const JobId job_;
  mutable std::atomic<std::uint64_t> mean_bytes_ = 0;  // of the newest entries; 0: there was none
};

}  // namespace headrace::dataworker
