#include "dataworker/peers/replica_moves.h"

#include <map>
#include <utility>
#include <vector>

namespace headrace::dataworker {

void ReplicaMoves::OnDirective(const wire::WorkerDirective& directive) {
  // A coordinator that has just begun knows jobs, and no grants yet.
  if (shelf_ == nullptr || (directive.grants.empty() && !directive.jobs.empty())) return;
  allowed_.clear();
  std::set<JobId> known;
  for (const wire::JobGrant& grant : directive.grants) {
    known.insert(grant.job);
    if (grant.replicas && grant.wide) allowed_.insert(grant.job);
  }
  if (parts_.peers->version() != version_) {
    version_ = parts_.peers->version();
    std::map<std::pair<JobId, WorkerId>, bool> gone;
    const std::vector<Replica> orphans = shelf_->List([&](const Replica& each) {
      // What a job leaves that has ended here is nobody's.
      if (!known.contains(each.job)) return false;
      const auto [at, is_new] = gone.try_emplace({each.job, each.owner}, false);
      if (is_new) at->second = !parts_.peers->MayOwn(each.job, each.key, each.owner);
      return at->second;
    });
    waiting_.assign(orphans.begin(), orphans.end());
    std::set<WorkerId> owners;
    for (const Replica& each : waiting_) owners.insert(each.owner);
    shelf_->SetLast(std::move(owners));
  }
  Pump();
  Settle();
}

void ReplicaMoves::Settle() {
  if (waiting() == 0) {
    shelf_->SetLast({});
    shelf_->SetJobs(allowed_);
    return;
  }
  std::set<JobId> jobs = allowed_;
  for (const Replica& each : waiting_) jobs.insert(each.job);
  shelf_->AddJobs(jobs);
}

void ReplicaMoves::Pump() {
  while (open_ < kMostOpen && !waiting_.empty()) {
    const Replica next = std::move(waiting_.front());
    waiting_.pop_front();
    ++open_;
    Move(next);
  }
}

void ReplicaMoves::Move(const Replica& replica) {
  if (parts_.peers->PlaceOf(replica.job, replica.key) == PeerCache::Place::kHere) {
    StoreHere(replica);
  } else {
    Offer(replica);
  }
}

void ReplicaMoves::StoreHere(const Replica& replica) {
  parts_.executor.Submit([weak = weak_from_this(), &reactor = parts_.reactor, cache = parts_.cache,
                          shelf = shelf_, replica](ThreadContext&) {
    if (const CachePin copy = shelf->Peek(replica.key)) {
      SampleStore::Claim claim = cache->TryClaim(replica.job, replica.key, copy.bytes().size());
      const bool is_here = claim ? claim.Commit(copy.bytes(), copy.cost()) : claim.taken();
      if (is_here) shelf->Forget(replica.key);
    }
    reactor.Post([weak, replica] {
      if (const auto moves = weak.lock()) moves->OnDone(replica, {});
    });
  });
}

void ReplicaMoves::Offer(const Replica& replica) {
  parts_.peers->Offer(
      replica.job, replica.key,
      [weak = weak_from_this(), &reactor = parts_.reactor, replica](PeerCache::Answer answer) {
        reactor.Post([weak, replica, answer = std::move(answer)] {
          const auto moves = weak.lock();
          if (!moves) return;
          if (!answer.claim) return moves->OnDone(replica, answer.owner);
          // The copy is compute threads' work.
          moves->parts_.executor.Submit([weak, &reactor = moves->parts_.reactor,
                                         shelf = moves->shelf_, cache = moves->parts_.cache,
                                         replica, answer](ThreadContext&) {
            if (const CachePin copy = shelf->Peek(replica.key)) {
              answer.claim->Commit(copy.bytes(), copy.cost());
            }
            reactor.Post([weak, replica, owner = answer.owner] {
              if (const auto self = weak.lock()) self->OnDone(replica, owner);
            });
          });
        });
      });
}

void ReplicaMoves::OnDone(const Replica& replica, WorkerId owner) {
  --open_;
  if (owner.valid()) shelf_->SetOwner(replica.key, owner);
  Pump();
  if (waiting() == 0) Settle();
}

}  // namespace headrace::dataworker
