#include "dataworker/cache/memory/memory_cache.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/process/allowance.h"
#include "dataworker/cache/cache_registry.h"
#include "dataworker/cache/chunk_store.h"
#include "dataworker/cache/eviction_setting.h"
#include "dataworker/cache/memory/mapped_memory.h"
#include "dataworker/cache/replica_shelf.h"
#include "dataworker/cache/sealed_memory.h"

namespace headrace::dataworker {
namespace {

// The index is cut into shards, so that threads seldom meet; the memory is one ChunkStore. Methods:
// CacheTier's, and what lies between index and chunks.
class MemoryCache final : public CacheTier {
 public:
  MemoryCache(std::uint64_t budget_bytes, std::unique_ptr<eviction::EvictionOrder> order)
      : budget_(budget_bytes),
        store_(budget_bytes,
               {.make_body = &MappedMemory::Make,
                .largest_chunk = std::size_t{32} << 20,
                .around_entry = ScratchBuffer::kSlack,
                .overwrites = true},
               std::move(order)),
        replicas_(store_, budget_bytes, [](std::size_t bytes) -> ReplicaShelf::Memory {
          std::shared_ptr<MappedMemory> memory = MappedMemory::Make(bytes);
          std::byte* const begin = memory ? memory->begin() : nullptr;
          return {std::move(memory), begin};
        }) {}

  CacheLookup Find(JobId job, const CacheKey& key) override {
    const EntryId id = EntryId::Of(key);
    Shard& shard = ShardOf(id);
    Entry stale;
    {
      const std::lock_guard lock(shard.mutex);
      const auto entry = shard.entries.find(id);
      if (entry != shard.entries.end() && entry->second.chunk) {
        if (entry->second.content == key.content) {
          entry->second.chunk->SetUser(job);
          ++shard.TallyOf(job).hits;
          const std::shared_ptr<Chunk>& chunk = entry->second.chunk;
          return {.pin = {entry->second.bytes, chunk, chunk->mean_cost()}};
        }
        stale = std::move(entry->second);
        shard.entries.erase(entry);
      }
      ++shard.TallyOf(job).misses;
    }
    if (stale.chunk) Drop(id.form, stale);
    return {};
  }

  Claim TryClaim(JobId job, const CacheKey& key, std::size_t expected_bytes) override {
    if (!store_.HasRoom(job, expected_bytes) &&
        !(DropOthers(job) && store_.HasRoom(job, expected_bytes))) {
      return Claim(Refusal::kNoRoom);
    }
    const EntryId id = EntryId::Of(key);
    Shard& shard = ShardOf(id);
    const std::lock_guard lock(shard.mutex);
    const bool inserted = shard.entries.try_emplace(id, Entry{key.content, nullptr, {}}).second;
    return inserted ? Claim(*this, job, key) : Claim(Refusal::kTaken);
  }

  void Forget(const CacheKey& key) override {
    const EntryId id = EntryId::Of(key);
    Shard& shard = ShardOf(id);
    Entry gone;
    {
      const std::lock_guard lock(shard.mutex);
      const auto entry = shard.entries.find(id);
      if (entry == shard.entries.end() || !entry->second.chunk) return;
      if (entry->second.content != key.content) return;
      gone = std::move(entry->second);
      shard.entries.erase(entry);
    }
    store_.NoteMoved(*gone.chunk);
    Drop(id.form, gone);
  }

  TakenOver TakeOver(JobId job, const std::shared_ptr<SealedMemory>& memory,
                     std::span<const SealedEntry> entries) override {
    std::vector<SealedEntry> fresh;
    for (const SealedEntry& entry : entries) {
      if (!Has(entry.key)) fresh.push_back(entry);
    }
    if (fresh.empty()) return {};
    memory->SetEntries(fresh);
    std::shared_ptr<Chunk> chunk;
    while (true) {
      ChunkStore::Evicted evicted;
      chunk = store_.AdoptFor(job, memory, memory->room(), fresh, &evicted);
      if (chunk || !evicted.chunk) break;
      RemoveEvicted(evicted);
    }
    if (!chunk) return {};
    entries_.fetch_add(fresh.size());
    for (const SealedEntry& entry : fresh) Insert(entry, chunk, *memory);
    chunk->Filled();
    return {.chunk = std::move(chunk), .entries = fresh.size()};
  }

