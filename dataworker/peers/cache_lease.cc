#include "dataworker/peers/cache_lease.h"

#include <algorithm>
#include <utility>

#include "dataworker/cache/replica_shelf.h"

namespace headrace::dataworker {
namespace {

// How often a lookup waits for one entry's makers, one after the other: each may fail.
constexpr int kMostMakers = 2;

}  // namespace

bool CacheLease::WorthAsking(PeerCache::Place place) const {
  if (place != PeerCache::Place::kPeer) return place == PeerCache::Place::kWide;
  const std::uint64_t mean = mean_bytes_.load(std::memory_order_relaxed);
  return mean == 0 || mean >= peers_->least_bytes();
}

bool CacheLease::HasNothing() const {
  return store_->Stats().entries == 0 && !(peers_ && peers_->HasOthers(job_));
}

CacheLookup CacheLease::Find(const CacheKey& key) const {
  if (!peers_) return FindHere(key);
  const PeerCache::Place place = peers_->PlaceOf(job_, key);
  if (!WorthAsking(place)) return FindHere(key);
  if (place == PeerCache::Place::kWide && peers_->KeepsReplicas(job_)) {
    if (CacheLookup copy = FindCopy(key); copy.pin) return copy;
  }
  return {.later = true, .tier = peers_tier()};
}

CacheLookup CacheLease::FindCopy(const CacheKey& key) const {
  ReplicaShelf* const shelf = store_->replicas();
  if (shelf == nullptr) return {};
  return {.pin = shelf->Find(job_, key), .tier = replicas_tier()};
}

void CacheLease::KeepCopy(const CacheKey& key, const CacheLookup& found) const {
  if (!found.owner.valid() || peers_->PlaceOf(job_, key) != PeerCache::Place::kWide) return;
  if (ReplicaShelf* const shelf = store_->replicas()) {
    shelf->Keep(job_, key, found.pin.bytes(), found.pin.cost(), found.owner);
  }
}

CacheLookup CacheLease::FindHere(const CacheKey& key) const {
  CacheLookup found = store_->Find(job_, key);
  return found.pin || found.later ? found : WithClaim(key, std::move(found));
}

CacheLookup CacheLease::WithClaim(const CacheKey& key, CacheLookup miss) const {
  // About its size; whether it fits is seen when it is made.
  const std::uint64_t mean = mean_bytes_.load(std::memory_order_relaxed);
  SampleStore::Claim claim = store_->TryClaim(job_, key, std::max<std::uint64_t>(mean, 1));
  // A copy from when another worker owned it. Where there is no room for the entry it stays what it is.
  if (CacheLookup copy = claim.taken() ? CacheLookup() : FindCopy(key); copy.pin) {
    const bool kept = claim && claim.Commit(copy.pin.bytes(), copy.pin.cost());
    if (kept) store_->replicas()->Forget(key);
    return copy;
  }
  if (claim) {
    miss.claim = std::make_shared<EntryClaim>(store_, std::move(claim), key);
    if (MayBeAtFormer(key)) return {.later = true, .tier = former_tier(), .claim = miss.claim};
  } else if (claim.taken()) {
    return {.pin = {}, .later = true, .tier = makers_tier()};
  }
  return miss;
}

void CacheLease::AwaitMaker(const CacheKey& key, OnFound on_found, int tries) const {
  const auto again = [this, key, on_found, tries] {
    CacheLookup found = FindHere(key);
    if (!found.later) {
      on_found(std::move(found));
    } else {
      FindHereLater(key, found, on_found, tries - 1);
    }
  };
  const OpenClaims::Wait wait = store_->AwaitClaim(key, [again, on_found](bool ended) {
    if (ended) {
      again();
    } else {
      on_found({});
    }
  });
  if (wait == OpenClaims::Wait::kEnded) again();
  if (wait == OpenClaims::Wait::kTooOld) on_found({});
}

void CacheLease::FindHereLater(const CacheKey& key, const CacheLookup& stopped, OnFound on_found,
                               int tries) const {
  if (stopped.tier == former_tier()) {
    AskFormer(key, stopped.claim, std::move(on_found));
    return;
  }
  if (stopped.tier == makers_tier()) {
    if (tries > 0) {
      AwaitMaker(key, std::move(on_found), tries);
    } else {
      on_found({});
    }
    return;
  }
  store_->FindLater(job_, key, stopped,
                    [this, key, on_found = std::move(on_found), tries](CacheLookup found) {
                      if (!found.pin) found = WithClaim(key, std::move(found));
                      if (found.later) {
                        FindHereLater(key, found, on_found, tries);
                      } else {
                        on_found(std::move(found));
                      }
                    });
}

void CacheLease::FindLater(const CacheKey& key, const CacheLookup& stopped,
                           OnFound on_found) const {
  if (stopped.tier != peers_tier()) {
    FindHereLater(key, stopped, std::move(on_found), kMostMakers);
    return;
  }
  // The store and the peers are stopped before they go, and answer all that is open then.
  peers_->Ask(job_, key, [this, key, on_found = std::move(on_found)](PeerCache::Answer answer) {
    OnOwner(key, std::move(answer), on_found);
  });
}

// An entry that the owner lacks may still lie here, from a time when this worker owned it. Then it
// moves to its owner.
void CacheLease::OnOwner(const CacheKey& key, PeerCache::Answer answer,
                         const OnFound& on_found) const {
  if (answer.pin) {
    return on_found({.pin = std::move(answer.pin), .tier = peers_tier(), .owner = answer.owner});
  }
  std::shared_ptr<EntryClaim> claim;
  if (answer.claim) claim = std::make_shared<EntryClaim>(std::move(answer.claim));
  CacheLookup own = store_->Find(job_, key);
  if (own.pin) {
    if (claim && claim->Commit(own.pin.bytes(), own.pin.cost())) store_->Forget(key);
    return on_found(std::move(own));
  }
  if (CacheLookup copy = FindCopy(key); copy.pin) {
    if (claim && claim->Commit(copy.pin.bytes(), copy.pin.cost())) {
      store_->replicas()->SetOwner(key, answer.owner);
    }
    return on_found(std::move(copy));
  }
  if (claim && MayBeAtFormer(key)) return AskFormer(key, std::move(claim), on_found);
  on_found({.claim = std::move(claim)});
}

bool CacheLease::MayBeAtFormer(const CacheKey& key) const {
  return peers_ && WorthAsking(peers_->FormerPlaceOf(job_, key));
}

void CacheLease::AskFormer(const CacheKey& key, std::shared_ptr<EntryClaim> claim,
                           OnFound on_found) const {
  peers_->AskFormer(
      job_, key,
      [this, claim = std::move(claim), on_found = std::move(on_found)](PeerCache::Answer answer) {
        if (!answer.pin) return on_found({.claim = claim});
        claim->Commit(answer.pin.bytes(), answer.pin.cost());
        on_found({.pin = std::move(answer.pin), .tier = peers_tier()});
      });
}

void CacheLease::NoteSize(std::size_t bytes) const {
  const std::uint64_t mean = mean_bytes_.load(std::memory_order_relaxed);
  mean_bytes_.store(mean == 0 ? bytes : (mean * 15 + bytes) / 16, std::memory_order_relaxed);
}

std::shared_ptr<EntryClaim> CacheLease::TryClaim(const CacheKey& key, std::size_t expected_bytes,
                                                 CacheLookup& found) const {
  NoteSize(expected_bytes);
  if (std::shared_ptr<EntryClaim> given = std::exchange(found.claim, nullptr)) {
    if (given->key().content == key.content && given->key().form == key.form) return given;
  }
  // Newer content has a claim of its own, once the older one's is given back.
  if (peers_ && WorthAsking(peers_->PlaceOf(job_, key))) return nullptr;
  SampleStore::Claim claim = store_->TryClaim(job_, key, expected_bytes);
  if (!claim) return nullptr;
  return std::make_shared<EntryClaim>(store_, std::move(claim), key);
}

}  // namespace headrace::dataworker
