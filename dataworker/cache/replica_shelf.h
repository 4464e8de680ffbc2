#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/ids.h"
#include "dataworker/cache/cache_entry.h"
#include "dataworker/cache/cache_tier.h"
#include "dataworker/cache/chunk_store.h"

namespace headrace::dataworker {

// Copies of entries that other workers own (replicas), so that their owners need not be asked again. They lie in
// blocks of their own, on room that a store lends and that no entry takes now. When an entry wants the room the
// oldest blocks go, before anything else does. So a replica never keeps an entry out, nor makes one go.
//
// What one owner gave lies in the same blocks. When that one has gone, they go after those of others
// (SetLast), until somebody has made entries of what is there (ReplicaMoves).
//
// No replica goes for another one: under shuffled epochs each is worth the same. Of each job it keeps those
// that came first. Thread-safe. Lock order: the store's, then this.
class ReplicaShelf {
 public:
  struct Memory {
    std::shared_ptr<const void> hold;
    std::byte* begin = nullptr;  // nullptr: the system has none
  };
  using Allocate = std::function<Memory(std::size_t bytes)>;
  // `store` outlives it; `budget`: of the store, bytes.
  ReplicaShelf(ChunkStore& store, std::uint64_t budget, Allocate allocate);
  ReplicaShelf(const ReplicaShelf&) = delete;
  ReplicaShelf& operator=(const ReplicaShelf&) = delete;
  ~ReplicaShelf();

  // The jobs that may have replicas from now on. Those of others go.
  void SetJobs(const std::set<JobId>& jobs);
  // These may, beside those before.
  void AddJobs(const std::set<JobId>& jobs);
  // Copies an entry that `owner` has given. False: it is not kept. `cost`: see CacheTier::Claim.
  bool Keep(JobId job, const CacheKey& key, ByteSpan entry, Duration cost, WorkerId owner);
  // The replica of exactly this content; one of older content of the same file goes.
  CachePin Find(JobId job, const CacheKey& key);
  // The same, without a count of hits.
  [[nodiscard]] CachePin Peek(const CacheKey& key) const;
  // It goes: its entry has a place of its own now.
  void Forget(const CacheKey& key);
  // Gives up what these jobs have.
  void Drop(const std::set<JobId>& jobs);
  // Gives up the oldest until no more than that is lent, or only what somebody reads.
  void KeepTo(std::uint64_t most);

  struct Replica {
    CacheKey key;
    JobId job;
    WorkerId owner;  // who has, or had, the entry
  };
  // Those that are to be listed: by job, key and owner.
  using Which = std::function<bool(const Replica&)>;
  [[nodiscard]] std::vector<Replica> List(const Which& which) const;
  // Has the blocks of these owners go after all others, in place of those before.
  void SetLast(std::set<WorkerId> owners);
  // Notes who has the entry now.
  void SetOwner(const CacheKey& key, WorkerId owner);

  [[nodiscard]] ReplicaStats Stats() const;
  [[nodiscard]] ReplicaStats StatsOf(JobId job) const;

 private:
  struct Block;
  struct Entry {
    ContentIdentity content;
    std::shared_ptr<Block> block;
    ByteSpan bytes;
    Duration cost{};
    WorkerId owner;
  };
  using Entries = std::unordered_map<EntryId, Entry, HashEntryId>;
  // Null: there is no room.
  [[nodiscard]] std::shared_ptr<Block> NewBlock(JobId job, WorkerId owner, std::size_t need) const;
  // Guarded by mutex_ from here on.
  void Remove(Entries::iterator entry);
  void Remove(const std::shared_ptr<Block>& block);
  // The block that goes first; null: there is none.
  [[nodiscard]] std::shared_ptr<Block> First() const;

  ChunkStore& store_;
  const Allocate allocate_;
  const std::size_t block_bytes_;

  mutable std::mutex mutex_;
  std::set<JobId> jobs_;
  std::deque<std::shared_ptr<Block>> blocks_;  // oldest first
  std::map<std::pair<JobId, WorkerId>, std::shared_ptr<Block>> newest_;
  std::set<WorkerId> last_;
  std::map<JobId, ReplicaStats> stats_;
  Entries entries_;
  std::uint64_t hits_ = 0;
};

}  // namespace headrace::dataworker