  [[nodiscard]] std::uint64_t RoomToTakeOver(JobId job) const override {
    return store_.RoomFor(job);
  }

  void CountLookups(JobId job, std::uint64_t hits, std::uint64_t misses) override {
    Shard& shard = shards_.front();
    const std::lock_guard lock(shard.mutex);
    Tally& tally = shard.TallyOf(job);
    tally.hits += hits;
    tally.misses += misses;
  }

  void AddJob(JobId job, std::uint64_t quota) override { store_.AddJob(job, quota); }
  void RemoveJob(JobId job) override { store_.RemoveJob(job); }
  void ShareQuota(JobId job, std::uint64_t data_set) override { store_.ShareQuota(job, data_set); }
  void FreezeQuota(JobId job) override { store_.FreezeQuota(job); }
  void SetQuota(JobId job, std::optional<std::uint64_t> quota) override {
    store_.SetQuota(job, quota);
    while (const auto given_up = store_.GiveUp(job)) RemoveEvicted(*given_up);
  }

  void SetKept(const std::set<JobId>& jobs) override { store_.SetKept(jobs); }
  void Doom(const std::set<JobId>& jobs) override {
    store_.Doom(jobs);
    replicas_.Drop(jobs);
  }
  bool SweepDoomed() override {
    bool busy = false;
    while (const auto doomed = store_.TakeDoomed(&busy)) RemoveEvicted(*doomed, /*offers=*/false);
    return !busy;
  }

  std::uint64_t KeepTo(std::uint64_t most) override {
    store_.SetBudget(std::min(most, budget_));
    const auto has = [this] { return store_.used() + store_.lent(); };
    if (has() <= most) return has();  // as for each small batch: without the lock
    replicas_.KeepTo(most - std::min(most, store_.used()));
    if (store_.used() <= most) return has();
    while (const auto given_up = store_.GiveUpAny()) RemoveEvicted(*given_up);
    return has();
  }
  [[nodiscard]] ReplicaShelf* replicas() override { return &replicas_; }

  void SetOwners(std::shared_ptr<const EntryOwners> owners) override {
    owners_ = std::move(owners);
  }
  void SetOnGivenUp(OnGivenUp on_given_up) override { on_given_up_ = std::move(on_given_up); }
  void SetOnSealedGivenUp(OnSealedGivenUp on_given_up) override {
    on_sealed_given_up_ = std::move(on_given_up);
  }

  [[nodiscard]] CacheStats Stats() const override {
    CacheStats stats{.bytes = store_.used(),
                     .budget = budget_,
                     .entries = entries_.load(),
                     .replicas = replicas_.Stats()};
    for (const Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      stats.hits += shard.hits_of_the_gone;
      stats.misses += shard.misses_of_the_gone;
      for (const Tally& tally : shard.tallies) {
        stats.hits += tally.hits;
        stats.misses += tally.misses;
      }
    }
    return stats;
  }

  [[nodiscard]] std::vector<JobCacheStats> JobStats() const override {
    std::vector<JobCacheStats> stats = store_.JobStats();
    for (JobCacheStats& job : stats) job.replicas = replicas_.StatsOf(job.job);
    for (const Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      for (const Tally& tally : shard.tallies) {
        const auto of = std::find_if(stats.begin(), stats.end(),
                                     [&](const auto& job) { return job.job == tally.job; });
        if (of == stats.end()) continue;
        of->hits += tally.hits;
        of->misses += tally.misses;
      }
    }
    return stats;
  }

