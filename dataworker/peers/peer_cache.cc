#include "dataworker/peers/peer_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace headrace::dataworker {

std::shared_ptr<PeerCache> PeerCache::Make(net::Reactor& reactor, std::uint64_t least_bytes,
                                           std::uint64_t own_bytes) {
  return std::shared_ptr<PeerCache>(new PeerCache(reactor, least_bytes, own_bytes));
}

std::size_t PeerCache::owners() const {
  std::size_t most = 0;
  const std::lock_guard lock(mutex_);
  for (const auto& [job, rings] : rings_) {
    for (const Ring& each : {rings.near, rings.wide}) {
      if (each.ring) most = std::max(most, each.ring->owners());
    }
  }
  return most;
}

bool PeerCache::HasOthers(JobId job) const {
  const std::lock_guard lock(mutex_);
  const auto at = rings_.find(job);
  if (at == rings_.end()) return false;
  const auto others = [&](const Ring& of) {
    if (!of.ring || of.ring->owners() == 0) return false;
    return of.ring->owners() > 1 || of.ring->OwnerOf(EntryId()) != self_;
  };
  return others(at->second.near) || others(at->second.wide);
}

void PeerCache::OnDirective(WorkerId self, const wire::WorkerDirective& directive) {
  // A coordinator that has just begun knows jobs, and no grants yet.
  if (directive.grants.empty() && !directive.jobs.empty()) return;
  std::map<JobId, Rings> rings;
  std::map<WorkerId, std::map<JobId, std::string>> passes;
  std::map<WorkerId, std::string> endpoints;
  for (const wire::JobGrant& grant : directive.grants) {
    if (grant.peers.empty() && !grant.wide) continue;
    const auto ring_of = [&](const std::vector<wire::CachePeer>& peers) {
      std::vector<PeerRing::Member> members = {{self, grant.cache_bytes > 0 ? own_bytes_ : 0}};
      for (const wire::CachePeer& peer : peers) {
        members.push_back({peer.worker, peer.cache_bytes});
        // The pass of a peer on this host opens more than the wide one, and comes first.
        passes[peer.worker].try_emplace(grant.job, peer.pass);
        endpoints[peer.worker] = peer.endpoint;
      }
      std::ranges::sort(members, {}, &PeerRing::Member::worker);
      return std::make_shared<const PeerRing>(std::move(members));
    };
    Rings& of_job = rings[grant.job];
    of_job.near.ring = ring_of(grant.peers);
    if (grant.wide) of_job.wide.ring = ring_of(grant.wide_peers);
    of_job.replicas = grant.wide && grant.replicas;
  }
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    bool changed = rings.size() != rings_.size();
    for (auto& [job, of_job] : rings) {  // one that stays as it was
      const auto held = rings_.find(job);
      const bool near = held != rings_.end() && of_job.near.KeepIfEqual(held->second.near);
      const bool wide = held != rings_.end() && of_job.wide.KeepIfEqual(held->second.wide);
      changed = changed || !near || !wide;
    }
    if (changed) ++version_;
    self_ = self;
    any_ = !rings.empty();
    rings_.swap(rings);
  }
  std::erase_if(links_, [&](const auto& entry) {
    const auto at = endpoints.find(entry.first);
    return at == endpoints.end() || at->second != entry.second->endpoint();
  });
  for (const auto& [worker, endpoint] : endpoints) {
    std::unique_ptr<PeerLink>& link = links_[worker];
    if (!link) {
      auto opened = PeerLink::Open(reactor_, endpoint);
      if (!opened.ok()) {
        LogWarning("no samples are shared with worker " + std::to_string(worker.value) + " at " +
                   endpoint + ": " + opened.status().message());
        links_.erase(worker);
        continue;
      }
      link = std::move(opened).value();
    }
    link->SetPasses(self, std::move(passes[worker]));
  }
}

