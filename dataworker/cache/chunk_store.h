#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "dataworker/cache/cache_tier.h"
#include "dataworker/cache/chunk.h"
#include "dataworker/cache/room_finder.h"
#include "dataworker/cache/spare_room.h"
#include "eviction/core/order.h"

namespace headrace::dataworker {

class IdleChunks;  // idle_chunks.h

// Places entries in chunks within the budget. Thread-safe. Owned by a tier. Methods: its jobs', its chunks',
// and a tier's orders.
class ChunkStore {
 public:
  // `order`: of what ended jobs have left; null: the default one.
  ChunkStore(std::uint64_t budget_bytes, ChunkMedium medium,
             std::unique_ptr<eviction::EvictionOrder> order = nullptr);
  ~ChunkStore();

  // Where an entry may be written: `bytes` and what the medium has around them.
  struct Place {
    std::shared_ptr<Chunk> chunk;
    std::size_t offset = 0;  // 64-aligned
  };
  // A chunk that was given up: the caller takes these entries out of its index.
  struct Evicted {
    std::shared_ptr<Chunk> chunk;
    std::vector<EntryId> entries;
    Duration cost_of_entry{};  // to make, in the mean; 0: not known
  };

  // Allocates room for an entry of `bytes` that took `cost` to make (0: not known). Empty: there is none
  // now. If it gave up a chunk of a job that has gone (*evicted), the caller clears that chunk and tries
  // again. Which one goes first is the order's to say.
  std::optional<Place> Allocate(JobId job, const CacheKey& key, std::size_t bytes, Duration cost,
                                Evicted* evicted);
  // Takes a chunk that was there before this process, with the room up to `filled` in use. Its entries
  // are nobody's: they stay until somebody needs their room. The caller keeps the chunk for its index.
  // `costs`: what the entries took to make that know it, in sum.
  std::shared_ptr<Chunk> Adopt(std::shared_ptr<ChunkBody> body, std::size_t size,
                               std::size_t filled, const std::vector<EntryId>& entries,
                               const EntryCosts& costs);
  // The same for a chunk of the job's that is full and stays as it is. Null: there is no room; then as
  // Allocate, with *evicted. Entries are in use until the caller calls Chunk::Filled once.
  std::shared_ptr<Chunk> AdoptFor(JobId job, const std::shared_ptr<ChunkBody>& body,
                                  std::size_t size, std::span<const SealedEntry> entries,
                                  Evicted* evicted);
  // Bytes that AdoptFor may take, now or after eviction.
  [[nodiscard]] std::uint64_t RoomFor(JobId job) const;
  // Whether Allocate could succeed, now or after eviction.
  [[nodiscard]] bool HasRoom(JobId job, std::size_t bytes) const;
  // Returns a chunk that the job must give up to meet its quota, if there is one that nobody uses
  // now. The caller takes its entries out of the index and asks again. First go those that none of the
  // attached jobs used last, then those of its own data set. Of those the emptiest goes first.
  std::optional<Evicted> GiveUp(JobId job);
  // Returns a chunk that must go so that all of them fit the budget: of those that nobody uses now what
  // ended jobs have left, in the order's order, then the oldest. The caller does as with GiveUp.
  // `even_if_they_fit`: one goes in any case.
  std::optional<Evicted> GiveUpAny(bool even_if_they_fit = false);
  // Keeps what these jobs have, also after their end, as if they were there. In place of those before.
  void SetKept(std::set<JobId> jobs);
  // Says that all chunks of these jobs go, and those of others that have gone which they used last. The
  // caller takes them with TakeDoomed. Nothing new comes into them.
  void Doom(const std::set<JobId>& jobs);
  // Returns a chunk that is doomed. The caller does as with GiveUp. Empty: there is none that can go
  // now; *busy: there are some into which entries are being written.
  std::optional<Evicted> TakeDoomed(bool* busy);
  // A chunk that may have entries which other workers own, and its jobs.
  struct Unsorted {
    std::shared_ptr<Chunk> chunk;
    std::vector<JobId> jobs;
    std::vector<ChunkRoom::Entry> entries;
  };
  // Notes that an entry of the job has no room. After kRefusals of them, while nobody has fetched an entry
  // from here, returns a chunk of its account that was not returned since owners changed: what others own
  // there is of no use any more. The caller takes that out of its index.
  std::optional<Unsorted> NoteRefusal(JobId job, std::uint64_t owners_version);
  // Notes that an entry of the chunk went to another worker or tier.
  void NoteMoved(const Chunk& chunk);
  static constexpr int kRefusals = 64;
  // Changes the budget. It may be less than what is in use.
  void SetBudget(std::uint64_t bytes) { budget_->limit = bytes; }
  // Notes that an entry of the chunk has left the index. Null: none has. `name`: its SampledName. `offset`:
  // its place, where the medium overwrites; other entries get its room once nobody reads it.
  void Release(const std::shared_ptr<Chunk>& chunk, std::uint64_t name,
               std::optional<std::size_t> offset = {});

