#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/buffer.h"
#include "base/clock.h"
#include "dataworker/cache/sample_store.h"
#include "dataworker/peers/peer_claim.h"

namespace headrace::dataworker {

// The right to make one entry, here or for the worker that owns it. It is given with a miss, before the
// source is read: so others that want the entry wait for it, and neither read nor decode. The destructor
// gives it back. Thread-compatible.
class EntryClaim {
 public:
  EntryClaim(std::shared_ptr<SampleStore> store, SampleStore::Claim mine, const CacheKey& key)
      : store_(std::move(store)), mine_(std::move(mine)), key_(key) {}
  explicit EntryClaim(std::shared_ptr<PeerClaim> theirs)
      : theirs_(std::move(theirs)), key_(theirs_->key()) {}
  EntryClaim(const EntryClaim&) = delete;
  EntryClaim& operator=(const EntryClaim&) = delete;

  [[nodiscard]] const CacheKey& key() const { return key_; }
  // Stores the entry, or hands it over; copies it. False: there is no room for it after all, or no way to
  // its owner. `cost`: see CacheTier::Claim. Called once.
  bool Commit(ByteSpan entry, Duration cost = {}) {
    return mine_ ? mine_->Commit(entry, cost) : theirs_->Commit(entry, cost);
  }

 private:
  std::shared_ptr<SampleStore> store_;  // outlives mine_
  std::optional<SampleStore::Claim> mine_;
  std::shared_ptr<PeerClaim> theirs_;
  const CacheKey key_;
};

}  // namespace headrace::dataworker