PeerCache::Ring PeerCache::RingOf(JobId job, const CacheKey& key, WorkerId* self,
                                  bool* wide) const {
  if (!any_) return {nullptr, nullptr};
  const std::lock_guard lock(mutex_);
  *self = self_;
  const auto at = rings_.find(job);
  if (at == rings_.end()) return {nullptr, nullptr};
  const bool by_wide = at->second.wide.ring && key.content.holds_everywhere();
  if (wide != nullptr) *wide = by_wide;
  return by_wide ? at->second.wide : at->second.near;
}

WorkerId PeerCache::OwnerOf(JobId job, const CacheKey& key, bool* wide) const {
  WorkerId self;
  const Ring ring = RingOf(job, key, &self, wide);
  if (!ring.ring) return {};
  const WorkerId owner = ring.ring->OwnerOf(EntryId::Of(key));
  return owner == self ? WorkerId() : owner;
}

WorkerId PeerCache::FormerOf(JobId job, const CacheKey& key, bool* wide) const {
  WorkerId self;
  const Ring ring = RingOf(job, key, &self, wide);
  if (!ring.ring || *ring.misses >= kLastMisses) return {};
  const WorkerId former = ring.ring->RankOf(EntryId::Of(key)).next;
  return former == self ? WorkerId() : former;
}

PeerCache::Place PeerCache::PlaceOf(JobId job, const CacheKey& key) const {
  bool wide = false;
  if (!OwnerOf(job, key, &wide).valid()) return Place::kHere;
  return wide ? Place::kWide : Place::kPeer;
}

bool PeerCache::IsElsewhere(JobId job, const EntryId& id, std::size_t bytes) const {
  CacheKey key{.content = {.place = id.place}, .form = id.form};
  const Place place = PlaceOf(job, key);
  // A lease decides by the mean of its entries, of which one may be twice as large.
  return place == Place::kWide || (place == Place::kPeer && bytes >= 2 * least_bytes_);
}

PeerCache::Place PeerCache::FormerPlaceOf(JobId job, const CacheKey& key) const {
  bool wide = false;
  if (!FormerOf(job, key, &wide).valid()) return Place::kHere;
  return wide ? Place::kWide : Place::kPeer;
}

bool PeerCache::KeepsReplicas(JobId job) const {
  if (!any_) return false;
  const std::lock_guard lock(mutex_);
  const auto at = rings_.find(job);
  return at != rings_.end() && at->second.replicas;
}

bool PeerCache::MayOwn(JobId job, const CacheKey& key, WorkerId worker) const {
  WorkerId self;
  const Ring ring = RingOf(job, key, &self, nullptr);
  return ring.ring && ring.ring->Has(worker);
}

void PeerCache::Enter(JobId job, const CacheKey& key, Kind kind, OnAnswer on_answer) {
  gate_->Enter(job, [self = shared_from_this(), job, key, kind,
                     on_answer = std::move(on_answer)](FetchGate::Place place) {
    const WorkerId owner = self->OwnerOf(job, key);
    self->Push(owner, job, key, kind, std::move(place), [owner, on_answer](Answer answer) {
      answer.owner = owner;
      on_answer(std::move(answer));
    });
  });
}

void PeerCache::Ask(JobId job, const CacheKey& key, OnAnswer on_answer) {
  Enter(job, key, Kind::kFind, std::move(on_answer));
}

void PeerCache::Offer(JobId job, const CacheKey& key, OnAnswer on_answer) {
  Enter(job, key, Kind::kOffer, std::move(on_answer));
}

void PeerCache::AskFormer(JobId job, const CacheKey& key, OnAnswer on_answer) {
  WorkerId self;
  const std::shared_ptr<std::atomic<int>> misses = RingOf(job, key, &self, nullptr).misses;
  OnAnswer counted = [misses, on_answer = std::move(on_answer)](Answer answer) {
    if (misses && answer.pin) *misses = 0;
    if (misses && !answer.pin) ++*misses;
    on_answer(std::move(answer));
  };
  gate_->Enter(job, [self = shared_from_this(), job, key,
                     on_answer = std::move(counted)](FetchGate::Place place) {
    self->Push(self->FormerOf(job, key), job, key, Kind::kTake, std::move(place), on_answer);
  });
}

