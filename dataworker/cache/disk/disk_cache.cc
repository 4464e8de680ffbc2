#include "dataworker/cache/disk/disk_cache.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "dataworker/cache/chunk_store.h"
#include "dataworker/cache/disk/disk_health.h"
#include "dataworker/cache/disk/disk_index.h"
#include "dataworker/cache/disk/open_reads.h"
#include "dataworker/cache/disk/read_pace.h"
#include "dataworker/cache/disk/write_buffer.h"
#include "dataworker/cache/sealed_memory.h"
#include "dataworker/exec/io_executor.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kLeastLargestChunk = std::size_t{64} << 20;
constexpr std::uint64_t kMostRecordCostNs =
    100'000'000'000;                           // of one entry, whatever its record says
constexpr std::uint64_t kMostSegments = 1024;  // each has a descriptor open
// What a lane hands over at once, about.
constexpr std::size_t kLeastTakenOver = std::size_t{1} << 20;

// Reads what is given up, on this thread: whoever has a tier after a disk wants that. Empty: it is damaged.
CachePin ReadGivenUp(const EntryId& id, const DiskIndex::Entry& entry, BufferPool& buffers) {
  if (CachePin pin = entry.FromBuffer()) return pin;
  const EntryPlace& place = entry.place;
  const CacheKey key{entry.content, id.form};
  auto got = SegmentOf(*place.chunk).Read(place.offset, key, place.bytes, buffers, /*wait=*/true);
  return got.ok() ? PinOf(std::move(*got), place.chunk) : CachePin();
}

// Methods: CacheTier's, those of MarkedFiles, and the steps of a read.
class DiskCache final : public CacheTier, public MarkedFiles {
 public:
  DiskCache(const DiskCacheOptions& options, std::unique_ptr<SegmentFolder> folder,
            std::unique_ptr<eviction::EvictionOrder> order)
      : budget_(options.budget),
        folder_(std::move(folder)),
        health_(options.rest),
        chunks_(budget_,
                {.make_body =
                     [this](std::size_t bytes) { return writes_.Deletes(folder_->Make(bytes)); },
                 .largest_chunk = static_cast<std::size_t>(
                     std::max<std::uint64_t>(budget_ / kMostSegments, kLeastLargestChunk)),
                 .around_entry = kRecordHeaderBytes},
                std::move(order)),
        reads_(options.patience,
               [this](OpenReads::Read late) {
                 health_.Fail(DeadlineExceeded("a read takes too long"));
                 Miss(std::move(late));
               }),
        writes_(options.most_buffered,
                [this](const WriteBuffer::Write& write, const Status& status) {
                  if (status.ok()) {
                    index_.Written(write.key, write.buffer);
                    return;
                  }
                  health_.Fail(status);
                  Release(index_.TakeIf(
                              EntryId::Of(write.key),
                              [&](const auto& entry) { return entry.buffer == write.buffer; }),
                          write.key);
                }),
        readers_(options.readers) {
    for (const auto& found : folder_->TakeFound(budget_, ChunkStore::kEntryOverhead)) {
      Adopt(found);
    }
  }
  ~DiskCache() override {
    Stop();
    for (const auto& [segment, list] : index_.Lists()) segment->Keep(list);
  }

  CacheLookup Find(JobId job, const CacheKey& key) override {
    DiskIndex::Found found = index_.Find(key);
    chunks_.Release(found.stale, found.stale_name);
    if (found.pin) {
      index_.CountHit(job, *found.place.chunk);
      return {.pin = std::move(found.pin)};
    }
    if (found.place.chunk && !health_.rests()) return ReadNow(job, key, found.place);
    index_.CountMiss(job);
    return {};
  }

  void Fetch(JobId job, const CacheKey& key, OnFound on_found) override {
    DiskIndex::Found found = index_.Find(key);
    chunks_.Release(found.stale, found.stale_name);
    if (found.pin) {
      index_.CountHit(job, *found.place.chunk);
      on_found(std::move(found.pin));
      return;
    }
    OpenReads::Read read{
        .job = job, .key = key, .place = std::move(found.place), .on_found = std::move(on_found)};
    std::optional<std::uint64_t> number;
    if (read.place.chunk) number = reads_.Add(read);
    if (number) {
      readers_.Submit([this, number = *number] { ReadAndAnswer(number); });
    } else {
      Miss(std::move(read));
    }
  }

