#pragma once

#include <memory>
#include <utility>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/ids.h"
#include "dataworker/cache/cache_entry.h"

namespace headrace::dataworker {

class PeerCache;

// The right to make an entry that another worker keeps. The destructor gives it back unless Commit was
// called. The owner takes it back after a time, too. Thread-compatible.
class PeerClaim {
 public:
  PeerClaim(std::weak_ptr<PeerCache> peers, WorkerId owner, JobId job, const CacheKey& key)
      : peers_(std::move(peers)), owner_(owner), job_(job), key_(key) {}
  PeerClaim(const PeerClaim&) = delete;
  PeerClaim& operator=(const PeerClaim&) = delete;
  ~PeerClaim();

  [[nodiscard]] const CacheKey& key() const { return key_; }
  // Hands the entry over; copies it. `cost`: what it took to make. False: it is not handed over. Called
  // once.
  bool Commit(ByteSpan entry, Duration cost);

 private:
  std::weak_ptr<PeerCache> peers_;  // empty: used
  const WorkerId owner_;
  const JobId job_;
  const CacheKey key_;
};

}  // namespace headrace::dataworker
