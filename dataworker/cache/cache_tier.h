#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/ids.h"
#include "dataworker/cache/cache_entry.h"
#include "dataworker/cache/entry_owners.h"
#include "dataworker/cache/entry_sample.h"

// One place where samples stay between epochs and jobs (docs/howto/add-cache-tier.md).
namespace headrace::dataworker {

class Chunk;         // chunk.h
class MarkedFiles;   // marked_files.h
class ReplicaShelf;  // replica_shelf.h
class SealedMemory;  // sealed_memory.h

// Where an entry lies in memory that another process has filled. `cost`: see CacheTier::Claim.
struct SealedEntry {
  CacheKey key;
  std::size_t offset = 0, bytes = 0;
  Duration cost{};
  EntryMark mark{};
};

// What became of such memory.
struct TakenOver {
  // Whose body it is now. nullptr: entries were copied, or none was taken.
  std::shared_ptr<Chunk> chunk = nullptr;
  std::size_t entries = 0;  // that were taken
};

// What a tier, or a job there, has of replicas. Hits: so far.
struct ReplicaStats {
  std::uint64_t bytes = 0, entries = 0, hits = 0;
};

struct CacheStats {
  std::uint64_t bytes = 0;  // with overhead; with those of replicas never above the budget
  std::uint64_t budget = 0;
  std::uint64_t entries = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  ReplicaStats replicas = {};  // counted nowhere else
};

// Counts of one job. Its entries are those that it stored, even if other jobs find them.
struct JobCacheStats {
  JobId job;
  std::uint64_t bytes = 0;  // with overhead
  std::uint64_t entries = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  // What the entries take themselves: `bytes` without room that is kept for more. Of few entries that is
  // most of it.
  std::uint64_t entry_bytes = 0;
  // What the entries took to make: of each chunk, the mean of those that know it, for all that are there.
  Duration made_in{};
  EntrySample sample = {};     // of the entries; a tier may have none
  ReplicaStats replicas = {};  // counted nowhere else
};

class EntryClaim;  // dataworker/peers/entry_claim.h

// What is known of a key without waiting for anything.
struct CacheLookup {
  CachePin pin;            // the entry; empty: a miss, or `later`
  bool later = false;      // the tier must look: ask Fetch
  std::uint32_t tier = 0;  // that has it, or must look; its place in the store, which sets it
  // Of a miss: the caller may make the entry. Set by CacheLease.
  std::shared_ptr<EntryClaim> claim = nullptr;
  // Of an entry that another worker gave: who owns it. Set by CacheLease.
  WorkerId owner = {};
};

// A cache tier. Thread-safe. Admits until it is full and never evicts for a job whose data fills
// it: under shuffled epochs that hits c/d of the reads, which no eviction order reaches (SiloD).
// A live job loses only what SetQuota takes from it.
//
// A tier may lose entries: its medium can fail, be full or be taken away. It never answers with
// other bytes than those that were stored under the key. A tier whose medium may return wrong bytes
// checks them, and answers with a miss. Methods: of entries, of memory that is taken over, of jobs and quotas.
class CacheTier {
 public:
  // Takes the answer to Fetch: the entry, or an empty pin for a miss.
  using OnFound = std::function<void(CachePin)>;
  // Is offered an entry that the tier gives up to meet a quota or to make room. The tier has
  // forgotten it already; the bytes go with the pin. `cost`: what such entries took to make; 0: not
  // known. Called on the thread whose call made the tier give it up, without a lock of the tier.
  using OnGivenUp = std::function<void(JobId owner, const CacheKey&, CachePin, Duration cost)>;

  // The same for memory that was taken over: those of its entries that the tier still had.
  using OnSealedGivenUp = std::function<void(JobId owner, const std::shared_ptr<SealedMemory>&,
                                             std::span<const SealedEntry>)>;

  enum class Refusal : std::uint8_t {
    kNoRoom,  // also: this job may not, or the medium does not take it
    kTaken,   // the entry is there, or another thread makes it
  };

  // The right to make and store one entry. Only one thread has it at a time. Its destructor gives
  // it back unless Commit was called. Movable; must not outlive the tier.
  class Claim {
   public:
    explicit Claim(Refusal why) : why_(why) {}
    Claim(CacheTier& tier, JobId job, const CacheKey& key) : tier_(&tier), job_(job), key_(key) {}
    Claim(Claim&& other) noexcept
        : tier_(std::exchange(other.tier_, nullptr)),
          why_(other.why_),
          job_(other.job_),
          key_(other.key_) {}
    Claim& operator=(Claim&&) = delete;
    ~Claim() {
      if (tier_ != nullptr) tier_->Abandon(key_);
    }
    explicit operator bool() const { return tier_ != nullptr; }
    // REQUIRES: the claim is empty.
    [[nodiscard]] Refusal why() const { return why_; }
    // Copies the payload into the entry. False: there is no room for it after all. `cost`: what it
    // took to make; 0: not known.
    bool Commit(ByteSpan payload, Duration cost = {}) {
      return std::exchange(tier_, nullptr)->Store(job_, key_, payload, cost);
    }

   private:
    CacheTier* tier_ = nullptr;
    Refusal why_ = Refusal::kNoRoom;
    JobId job_;
    CacheKey key_;
  };

  virtual ~CacheTier() = default;