  void AddJob(JobId job, std::uint64_t quota);
  void RemoveJob(JobId job);
  // Jobs of one data set count in one account from now on: SetQuota of any of them is that of all. What
  // is kept of another data set stays in that one's. 0: the job stays where it is.
  void ShareQuota(JobId job, std::uint64_t data_set);
  // Without a value the job leaves the account of its data set, or what its jobs asked holds again.
  void SetQuota(JobId job, std::optional<std::uint64_t> quota);
  // Sets the quota to what the account has.
  void FreezeQuota(JobId job);
  // The statistics without hits and misses.
  [[nodiscard]] std::vector<JobCacheStats> JobStats() const;

  // Without what is lent.
  [[nodiscard]] std::uint64_t used() const { return budget_->used.load(); }

  // Lends room that no entry takes now; nothing: there is not so much. An entry that wants the room has the
  // borrower give it back (SpareRoom), and never gives up another entry in its place.
  [[nodiscard]] std::optional<RoomLoan> Lend(std::uint64_t bytes);
  // Who borrows: called with the store's lock, so it must not call the store. REQUIRES: called before Lend.
  void SetBorrower(SpareRoom::KeepTo keep_to) { finder_.spare().SetBorrower(std::move(keep_to)); }
  [[nodiscard]] std::uint64_t lent() const { return finder_.spare().lent(); }

  static constexpr std::size_t kEntryOverhead = RoomFinder::kEntryOverhead;

 private:
  struct Job {
    std::shared_ptr<QuotaAccount> account = std::make_shared<QuotaAccount>();
    std::uint64_t asked = 0;  // the largest of its sessions
    int sessions = 0;
    std::uint64_t entries = 0;
  };
  // Guarded by mutex_ from here on.
  // A chunk of the account with room for the entry.
  [[nodiscard]] RoomFinder::Found FindRoom(const QuotaAccount& account, std::size_t need) const;
  [[nodiscard]] bool FitsQuota(const Job& job, std::size_t need) const;
  // chunks_.size(): none. Those that may go for an entry of anybody: nobody's.
  [[nodiscard]] std::size_t FindEvictable() const;
  // The same, of those that may go for an entry of the account's own data set alone.
  [[nodiscard]] std::size_t FindUntouched(QuotaAccount& account) const;
  // The one that goes for an entry of the job.
  [[nodiscard]] std::size_t FindFor(const Job& job, std::size_t need) const;
  [[nodiscard]] bool Attached(JobId job) const;
  void Join(JobId id, Job& job, std::shared_ptr<QuotaAccount> account);
  // Has an attached job, if there is one, own what ended jobs of the data set have left.
  void Inherit(const std::shared_ptr<QuotaAccount>& account);
  [[nodiscard]] static std::uint64_t BytesOf(const Chunk& chunk);
  // Whether its last user is there, or it is kept. What is not held stays, too, while a job of its account
  // is there, unless its own data set needs the room.
  [[nodiscard]] bool Held(const Chunk& chunk) const;
  [[nodiscard]] bool Kept(const Chunk& chunk) const;
  // What its entries have of its bytes, about.
  [[nodiscard]] static std::size_t LiveBytes(const Chunk& chunk);
  // The same as a part of them.
  [[nodiscard]] static double Fullness(const Chunk& chunk) {
    return static_cast<double>(LiveBytes(chunk)) / static_cast<double>(chunk.room_.size());
  }
  Evicted Remove(std::size_t chunk);
  void SetLimit(QuotaAccount& account);
  void Sweep();

  const std::shared_ptr<MemoryBudget> budget_;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Chunk>> chunks_;  // oldest first
  RoomFinder finder_;
  const std::unique_ptr<IdleChunks> idle_;
  std::set<JobId> kept_;
  std::map<JobId, Job> jobs_;  // with attached sessions, entries or a quota that was set
  std::map<std::uint64_t, std::weak_ptr<QuotaAccount>> accounts_;  // by data set
};

}  // namespace headrace::dataworker