 protected:
  bool Store(JobId job, const CacheKey& key, ByteSpan payload, Duration cost) override {
    const EntryId id = EntryId::Of(key);
    std::optional<ChunkStore::Place> place;
    while (true) {
      ChunkStore::Evicted evicted;
      place = store_.Allocate(job, key, payload.size(), cost, &evicted);
      if (place || !evicted.chunk) break;
      RemoveEvicted(evicted);
    }
    if (!place) {
      Abandon(key);
      return false;
    }
    const MutableByteSpan memory(BeginOf(*place->chunk) + place->offset, payload.size());
    if (!payload.empty()) std::memcpy(memory.data(), payload.data(), payload.size());
    entries_.fetch_add(1);
    Shard& shard = ShardOf(id);
    const std::lock_guard lock(shard.mutex);
    Entry& entry = shard.entries.at(id);  // claimed by the caller, so it is there
    entry.bytes = memory;
    entry.chunk = std::move(place->chunk);
    entry.chunk->Filled();
    return true;
  }

  void Abandon(const CacheKey& key) override {
    const EntryId id = EntryId::Of(key);
    Shard& shard = ShardOf(id);
    const std::lock_guard lock(shard.mutex);
    shard.entries.erase(id);
  }

 private:
  struct Entry {
    ContentIdentity content;
    std::shared_ptr<Chunk> chunk;  // empty: claimed, being made
    ByteSpan bytes;
  };
  struct Tally {
    JobId job;
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
  };
  static constexpr std::size_t kMostTallies = 64;
  struct Shard {
    mutable std::mutex mutex;
    // Guarded by mutex. The job that asked last is the first. If there are too many, the one that
    // asked longest ago loses its own count.
    std::vector<Tally> tallies;
    std::uint64_t hits_of_the_gone = 0, misses_of_the_gone = 0;
    Tally& TallyOf(JobId job) {
      if (!tallies.empty() && tallies.front().job == job) return tallies.front();
      const auto found = std::find_if(tallies.begin(), tallies.end(),
                                      [job](const Tally& tally) { return tally.job == job; });
      if (found != tallies.end()) {
        std::rotate(tallies.begin(), found, found + 1);
      } else {
        if (tallies.size() == kMostTallies) {
          hits_of_the_gone += tallies.back().hits;
          misses_of_the_gone += tallies.back().misses;
          tallies.pop_back();
        }
        tallies.insert(tallies.begin(), Tally{.job = job});
      }
      return tallies.front();
    }
    std::unordered_map<EntryId, Entry, HashEntryId> entries;  // guarded by mutex
  };

  [[nodiscard]] Shard& ShardOf(const EntryId& id) {
    return shards_[(HashEntryId()(id) >> 48) % shards_.size()];
  }

  // Whether the entry is there, or is being made. Counts nothing.
  [[nodiscard]] bool Has(const CacheKey& key) {
    const EntryId id = EntryId::Of(key);
    Shard& shard = ShardOf(id);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.entries.find(id);
    return found != shard.entries.end() &&
           (!found->second.chunk || found->second.content == key.content);
  }

  // Puts an entry of adopted memory into the index, in the place of older content.
  void Insert(const SealedEntry& entry, const std::shared_ptr<Chunk>& chunk,
              const SealedMemory& memory) {
    const EntryId id = EntryId::Of(entry.key);
    Entry gone{entry.key.content, chunk, memory.bytes().subspan(entry.offset, entry.bytes)};
    {
      Shard& shard = ShardOf(id);
      const std::lock_guard lock(shard.mutex);
      const auto [at, is_new] = shard.entries.try_emplace(id, gone);
      if (is_new) return;
      Entry& here = at->second;
      if (here.chunk && here.content != entry.key.content) std::swap(here, gone);
    }
    Drop(id.form, gone);  // older content, or this entry beside the one that is there
  }

  [[nodiscard]] static bool IsSealed(const Chunk& chunk) {
    return dynamic_cast<const SealedMemory*>(chunk.body().get()) != nullptr;
  }

  [[nodiscard]] static std::byte* BeginOf(const Chunk& chunk) {
    return static_cast<const MappedMemory&>(*chunk.body()).begin();
  }

