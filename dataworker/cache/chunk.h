#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/ids.h"
#include "dataworker/cache/chunk_room.h"
#include "dataworker/cache/entry_sample.h"

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

class Chunk;

// What some jobs may keep together: those of one data set, or one job alone. Its limit is their quota.
// Guarded by ChunkStore's lock, but for the budget.
struct QuotaAccount : MemoryBudget {
  QuotaAccount() : MemoryBudget(0) {}
  std::uint64_t data_set = 0;            // 0: of one job
  std::optional<std::uint64_t> granted;  // replaces what its jobs asked
  int attached = 0;                      // jobs with sessions
  bool any_untouched = false;            // it may have chunks that no attached job has used
  // Entries that had no room here, since one of its own was last taken away or the owners changed.
  int refused = 0;
  std::uint64_t owners = 0;  // EntryOwners::version then
  bool sorted = false;       // all its chunks were looked at since: ChunkStore::NoteRefusal
  AccountNames names;
  // Its chunks with holes, by the largest one, bytes, and the chunk's number.
  std::map<std::pair<std::size_t, std::uint64_t>, Chunk*> roomy;
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
  // Gives back what lies after the first `bytes`, whole pages. REQUIRES: Medium::overwrites.
  virtual void Cut(std::size_t /*bytes*/) {}
};

// Room for many entries. They are packed into it back to back without an allocator, so what is in use
// is what the budget says. A chunk's room is free again when its last entry and pin go. Where the medium
// allows it, an entry that has left makes room for others before that (ChunkRoom).
class Chunk : public std::enable_shared_from_this<Chunk> {
 public:
  Chunk(std::shared_ptr<MemoryBudget> budget, std::shared_ptr<QuotaAccount> account, JobId owner,
        std::size_t size, std::uint64_t number, std::shared_ptr<ChunkBody> body);
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;
  ~Chunk();

  // What the tier's medium made.
  [[nodiscard]] const std::shared_ptr<ChunkBody>& body() const { return body_; }
  // No other chunk of its store has it, before and after.
  [[nodiscard]] std::uint64_t number() const { return number_; }
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
  friend class RoomFinder;
  // Whether somebody writes or reads here. Guarded by ChunkStore::mutex_.
  [[nodiscard]] bool InUse() const {
    // One reference is the store's, and one is in the index for each entry; more are pins.
    return filling_.load(std::memory_order_acquire) > 0 ||
           static_cast<std::size_t>(weak_from_this().use_count()) > 1 + live_;
  }
  const std::shared_ptr<MemoryBudget> budget_;
  std::shared_ptr<QuotaAccount>
      account_;  // guarded by ChunkStore::mutex_; the destructor needs no lock
  std::atomic<std::int64_t> owner_;
  const std::uint64_t number_;
  std::shared_ptr<ChunkBody> body_;
  std::atomic<std::int64_t> user_;
  // A bit for each job; those whose ids are equal modulo 64 share one.
  std::atomic<std::uint64_t> users_;
  std::atomic<Duration::rep> mean_cost_ = 0;
  std::atomic<int> filling_ = 0;  // entries that are allocated and not in the index yet
  // Guarded by ChunkStore::mutex_:
  ChunkRoom room_;
  std::size_t live_ = 0;
  std::size_t listed_as_ = 0;    // with this hole in QuotaAccount::roomy; 0: it is not there
  std::uint64_t sorted_at_ = 0;  // EntryOwners::version when it was looked at; 0: it was not
  bool holes_settled_ = true;    // nobody reads what was in the holes
  bool given_up_ = false;        // it has left the store
  EntryCosts costs_;
  ChunkNames names_;
  // IdleChunks':
  std::uint64_t id_ = 0;  // 0: it has never been there
  bool idle_ = false;     // it is there
  bool doomed_ = false;   // guarded by ChunkStore::mutex_
  int users_counted_ = 0;
};

}  // namespace headrace::dataworker
