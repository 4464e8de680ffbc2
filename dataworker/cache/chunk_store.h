#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "dataworker/cache/cache_tier.h"
#include "eviction/core/order.h"

namespace headrace::dataworker {

// Bytes in use: chunks and index entries. Thread-safe.
struct MemoryBudget {
  explicit MemoryBudget(std::uint64_t limit_bytes) : limit(limit_bytes) {}
  [[nodiscard]] std::uint64_t free() const {
    const std::uint64_t most = limit.load(), now = used.load();
    return most > now ? most - now : 0;
  }
  std::atomic<std::uint64_t> limit;
  std::atomic<std::uint64_t> used = 0;
};

// What some jobs may keep together: those of one data set, or one job alone. Its limit is their quota.
// Guarded by ChunkStore's lock, but for the budget.
struct QuotaAccount : MemoryBudget {
  QuotaAccount() : MemoryBudget(0) {}
  std::uint64_t data_set = 0;            // 0: of one job
  std::optional<std::uint64_t> granted;  // replaces what its jobs asked
  int attached = 0;                      // jobs with sessions
  bool any_untouched = false;            // it may have chunks that no attached job has used
};

// What entries took to make, of those that know it.
struct EntryCosts {
  Duration sum{};
  std::size_t entries = 0, bytes = 0;  // bytes: with what the medium has around them
  void Add(Duration cost, std::size_t of_bytes) {
    if (cost <= Duration()) return;
    sum += cost;
    ++entries;
    bytes += of_bytes;
  }
  [[nodiscard]] Duration mean() const {
    return entries == 0 ? Duration() : sum / static_cast<std::int64_t>(entries);
  }
};

// The memory or the file that a chunk's entries lie in. Its destructor gives it back.
class ChunkBody {
 public:
  virtual ~ChunkBody() = default;
};

// Room for many entries. They are packed into it back to back without an allocator, so what is in use
// is what the budget says. A chunk's room is free again when its last entry and pin go.
class Chunk {
 public:
  Chunk(std::shared_ptr<MemoryBudget> budget, std::shared_ptr<QuotaAccount> account, JobId owner,
        std::size_t size, std::shared_ptr<ChunkBody> body);
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;
  ~Chunk();