void PeerCache::Push(WorkerId owner, JobId job, const CacheKey& key, Kind kind,
                     FetchGate::Place place, const OnAnswer& on_answer) {
  PeerLink::OnAnswer answered = [weak = weak_from_this(), owner, job, key, place = std::move(place),
                                 on_answer](wire::PeerAnswer answer, CachePin pin) mutable {
    if (answer == wire::PeerAnswer::kFound) {
      on_answer({.pin = WithPlace(std::move(pin), std::move(place)), .claim = nullptr});
      return;
    }
    place.reset();
    std::shared_ptr<PeerClaim> claim;
    if (answer == wire::PeerAnswer::kMake) {
      claim = std::make_shared<PeerClaim>(weak, owner, job, key);
    }
    on_answer({.pin = {}, .claim = std::move(claim)});
  };
  bool stopped = false, first = false;
  {
    const std::lock_guard lock(mutex_);
    stopped = stopped_;
    if (!stopped) {
      first = asked_.empty();
      asked_.push_back({owner, {job, key, kind, answered}});
    }
  }
  if (stopped) answered(wire::PeerAnswer::kNothing, {});
  if (!first) return;
  reactor_.Post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Flush();
  });
}

void PeerCache::Flush() {
  std::vector<Asked> asked;
  {
    const std::lock_guard lock(mutex_);
    asked.swap(asked_);
  }
  std::map<WorkerId, std::vector<PeerLink::Question>> by_owner;
  for (Asked& each : asked) by_owner[each.owner].push_back(std::move(each.question));
  asked.clear();
  for (auto& [owner, questions] : by_owner) {
    const auto link = links_.find(owner);
    if (link != links_.end()) {
      link->second->Ask(std::move(questions));
      continue;
    }
    for (const auto& question : questions) question.on_answer(wire::PeerAnswer::kNothing, {});
  }
}

bool PeerCache::Put(WorkerId owner, JobId job, const CacheKey& key, ByteSpan entry, Duration cost) {
  const std::size_t bytes = entry.size() + ScratchBuffer::kSlack;
  if (bytes > net::kMaxFrameBytes) return false;
  if (put_bytes_->fetch_add(bytes) + bytes > kMostPutBytes) {
    put_bytes_->fetch_sub(bytes);
    return false;
  }
  const std::shared_ptr<std::byte[]> copy(new std::byte[bytes],
                                          [counter = put_bytes_, bytes](const std::byte* gone) {
                                            delete[] gone;
                                            counter->fetch_sub(bytes);
                                          });
  std::memset(std::ranges::copy(entry, copy.get()).out, 0, ScratchBuffer::kSlack);
  Send(owner, job, key, true, cost, {{ByteSpan(copy.get(), bytes), copy}});
  return true;
}

void PeerCache::GiveBack(WorkerId owner, JobId job, const CacheKey& key) {
  Send(owner, job, key, false, {}, {});
}

void PeerCache::Send(WorkerId owner, JobId job, const CacheKey& key, bool made, Duration cost,
                     std::vector<net::PayloadFrame> payload) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;  // the reactor may be gone
  }
  reactor_.Post(
      [weak = weak_from_this(), owner, job, key, made, cost, payload = std::move(payload)] {
        const auto self = weak.lock();
        if (!self) return;
        const auto link = self->links_.find(owner);
        if (link != self->links_.end()) link->second->Put(job, key, made, cost, payload);
      });
}

void PeerCache::Stop() {
  std::vector<Asked> asked;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    any_ = false;
    rings_.clear();
    asked.swap(asked_);
  }
  for (const Asked& each : asked) each.question.on_answer(wire::PeerAnswer::kNothing, {});
  links_.clear();
  gate_->Close();
}

}  // namespace headrace::dataworker
