#include "dataworker/peers/cache_lease.h"

#include <utility>

namespace headrace::dataworker {

bool CacheLease::Elsewhere(const CacheKey& key) const {
  if (!peers_) return false;
  const PeerCache::Place place = peers_->PlaceOf(job_, key);
  if (place != PeerCache::Place::kPeer) return place == PeerCache::Place::kWide;
  const std::uint64_t mean = mean_bytes_.load(std::memory_order_relaxed);
  return mean == 0 || mean >= peers_->least_bytes();
}

bool CacheLease::HasNothing() const {
  return store_->Stats().entries == 0 && !(peers_ && peers_->HasOthers(job_));
}

CacheLookup CacheLease::Find(const CacheKey& key) const {
  if (Elsewhere(key)) return {.later = true, .tier = peers_tier()};
  return store_->Find(job_, key);
}

void CacheLease::FindLater(const CacheKey& key, const CacheLookup& stopped,
                           OnFound on_found) const {
  if (stopped.tier != peers_tier()) {
    store_->FindLater(job_, key, stopped, std::move(on_found));
    return;
  }
  // The store and the peers are stopped before they go, and answer all that is open then.
  peers_->Ask(job_, key, [this, key, on_found = std::move(on_found)](PeerCache::Answer answer) {
    on_found(FromPeer(key, std::move(answer)));
  });
}

// An entry that the owner lacks may still lie here, from a time when this worker owned it. Then it
// moves to its owner.
CacheLookup CacheLease::FromPeer(const CacheKey& key, PeerCache::Answer answer) const {
  if (answer.pin) return {.pin = std::move(answer.pin), .tier = peers_tier()};
  CacheLookup own = store_->Find(job_, key);
  if (own.pin && answer.claim && answer.claim->Commit(own.pin.bytes())) store_->Forget(key);
  if (own.pin) return own;
  return {.claim = std::move(answer.claim)};
}

CacheLease::Claim CacheLease::TryClaim(const CacheKey& key, std::size_t expected_bytes,
                                       const CacheLookup& found) const {
  Claim claim;
  const std::uint64_t mean = mean_bytes_.load(std::memory_order_relaxed);
  mean_bytes_.store(mean == 0 ? expected_bytes : (mean * 15 + expected_bytes) / 16,
                    std::memory_order_relaxed);
  if (found.claim) {
    const CacheKey& claimed = found.claim->key();
    if (claimed.content == key.content && claimed.form == key.form) claim.theirs_ = found.claim;
  } else if (!Elsewhere(key)) {
    SampleStore::Claim mine = store_->TryClaim(job_, key, expected_bytes);
    if (mine) claim.mine_.emplace(std::move(mine));
  }
  return claim;
}

}  // namespace headrace::dataworker
