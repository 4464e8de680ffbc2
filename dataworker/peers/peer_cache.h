#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/buffer.h"
#include "base/ids.h"
#include "dataworker/cache/cache_entry.h"
#include "dataworker/cache/entry_owners.h"
#include "dataworker/cache/fetch_gate.h"
#include "dataworker/peers/peer_claim.h"
#include "dataworker/peers/peer_link.h"
#include "dataworker/peers/peer_ring.h"
#include "net/reactor.h"
#include "schemas/wire/control.h"

namespace headrace::dataworker {

// What other workers keep of the jobs' samples: the asking half. Each entry has one owner (PeerRing),
// by the coordinator's last directive. PeerDesk is the half that answers. Entries whose names hold on one
// host have their owner among the workers of this host. Those whose names hold everywhere have it among
// the job's workers on all hosts, where the coordinator says so.
//
// When the workers change, entries change their owners, and lie where they were: at the runner-up of
// PeerRing. Whoever is about to make an entry for its owner then asks the runner-up first (AskFormer),
// which gives it away. That ends for a job after kLastMisses such questions without an entry.
//
// Copies of what it fetched may stay here (ReplicaShelf), if the coordinator says so.
//
// In flight it has at most kMostAsked entries a job, from the question until their bytes are released,
// and kMostPutBytes of entries on their way to owners. Entries beyond that are not handed over.
// Shared: claims may outlive the worker.
class PeerCache final : public EntryOwners, public std::enable_shared_from_this<PeerCache> {
 public:
  static constexpr std::size_t kMostAsked = 64;
  static constexpr std::size_t kMostPutBytes = std::size_t{64} << 20;
  static constexpr int kLastMisses = 64;

  struct Answer {
    CachePin pin;                      // the entry
    std::shared_ptr<PeerClaim> claim;  // there is none: the caller may make it for the owner
    WorkerId owner = {};               // who was asked as such
  };
  using OnAnswer = std::function<void(Answer)>;

  // `reactor` outlives it.
  // `least_bytes`: smaller entries are not worth a question; see CacheLease. `own_bytes`: the size of this
  // worker's cache, as others know it (CachePeer::cache_bytes).
  static std::shared_ptr<PeerCache> Make(net::Reactor& reactor, std::uint64_t least_bytes = 0,
                                         std::uint64_t own_bytes = 0);
  [[nodiscard]] std::uint64_t least_bytes() const { return least_bytes_; }

  // Takes the rings that hold from now on. `self`: this worker's id. Reactor thread.
  void OnDirective(WorkerId self, const wire::WorkerDirective& directive);
  // Answers every open question, with nothing, before it returns; later ones at once. Idempotent.
  // Reactor thread.
  void Stop();

  // The most workers that own entries of one job, as this one knows; 0: none do. Any thread.
  [[nodiscard]] std::size_t owners() const;
  // Whether another worker owns entries of the job. Any thread.
  [[nodiscard]] bool HasOthers(JobId job) const;
  // Where the job's entry belongs.
  enum class Place : std::uint8_t {
    kHere,  // also: nobody else shares the job's entries
    kPeer,  // to another worker of this host
    kWide,  // to one that may be on another host; the coordinator says that it is worth asking
  };
  // Any thread.
  [[nodiscard]] Place PlaceOf(JobId job, const CacheKey& key) const;
  [[nodiscard]] std::uint64_t version() const override { return version_; }
  [[nodiscard]] bool IsElsewhere(JobId job, const EntryId& id, std::size_t bytes) const override;
  // Whether this worker keeps copies of what it fetches for the job from workers of all hosts. Any thread.
  [[nodiscard]] bool KeepsReplicas(JobId job) const;
  // Whether the worker may own the job's entry, by the ring of now. Any thread.
  [[nodiscard]] bool MayOwn(JobId job, const CacheKey& key, WorkerId worker) const;
  // Asks the owner. Calls `on_answer` exactly once, from any thread, in a bounded time (PeerLink).
  // Until the pin is released it holds one of the job's places: a caller that has one must not wait
  // for the next. Any thread.
  void Ask(JobId job, const CacheKey& key, OnAnswer on_answer);
  // The same of the worker that owned the entry before, where it may lie; kHere: with no other. Any thread.
  [[nodiscard]] Place FormerPlaceOf(JobId job, const CacheKey& key) const;
  // Takes it from there, for its owner. As Ask; there is never a claim.
  void AskFormer(JobId job, const CacheKey& key, OnAnswer on_answer);
  // Says that this worker has a copy of the entry, which the owner may lack. As Ask; a claim says that it
  // wants the copy, and there is never an entry.
  void Offer(JobId job, const CacheKey& key, OnAnswer on_answer);