  Claim TryClaim(JobId job, const CacheKey& key, std::size_t expected_bytes) override {
    const bool room = chunks_.HasRoom(job, expected_bytes) && writes_.HasRoom(expected_bytes) &&
                      !health_.rests() && !stopped_;
    if (!index_.Claim(key)) return Claim(Refusal::kTaken);
    if (room) return {*this, job, key};
    index_.Abandon(key);
    return Claim(Refusal::kNoRoom);
  }

  void Forget(const CacheKey& key) override {
    Release(index_.TakeIf(EntryId::Of(key),
                          [&](const auto& entry) { return entry.content == key.content; }),
            key);
  }

  // They are written from the memory itself, without a copy, if they are at least half of it: all of it waits then.
  // Else, or where that is too much, they are copied: a few small ones would hold memory that nobody counts.
  TakenOver TakeOver(JobId job, const std::shared_ptr<SealedMemory>& memory,
                     std::span<const SealedEntry> entries) override {
    TakenOver taken;
    if (!TakesOver()) return taken;
    const ReadCost cost = Cost();
    std::vector<const SealedEntry*> paying;
    std::uint64_t bytes = 0;
    for (const SealedEntry& entry : entries) {
      if (entry.cost < cost.Of(entry.bytes) || index_.Has(entry.key)) continue;
      paying.push_back(&entry);
      bytes += entry.bytes;
    }
    const auto held = 2 * bytes < memory->room() ? nullptr : writes_.Hold(memory);
    for (const SealedEntry* const entry : paying) {
      if (!held && !writes_.HasRoom(entry->bytes)) break;
      const DiskIndex::Found found = index_.Find(entry->key);
      chunks_.Release(found.stale, found.stale_name);
      if (!index_.Claim(entry->key)) continue;
      const ByteSpan payload = memory->bytes().subspan(entry->offset, entry->bytes);
      if (!Keep(job, entry->key, payload, entry->cost, entry->mark, held)) break;
      ++taken.entries;
    }
    return taken;
  }
  [[nodiscard]] std::uint64_t RoomToTakeOver(JobId job) const override {
    if (!TakesOver() || !chunks_.HasRoom(job, kLeastTakenOver)) return 0;
    return writes_.room();
  }
  void CountLookups(JobId job, std::uint64_t hits, std::uint64_t misses) override {
    index_.CountLookups(job, hits, misses);
  }
  // Who reads by itself must not wait, and there nobody could tell.
  [[nodiscard]] MarkedFiles* files() override { return folder_->can_read_now() ? this : nullptr; }

  [[nodiscard]] std::uint64_t version() const override { return index_.marked_version(); }
  [[nodiscard]] std::vector<MarkedEntry> List(std::size_t most) const override {
    return index_.Marked(most);
  }
  [[nodiscard]] bool Has(const CacheKey& key) const override { return index_.Has(key); }
  [[nodiscard]] Result<File> Open(std::optional<JobId> user, std::uint64_t file) override {
    const std::shared_ptr<Chunk> chunk = index_.FileOf(file);
    if (!chunk) return NotFound("a file of the disk cache that was given up");
    HR_TRY(UniqueFd descriptor, SegmentOf(*chunk).Reopen());
    if (user) chunk->SetUser(*user);
    return File{std::move(descriptor), SegmentOf(*chunk).size()};
  }
  void NoteRead(std::uint64_t bytes, Duration waited) override {
    const std::lock_guard lock(pace_mutex_);
    pace_.Note(bytes, waited);
  }
  [[nodiscard]] ReadCost Cost() const override {
    const std::lock_guard lock(pace_mutex_);
    return pace_.Cost();
  }