  // REQUIRES: the entry has left its shard; no lock held.
  void Drop(const EntryForm& form, const Entry& gone) {
    entries_.fetch_sub(1);
    std::optional<std::size_t> offset;  // nobody writes over what lies in sealed memory
    if (!IsSealed(*gone.chunk)) {
      offset = static_cast<std::size_t>(gone.bytes.data() - BeginOf(*gone.chunk));
    }
    store_.Release(gone.chunk, SampledName(gone.content, form), offset);
  }

  // Drops what other workers own from one chunk, if it is time for that. False: nothing went.
  bool DropOthers(JobId job) {
    if (!owners_) return false;
    const auto unsorted = store_.NoteRefusal(job, owners_->version());
    if (!unsorted || IsSealed(*unsorted->chunk)) return false;
    bool any = false;
    for (const auto& [id, bytes] : unsorted->entries) {
      const bool elsewhere = std::ranges::all_of(
          unsorted->jobs, [&](JobId each) { return owners_->IsElsewhere(each, id, bytes); });
      if (!elsewhere) continue;
      if (const Entry gone = TakeFrom(unsorted->chunk, id); gone.chunk) {
        Drop(id.form, gone);
        any = true;
      }
    }
    return any;
  }

  // Takes the entry out of its shard, if it lies in that chunk. Without a chunk: it does not.
  Entry TakeFrom(const std::shared_ptr<Chunk>& chunk, const EntryId& id) {
    Shard& shard = ShardOf(id);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.entries.find(id);
    if (found == shard.entries.end() || found->second.chunk != chunk) return {};
    Entry entry = std::move(found->second);
    shard.entries.erase(found);
    return entry;
  }

  // `offers`: to the next tier.
  void RemoveEvicted(const ChunkStore::Evicted& evicted, bool offers = true) {
    const auto sealed = std::dynamic_pointer_cast<SealedMemory>(evicted.chunk->body());
    std::unordered_set<EntryId, HashEntryId> taken;  // of sealed memory
    for (const EntryId& id : evicted.entries) {
      const Entry entry = TakeFrom(evicted.chunk, id);
      if (!entry.chunk) continue;
      if (sealed) {
        taken.insert(id);
      } else if (on_given_up_ && offers) {
        on_given_up_(evicted.chunk->owner(), {entry.content, id.form}, {entry.bytes, evicted.chunk},
                     evicted.cost_of_entry);
      }
      Drop(id.form, entry);
    }
    if (!sealed || !offers || !on_sealed_given_up_) return;
    std::vector<SealedEntry> left = sealed->entries();
    std::erase_if(left, [&](const auto& each) { return !taken.contains(EntryId::Of(each.key)); });
    on_sealed_given_up_(evicted.chunk->owner(), sealed, left);
  }

  const std::uint64_t budget_;
  ChunkStore store_;
  ReplicaShelf replicas_;
  std::array<Shard, 16> shards_;
  std::atomic<std::uint64_t> entries_ = 0;
  OnGivenUp on_given_up_;                      // set before the first entry
  OnSealedGivenUp on_sealed_given_up_;         // set before the first entry
  std::shared_ptr<const EntryOwners> owners_;  // set before the first entry
};

}  // namespace

std::unique_ptr<CacheTier> MakeMemoryCache(std::uint64_t budget_bytes,
                                           std::unique_ptr<eviction::EvictionOrder> order) {
  return std::make_unique<MemoryCache>(budget_bytes, std::move(order));
}

void RegisterCacheMemory(CacheRegistry& registry) {
  registry.Add({.name = "memory",
                .summary = "memory of the worker's process",
                .settings = {EvictionSetting()},
                .make = [](std::uint64_t budget,
                           const Settings& settings) -> Result<std::unique_ptr<CacheTier>> {
                  HR_RETURN_IF_ERROR(CheckMemoryFits(budget));
                  HR_TRY(auto order, OrderOf(settings, budget));
                  return MakeMemoryCache(budget, std::move(order));
                }});
}

}  // namespace headrace::dataworker
