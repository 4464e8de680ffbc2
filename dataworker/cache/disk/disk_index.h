#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "dataworker/cache/cache_entry.h"
#include "dataworker/cache/cache_tier.h"
#include "dataworker/cache/chunk_store.h"
#include "dataworker/cache/disk/job_tallies.h"
#include "dataworker/cache/disk/open_reads.h"
#include "dataworker/cache/disk/segment.h"
#include "dataworker/cache/marked_files.h"

namespace headrace::dataworker {

[[nodiscard]] inline Segment& SegmentOf(const Chunk& chunk) {
  return static_cast<Segment&>(*chunk.body());
}
// A pin that keeps the chunk in use while somebody reads what is, or was, in it.
[[nodiscard]] CachePin PinOf(Segment::Payload payload, std::shared_ptr<Chunk> chunk);

// Which entries a disk cache has, and where. Thread-safe. It never releases a chunk: whoever takes an
// entry out of it does, without its lock.
class DiskIndex {
 public:
  struct Entry {
    ContentIdentity content;
    EntryPlace place;                         // without a chunk: claimed, being made
    std::shared_ptr<const std::byte> buffer;  // until it is written
    EntryMark mark{};
    // Empty: it is written.
    [[nodiscard]] CachePin FromBuffer() const;
  };
  struct Found {
    EntryPlace place;              // without a chunk: it is not there
    CachePin pin;                  // of the buffer
    std::shared_ptr<Chunk> stale;  // of older content, which has left the index
    std::uint64_t stale_name = 0;  // its SampledName
  };
  [[nodiscard]] Found Find(const CacheKey& key);
  void CountHit(JobId job, Chunk& chunk);
  void CountMiss(JobId job);
  void CountLookups(JobId job, std::uint64_t hits, std::uint64_t misses);

  // False: it is there, or being made.
  bool Claim(const CacheKey& key);
  void Abandon(const CacheKey& key);
  // REQUIRES: the key is claimed.
  void Put(const CacheKey& key, EntryPlace place, std::shared_ptr<const std::byte> buffer,
           const EntryMark& mark = {});
  // Notes that the entry is in its file: its buffer goes.
  void Written(const CacheKey& key, const std::shared_ptr<const std::byte>& buffer);
  // Adds an entry that was in the file before. Returns the chunk of an older one that it replaces.
  std::shared_ptr<Chunk> Adopt(const CacheKey& key, EntryPlace place, const EntryMark& mark = {});

  // Takes the entry of this sample out, if it is meant. Returns its chunk.
  template <typename Meant>
  std::shared_ptr<Chunk> TakeIf(const EntryId& id, Meant meant) {
    std::optional<Entry> taken = TakeEntryIf(id, meant);
    return taken ? std::move(taken->place.chunk) : nullptr;
  }
  template <typename Meant>
  std::optional<Entry> TakeEntryIf(const EntryId& id, Meant meant) {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(id);
    if (at == entries_.end() || !at->second.place.chunk || !meant(at->second)) return std::nullopt;
    std::optional<Entry> taken = std::move(at->second);
    Erase(at);
    return taken;
  }

  // As MarkedFiles: version, List, and the file of that number; nullptr: it was given up.
  [[nodiscard]] std::uint64_t marked_version() const { return marked_version_; }
  [[nodiscard]] std::vector<MarkedEntry> Marked(std::size_t most) const;
  [[nodiscard]] std::shared_ptr<Chunk> FileOf(std::uint64_t number) const;
  // Whether the entry is there, of exactly this content, or is being made.
  [[nodiscard]] bool Has(const CacheKey& key) const;

  // The records of each segment.
  [[nodiscard]] std::map<Segment*, SegmentList> Lists() const;
  // That are not being made.
  [[nodiscard]] std::uint64_t entries() const { return made_; }
  void AddTo(CacheStats& stats) const;
  void AddTo(std::vector<JobCacheStats>& stats) const;

 private:
  using Entries = std::unordered_map<EntryId, Entry, HashEntryId>;
  // With the lock.
  void Erase(Entries::iterator at);
  void NoteMarked(const Entry& entry);

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  Entries entries_;
  JobTallies tallies_;
  // By number: chunks that have, or had, marked entries.
  std::map<std::uint64_t, std::weak_ptr<Chunk>> files_;

  std::atomic<std::uint64_t> made_ = 0;
  std::atomic<std::uint64_t> marked_version_ = 0;
};

}  // namespace headrace::dataworker