  void AddJob(JobId job, std::uint64_t quota) override { chunks_.AddJob(job, quota); }
  void RemoveJob(JobId job) override { chunks_.RemoveJob(job); }
  void ShareQuota(JobId job, std::uint64_t data_set) override { chunks_.ShareQuota(job, data_set); }
  void FreezeQuota(JobId job) override { chunks_.FreezeQuota(job); }
  void SetQuota(JobId job, std::optional<std::uint64_t> quota) override {
    chunks_.SetQuota(job, quota);
    while (const auto given_up = chunks_.GiveUp(job)) RemoveEvicted(*given_up);
  }
  void SetKept(const std::set<JobId>& jobs) override { chunks_.SetKept(jobs); }
  void Doom(const std::set<JobId>& jobs) override { chunks_.Doom(jobs); }
  bool SweepDoomed() override {
    bool busy = false;
    while (const auto doomed = chunks_.TakeDoomed(&busy)) RemoveEvicted(*doomed, /*offers=*/false);
    return !busy;
  }
  // The index, and what waits to be written. That goes by itself, and no sooner if entries are given up: just now
  // it may be what the tier above had to give up.
  std::uint64_t KeepTo(std::uint64_t most) override {
    const auto takes = [this] { return index_.entries() * ChunkStore::kEntryOverhead; };
    while (takes() > most) {
      const auto given_up = chunks_.GiveUpAny(/*even_if_they_fit=*/true);
      if (!given_up) break;
      RemoveEvicted(*given_up);
    }
    return takes() + writes_.bytes();
  }
  void SetOnGivenUp(OnGivenUp on_given_up) override { on_given_up_ = std::move(on_given_up); }

  void Stop() override {
    stopped_ = true;
    for (OpenReads::Read& read : reads_.Stop()) Miss(std::move(read));
    writes_.Stop();
    readers_.Stop();
  }

  [[nodiscard]] CacheStats Stats() const override {
    CacheStats stats{.bytes = chunks_.used(), .budget = budget_};
    index_.AddTo(stats);
    return stats;
  }
  [[nodiscard]] std::vector<JobCacheStats> JobStats() const override {
    std::vector<JobCacheStats> stats = chunks_.JobStats();
    index_.AddTo(stats);
    return stats;
  }

 protected:
  bool Store(JobId job, const CacheKey& key, ByteSpan payload, Duration cost) override {
    return Keep(job, key, payload, cost, {}, nullptr);
  }
  void Abandon(const CacheKey& key) override { index_.Abandon(key); }