  // Finds the entry of exactly this content, and drops an entry of older content of the same file.
  // Compute threads call it, so it never waits for a device or a peer: it answers from memory, or
  // says `later`.
  virtual CacheLookup Find(JobId job, const CacheKey& key) = 0;
  // Begins to look where Find could not, and does not wait. Calls `on_found` once, here or later on
  // any thread, and then destroys it; both without a lock of the tier. The tier bounds the time of
  // an answer itself. REQUIRES: Find said `later`.
  virtual void Fetch(JobId /*job*/, const CacheKey& /*key*/, OnFound /*on_found*/) {
    HR_CHECK(false);  // a tier that answers at once
  }
  // Returns the right to make an entry of about `expected_bytes`. Never waits. If it is refused,
  // the caller makes the sample in the cheapest way, for itself alone.
  virtual Claim TryClaim(JobId job, const CacheKey& key, std::size_t expected_bytes) = 0;
  // Drops the entry of exactly this content, if it is there. Pins stay valid.
  virtual void Forget(const CacheKey& key) = 0;

  // Takes over memory with entries that another process has made: as one chunk of the job's, without a copy, or
  // entry by entry as far as there is room and it pays. What is there already is not taken again. Nobody writes
  // in such a chunk, so it goes as a whole (OnSealedGivenUp). Nothing: there is no room, all was there, or the
  // tier takes none. REQUIRES: the entries lie in it.
  virtual TakenOver TakeOver(JobId /*job*/, const std::shared_ptr<SealedMemory>& /*memory*/,
                             std::span<const SealedEntry> /*entries*/) {
    return {};
  }
  // Bytes of the job that TakeOver may take now. Others may take them before.
  [[nodiscard]] virtual std::uint64_t RoomToTakeOver(JobId /*job*/) const { return 0; }
  // Counts lookups that another process has answered by itself from what was taken over.
  virtual void CountLookups(JobId /*job*/, std::uint64_t /*hits*/, std::uint64_t /*misses*/) {}
  // Marked entries that other processes read by themselves, in files. nullptr: the tier has none.
  [[nodiscard]] virtual MarkedFiles* files() { return nullptr; }

  // Lets a job with attached sessions add entries up to `quota` bytes of the budget. The entries of
  // a job that has gone stay for others until somebody needs their room.
  virtual void AddJob(JobId job, std::uint64_t quota) = 0;
  virtual void RemoveJob(JobId job) = 0;
  // Replaces the quotas of AddJob, also before the first AddJob and after the last session. Without
  // a value those quotas hold again. A job that has more gives up entries until it fits, those that
  // nobody else uses first. It never gives up an entry that is in use (pinned) or being made; a
  // later SetQuota takes those.
  virtual void SetQuota(JobId job, std::optional<std::uint64_t> quota) = 0;
  // Says that jobs of one data set have one quota together: SetQuota of any of them is that of all, and
  // each finds what the others stored. So a job that comes later takes nothing from those that are there,
  // and what one has left counts in the quota of the next. 0: nothing is known. A tier may give each job
  // a quota of its own in place of this.
  virtual void ShareQuota(JobId /*job*/, std::uint64_t /*data_set*/) {}
  // Sets the quota to what the job, or the jobs of its data set, have.
  virtual void FreezeQuota(JobId job);

  // Keeps what these jobs have, also after their end, as if they were attached; in place of those that
  // were named before. Only KeepTo takes it, when there is nothing else.
  virtual void SetKept(const std::set<JobId>& jobs) = 0;
  // Has everything go that these jobs have now, and nothing is offered to others. Pins stay valid.
  // SweepDoomed does it; false: something is being written, and a later call takes it.
  virtual void Doom(const std::set<JobId>& jobs) = 0;
  virtual bool SweepDoomed() = 0;

  // Keeps to `most` bytes of the worker's memory, whatever the budget says, by giving up entries that
  // nobody uses now. A later call may allow more. Returns what it has after that: a tier on
  // another medium has its index and buffers.
  virtual std::uint64_t KeepTo(std::uint64_t /*most*/) { return 0; }

  // Says which entries other workers own. Those make room for new ones of their data set, when nobody
  // fetches them any more. A tier may keep them in place of this. REQUIRES: called before the first entry.
  virtual void SetOwners(std::shared_ptr<const EntryOwners> /*owners*/) {}
  // Keeps copies of what other workers own, in room that no entry of the tier wants. nullptr: the tier does not.
  [[nodiscard]] virtual ReplicaShelf* replicas() { return nullptr; }
  // REQUIRES: called before the first entry. Without it, entries that are given up are lost.
  virtual void SetOnGivenUp(OnGivenUp on_given_up) = 0;
  // The same; a tier whose TakeOver makes chunks has it.
  virtual void SetOnSealedGivenUp(OnSealedGivenUp /*on_given_up*/) {}
  // Answers every open Fetch, with a miss if need be, and destroys its `on_found`, both before it
  // returns. So no thread of the tier keeps anything of a caller's. Later ones are answered at once.
  // Idempotent; the destructor does the same.
  virtual void Stop() {}

  [[nodiscard]] virtual CacheStats Stats() const = 0;
  // The jobs that are attached or have entries, by id.
  [[nodiscard]] virtual std::vector<JobCacheStats> JobStats() const = 0;

 protected:
  virtual bool Store(JobId job, const CacheKey& key, ByteSpan payload, Duration cost) = 0;
  virtual void Abandon(const CacheKey& key) = 0;
};

inline void CacheTier::FreezeQuota(JobId job) {
  std::uint64_t bytes = 0;
  for (const JobCacheStats& stats : JobStats()) {
    if (stats.job == job) bytes = stats.bytes;
  }
  SetQuota(job, bytes);
}

}  // namespace headrace::dataworker