 private:
  friend class PeerClaim;
  struct Asked {
    WorkerId owner;
    PeerLink::Question question;
  };
  PeerCache(net::Reactor& reactor, std::uint64_t least_bytes, std::uint64_t own_bytes)
      : reactor_(reactor),
        least_bytes_(least_bytes),
        own_bytes_(own_bytes),
        gate_(std::make_shared<FetchGate>(kMostAsked)) {}
  struct Ring {
    std::shared_ptr<const PeerRing> ring;
    // Questions without an entry in a row, to workers that owned the entries before. Shared: with answers.
    std::shared_ptr<std::atomic<int>> misses = std::make_shared<std::atomic<int>>(0);
    // Whether it is.
    bool KeepIfEqual(const Ring& held) {
      if (!ring || !held.ring) return !ring && !held.ring;
      if (!held.ring->Equals(*ring)) return false;
      *this = held;
      return true;
    }
  };
  // Who owns the entries of one job. `wide`: those with a name that holds on all hosts; without a ring they
  // are shared as the others are.
  struct Rings {
    Ring near, wide;
    bool replicas = false;  // the worker keeps copies of what it fetches by `wide`
  };
  // Of the job's entry; nothing: it has none. `wide`: whether it is that of all hosts; may be null.
  [[nodiscard]] Ring RingOf(JobId job, const CacheKey& key, WorkerId* self, bool* wide) const;
  // Not valid: this worker's own, or nobody's. `wide`: as RingOf.
  [[nodiscard]] WorkerId OwnerOf(JobId job, const CacheKey& key, bool* wide = nullptr) const;
  [[nodiscard]] WorkerId FormerOf(JobId job, const CacheKey& key, bool* wide = nullptr) const;
  using Kind = PeerLink::Question::Kind;
  void Push(WorkerId worker, JobId job, const CacheKey& key, Kind kind, FetchGate::Place place,
            const OnAnswer& on_answer);
  // Asks the owner when the job has a place.
  void Enter(JobId job, const CacheKey& key, Kind kind, OnAnswer on_answer);
  void Flush();
  // Hands an entry to its owner; copies it. False: it is not handed over. Any thread.
  bool Put(WorkerId owner, JobId job, const CacheKey& key, ByteSpan entry, Duration cost);
  void GiveBack(WorkerId owner, JobId job, const CacheKey& key);
  // `cost`: 0 if it was not made.
  void Send(WorkerId owner, JobId job, const CacheKey& key, bool made, Duration cost,
            std::vector<net::PayloadFrame> payload);

  net::Reactor& reactor_;
  const std::uint64_t least_bytes_;
  const std::uint64_t own_bytes_;
  const std::shared_ptr<FetchGate> gate_;
  std::map<WorkerId, std::unique_ptr<PeerLink>> links_;  // reactor thread
  std::atomic<bool> any_ = false;                        // there is a ring
  std::atomic<std::uint64_t> version_ = 1;               // of the rings
  const std::shared_ptr<std::atomic<std::size_t>> put_bytes_ =
      std::make_shared<std::atomic<std::size_t>>(0);

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  bool stopped_ = false;
  WorkerId self_;
  std::map<JobId, Rings> rings_;
  std::vector<Asked> asked_;  // and not with a link yet
};

}  // namespace headrace::dataworker