  // What the tier's MakeBody made.
  [[nodiscard]] const std::shared_ptr<ChunkBody>& body() const { return body_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  // The job in whose counts its entries are: who stored the first, or another of the data set after its end.
  [[nodiscard]] JobId owner() const { return JobId(owner_.load(std::memory_order_relaxed)); }
  // The last job that stored or found something here. Mostly it is the one before, and nothing is
  // written: threads that find things here don't take the line from each other.
  void SetUser(JobId job) {
    if (user_.load(std::memory_order_relaxed) == job.value) return;
    user_.store(job.value, std::memory_order_relaxed);
    const std::uint64_t bit = std::uint64_t{1} << (job.value & 63);
    if ((users_.load(std::memory_order_relaxed) & bit) == 0) {
      users_.fetch_or(bit, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] JobId user() const { return JobId(user_.load(std::memory_order_relaxed)); }
  // How many jobs stored or found something here, as far as 64 bits tell them apart.
  [[nodiscard]] int users() const { return std::popcount(users_.load(std::memory_order_relaxed)); }
  // What its entries took to make, in the mean; 0: not known.
  [[nodiscard]] Duration mean_cost() const {
    return Duration(mean_cost_.load(std::memory_order_relaxed));
  }
  // Notes that the entry of an Allocate is in the index, where it is found when the chunk is given
  // up.
  void Filled() { filling_.fetch_sub(1, std::memory_order_release); }

 private:
  friend class ChunkStore;
  friend class IdleChunks;
  const std::shared_ptr<MemoryBudget> budget_;
  std::shared_ptr<QuotaAccount>
      account_;  // guarded by ChunkStore::mutex_; the destructor needs no lock
  std::atomic<std::int64_t> owner_;
  const std::size_t size_;
  std::shared_ptr<ChunkBody> body_;
  std::atomic<std::int64_t> user_;
  // A bit for each job; those whose ids are equal modulo 64 share one.
  std::atomic<std::uint64_t> users_;
  std::atomic<Duration::rep> mean_cost_ = 0;
  std::atomic<int> filling_ = 0;  // entries that are allocated and not in the index yet
  // Guarded by ChunkStore::mutex_:
  std::size_t filled_ = 0;
  std::size_t live_ = 0;
  std::vector<EntryId> entries_;  // every entry ever placed here, for eviction
  EntryCosts costs_;
  // IdleChunks':
  std::uint64_t id_ = 0;  // 0: it has never been there
  bool idle_ = false;     // it is there
  bool doomed_ = false;   // guarded by ChunkStore::mutex_
  int users_counted_ = 0;
};

class IdleChunks;  // idle_chunks.h

// Places entries in chunks within the budget. Thread-safe. Owned by a tier. Methods: its jobs', its chunks',
// and a tier's orders.
class ChunkStore {
 public:
  // Makes the body of a chunk of `bytes`; null: the medium has no room. Called with the store's lock.
  using MakeBody = std::function<std::shared_ptr<ChunkBody>(std::size_t bytes)>;
  struct Medium {
    MakeBody make_body;
    std::size_t largest_chunk = 0;  // bytes
    std::size_t around_entry = 0;   // bytes that each entry takes beside its own
  };
  // `order`: of what ended jobs have left; null: the default one.
  ChunkStore(std::uint64_t budget_bytes, Medium medium,
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
  std::optional<Place> Allocate(JobId job, const EntryId& id, std::size_t bytes, Duration cost,
                                Evicted* evicted);
  // Takes a chunk that was there before this process, with the room up to `filled` in use. Its entries
  // are nobody's: they stay until somebody needs their room. The caller keeps the chunk for its index.
  // `costs`: what the entries took to make that know it, in sum.
  std::shared_ptr<Chunk> Adopt(std::shared_ptr<ChunkBody> body, std::size_t size,
                               std::size_t filled, std::vector<EntryId> entries,
                               const EntryCosts& costs);
  // Whether Allocate could succeed, now or after eviction.
  [[nodiscard]] bool HasRoom(JobId job, std::size_t bytes) const;
  // Returns a chunk that the job must give up to meet its quota, if there is one that nobody uses
  // now. The caller takes its entries out of the index and asks again. First go those that none of the
  // attached jobs used last, then those of its own data set.
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
  // Changes the budget. It may be less than what is in use.
  void SetBudget(std::uint64_t bytes) { budget_->limit = bytes; }
  // Notes that an entry of the chunk has left the index. Null: none has.
  void Release(const std::shared_ptr<Chunk>& chunk);

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

  [[nodiscard]] std::uint64_t used() const { return budget_->used.load(); }

  // The overhead of one entry: index node, hash bucket, malloc headers and its line in
  // Chunk::entries_.
  static constexpr std::size_t kEntryOverhead = 224;

 private:
  struct Job {
    std::shared_ptr<QuotaAccount> account = std::make_shared<QuotaAccount>();
    std::uint64_t asked = 0;  // the largest of its sessions
    int sessions = 0;
    std::uint64_t entries = 0;
  };
  // Guarded by mutex_ from here on.
  [[nodiscard]] Chunk* OpenChunk(const Job& job, std::size_t need) const;
  [[nodiscard]] std::size_t NewChunkBytes(const Job& job, std::size_t need) const;
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
  [[nodiscard]] std::size_t NeedOf(std::size_t bytes) const;
  [[nodiscard]] static bool InUse(const std::shared_ptr<Chunk>& chunk);
  Evicted Remove(std::size_t chunk);
  void SetLimit(QuotaAccount& account);
  void Sweep();

  const std::shared_ptr<MemoryBudget> budget_;
  const Medium medium_;
  const std::size_t chunk_bytes_;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Chunk>> chunks_;  // oldest first
  const std::unique_ptr<IdleChunks> idle_;
  std::set<JobId> kept_;
  std::map<JobId, Job> jobs_;  // with attached sessions, entries or a quota that was set
  std::map<std::uint64_t, std::weak_ptr<QuotaAccount>> accounts_;  // by data set
};

}  // namespace headrace::dataworker