 private:
  [[nodiscard]] bool TakesOver() const {
    return folder_->can_read_now() && !health_.rests() && !stopped_;
  }
  // Room for an entry that is claimed. Empty: there is none, and the claim is given back.
  std::optional<ChunkStore::Place> PlaceFor(JobId job, const CacheKey& key, std::size_t bytes,
                                            Duration cost) {
    while (true) {
      ChunkStore::Evicted evicted;
      auto place = chunks_.Allocate(job, key, bytes, cost, &evicted);
      if (place) return place;
      if (!evicted.chunk) break;
      RemoveEvicted(evicted);
    }
    Abandon(key);
    return std::nullopt;
  }
  // Has an entry that is claimed written. `held`: of the memory that it lies in, which waits already; else it is
  // copied. False: there is no room.
  bool Keep(JobId job, const CacheKey& key, ByteSpan payload, Duration cost, const EntryMark& mark,
            const std::shared_ptr<const std::byte>& held) {
    std::optional<ChunkStore::Place> place = PlaceFor(job, key, payload.size(), cost);
    if (!place) return false;
    std::shared_ptr<const std::byte> buffer(held, payload.data());
    if (!held) {
      const std::shared_ptr<std::byte> copy = buffers_->Take(payload.size());
      if (!payload.empty()) std::memcpy(copy.get(), payload.data(), payload.size());
      buffer = copy;
    }
    auto segment = std::static_pointer_cast<Segment>(place->chunk->body());
    index_.Put(key, {std::move(place->chunk), place->offset, payload.size()}, buffer, mark);
    writes_.Push({.key = key,
                  .segment = std::move(segment),
                  .offset = place->offset,
                  .buffer = std::move(buffer),
                  .bytes = payload.size(),
                  .counted = held ? 0 : payload.size(),
                  .cost = cost,
                  .mark = mark});
    return true;
  }
  // What the kernel has in memory is read here: that takes less than having another thread do it.
  CacheLookup ReadNow(JobId job, const CacheKey& key, const EntryPlace& place) {
    auto got =
        SegmentOf(*place.chunk).Read(place.offset, key, place.bytes, *buffers_, /*wait=*/false);
    if (got.ok()) {
      index_.CountHit(job, *place.chunk);
      return {.pin = PinOf(std::move(*got), place.chunk)};
    }
    if (got.status().code() != Code::kDataLoss) return {.pin = {}, .later = true};
    ForgetAt(key, place);
    index_.CountMiss(job);
    return {};
  }
  void ReadAndAnswer(std::uint64_t number) {
    auto wanted = reads_.Look(number);
    if (!wanted) return;  // it was late
    auto& [key, place] = *wanted;
    const auto began = std::chrono::steady_clock::now();
    auto got =
        SegmentOf(*place.chunk).Read(place.offset, key, place.bytes, *buffers_, /*wait=*/true);
    if (got.ok()) {
      NoteRead(place.bytes, std::chrono::steady_clock::now() - began);
    } else {
      if (got.status().code() != Code::kDataLoss) health_.Fail(got.status());
      ForgetAt(key, place);
    }
    std::optional<OpenReads::Read> read = reads_.Take(number);
    if (!read) return;
    if (!got.ok()) {
      place.chunk.reset();
      Miss(std::move(*read));
      return;
    }
    index_.CountHit(read->job, *place.chunk);
    read->place.chunk.reset();
    read->on_found(PinOf(std::move(*got), std::move(place.chunk)));
  }
  void Miss(OpenReads::Read read) {
    index_.CountMiss(read.job);
    read.place.chunk.reset();
    read.on_found({});
  }
  void Release(const std::shared_ptr<Chunk>& chunk, const CacheKey& key) {
    chunks_.Release(chunk, SampledName(key.content, key.form));
  }
  // What is read from there is not what was stored.
  void ForgetAt(const CacheKey& key, const EntryPlace& place) {
    Release(index_.TakeIf(EntryId::Of(key),
                          [&](const auto& entry) {
                            return entry.place.chunk == place.chunk &&
                                   entry.place.offset == place.offset;
                          }),
            key);
  }
  // `offers`: to the next tier.
  void RemoveEvicted(const ChunkStore::Evicted& evicted, bool offers = true) {
    for (const EntryId& id : evicted.entries) {
      auto entry = index_.TakeEntryIf(
          id, [&](const auto& each) { return each.place.chunk == evicted.chunk; });
      if (!entry) continue;
      if (const CachePin pin =
              on_given_up_ && offers ? ReadGivenUp(id, *entry, *buffers_) : CachePin()) {
        on_given_up_(evicted.chunk->owner(), {entry->content, id.form}, pin, evicted.cost_of_entry);
      }
      const CacheKey key{entry->content, id.form};
      entry.reset();
      Release(evicted.chunk, key);
    }
  }
  // The constructor's: nobody else is here yet.
  void Adopt(const SegmentFolder::Found& found) {
    std::vector<EntryId> ids;
    EntryCosts costs;
    for (const auto& [record, offset] : found.list.records) {
      ids.push_back(EntryId::Of(record.key));
      costs.Add(Duration(std::min(record.cost_ns, kMostRecordCostNs)),
                kRecordHeaderBytes + record.bytes);
    }
    const std::shared_ptr<Chunk> chunk = chunks_.Adopt(
        writes_.Deletes(found.segment), found.segment->size(), found.list.end, ids, costs);
    for (const auto& [record, offset] : found.list.records) {
      Release(index_.Adopt(record.key, {chunk, offset, record.bytes}, record.mark), record.key);
    }
  }

  const std::uint64_t budget_;
  const std::unique_ptr<SegmentFolder> folder_;
  const std::shared_ptr<BufferPool> buffers_ = std::make_shared<BufferPool>();
  DiskHealth health_;
  ChunkStore chunks_;
  DiskIndex index_;
  OnGivenUp on_given_up_;  // set before the first entry
  std::atomic<bool> stopped_ = false;
  mutable std::mutex pace_mutex_;
  ReadPace pace_;  // guarded by pace_mutex_

  OpenReads reads_;
  WriteBuffer writes_;
  IoExecutor readers_;
};

}  // namespace

std::unique_ptr<CacheTier> MakeDiskCache(const DiskCacheOptions& options,
                                         std::unique_ptr<SegmentFolder> folder,
                                         std::unique_ptr<eviction::EvictionOrder> order) {
  return std::make_unique<DiskCache>(options, std::move(folder), std::move(order));
}

}  // namespace headrace::dataworker
