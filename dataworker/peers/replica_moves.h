#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>

#include "base/ids.h"
#include "dataworker/cache/replica_shelf.h"
#include "dataworker/cache/sample_store.h"
#include "dataworker/exec/executor.h"
#include "dataworker/peers/peer_cache.h"
#include "net/reactor.h"
#include "schemas/wire/control.h"

namespace headrace::dataworker {

// Says which jobs keep replicas here, and moves those whose owner has gone: such a replica may be the only
// copy, and must not lie where it goes before all else. Where this worker is the owner now it becomes an
// entry of its own. Otherwise it is offered to the new owner, which takes one of all that are offered.
//
// A job's replicas stay until this is done, whatever the coordinator says meanwhile. Moves are bounded:
// kMostOpen at a time. Shared: answers come late. Reactor thread.
class ReplicaMoves : public std::enable_shared_from_this<ReplicaMoves> {
 public:
  static constexpr std::size_t kMostOpen = 16;

  struct Parts {
    net::Reactor& reactor;
    Executor& executor;  // copies
    std::shared_ptr<SampleStore> cache;
    std::shared_ptr<PeerCache> peers;
  };
  explicit ReplicaMoves(Parts parts) : parts_(std::move(parts)), shelf_(parts_.cache->replicas()) {}

  // REQUIRES: all others here have applied the directive.
  void OnDirective(const wire::WorkerDirective& directive);
  // Of replicas that have not moved yet.
  [[nodiscard]] std::size_t waiting() const { return waiting_.size() + open_; }

 private:
  using Replica = ReplicaShelf::Replica;
  void Pump();
  void Move(const Replica& replica);
  // Makes it an entry of this worker's.
  void StoreHere(const Replica& replica);
  void Offer(const Replica& replica);
  // The replica is where it belongs, or can't be. `owner`: of its entry now; not valid: as before, so it is
  // tried again after the next change of workers.
  void OnDone(const Replica& replica, WorkerId owner);
  // Has what is no job's any more go.
  void Settle();

  const Parts parts_;
  ReplicaShelf* const shelf_;  // nullptr: this worker keeps none
  std::set<JobId> allowed_;
  std::uint64_t version_ = 0;  // of the rings, when they were looked at
  std::deque<Replica> waiting_;
  std::size_t open_ = 0;
};

}  // namespace headrace::dataworker
