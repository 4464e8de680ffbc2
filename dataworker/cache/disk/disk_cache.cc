#include "dataworker/cache/disk/disk_cache.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/log.h"
#include "dataworker/cache/cache_registry.h"
#include "dataworker/cache/chunk_store.h"
#include "dataworker/exec/io_executor.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kSmallestLargestChunk = std::size_t{64} << 20;
constexpr std::uint64_t kMostSegments = 1024;  // each has a descriptor open
constexpr std::size_t kMostTallies = 256;

Segment& SegmentOf(const Chunk& chunk) { return static_cast<Segment&>(*chunk.body()); }

class DiskCache final : public CacheTier {
 public:
  DiskCache(const DiskCacheOptions& options, std::unique_ptr<SegmentFolder> folder)
      : options_(options),
        folder_(std::move(folder)),
        chunks_(options.budget, {.make_body = [this](std::size_t bytes) { return MakeBody(bytes); },
                                 .largest_chunk = static_cast<std::size_t>(std::max<std::uint64_t>(
                                     options.budget / kMostSegments, kSmallestLargestChunk)),
                                 .around_entry = kRecordHeaderBytes}),
        readers_(options.readers) {
    FindAgain();
    writer_ = std::thread([this] { WriteAll(); });
  }
  ~DiskCache() override {
    Stop();
    KeepFiles();
  }

  CacheLookup Find(JobId job, const CacheKey& key) override {
    std::shared_ptr<Chunk> there, stale;
    std::uint64_t offset = 0, bytes = 0;
    {
      const std::lock_guard lock(mutex_);
      const auto at = index_.find(EntryId::Of(key));
      const bool ready = at != index_.end() && at->second.chunk;
      if (ready && at->second.content == key.content) {
        if (CachePin pin = FromBuffer(at->second)) {
          CountHit(job, *at->second.chunk);
          return {.pin = std::move(pin)};
        }
        if (!Rests()) there = at->second.chunk;
        offset = at->second.offset;
        bytes = at->second.bytes;
      } else if (ready) {
        stale = std::move(at->second.chunk);
        index_.erase(at);
      }
      if (!there) ++TallyOf(job).misses;
    }
    if (stale) Drop(stale);
    return there ? ReadNow(job, key, there, offset, bytes) : CacheLookup();
  }

  void Fetch(JobId job, const CacheKey& key, OnFound on_found) override {
    CachePin pin;
    {
      const std::lock_guard lock(mutex_);
      const auto at = index_.find(EntryId::Of(key));
      const bool there =
          at != index_.end() && at->second.chunk && at->second.content == key.content;
      if (there) pin = FromBuffer(at->second);
      if (pin) {
        CountHit(job, *at->second.chunk);
      } else if (there && !stopped_) {
        const std::uint64_t number = next_read_++;
        reads_.emplace(number, Read{.job = job,
                                    .key = key,
                                    .on_found = std::move(on_found),
                                    .chunk = at->second.chunk,
                                    .offset = at->second.offset,
                                    .bytes = at->second.bytes,
                                    .begun = std::chrono::steady_clock::now()});
        readers_.Submit([this, number] { DoRead(number); });
        changed_.notify_all();  // the writer looks after reads that take too long
        return;
      } else {
        ++TallyOf(job).misses;
      }
    }
    on_found(std::move(pin));
  }

  Claim TryClaim(JobId job, const CacheKey& key, std::size_t expected_bytes) override {
    if (!chunks_.HasRoom(job, expected_bytes)) return Refused(key);
    const std::lock_guard lock(mutex_);
    const EntryId id = EntryId::Of(key);
    if (index_.contains(id)) return Claim(Refusal::kTaken);
    if (stopped_ || Rests() || buffered_ + expected_bytes > options_.most_buffered) {
      return Claim(Refusal::kNoRoom);
    }
    index_[id] = {.content = key.content};
    return {*this, job, key};
  }

  void Forget(const CacheKey& key) override {
    std::shared_ptr<Chunk> chunk;
    {
      const std::lock_guard lock(mutex_);
      const auto at = index_.find(EntryId::Of(key));
      if (at == index_.end() || !at->second.chunk || at->second.content != key.content) return;
      chunk = std::move(at->second.chunk);
      index_.erase(at);
    }
    Drop(chunk);
  }

  void AddJob(JobId job, std::uint64_t quota) override { chunks_.AddJob(job, quota); }
  void RemoveJob(JobId job) override { chunks_.RemoveJob(job); }
  void SetQuota(JobId job, std::optional<std::uint64_t> quota) override {
    chunks_.SetQuota(job, quota);
    while (const auto given_up = chunks_.GiveUp(job)) RemoveEvicted(*given_up);
  }
  void SetOnGivenUp(OnGivenUp on_given_up) override { on_given_up_ = std::move(on_given_up); }

  void Stop() override {
    std::map<std::uint64_t, Read> open;
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      open.swap(reads_);
      for (const auto& [number, read] : open) ++TallyOf(read.job).misses;
      changed_.notify_all();
    }
    for (auto& [number, read] : open) std::exchange(read.on_found, nullptr)({});
    open.clear();
    if (writer_.joinable()) writer_.join();
    readers_.Stop();
  }

  [[nodiscard]] CacheStats Stats() const override {
    CacheStats stats{.bytes = chunks_.used(), .budget = options_.budget};
    const std::lock_guard lock(mutex_);
    stats.entries = entries_;
    stats.hits = of_the_gone_.hits;
    stats.misses = of_the_gone_.misses;
    for (const auto& [job, tally] : tallies_) {
      stats.hits += tally.hits;
      stats.misses += tally.misses;
    }
    return stats;
  }
  [[nodiscard]] std::vector<JobCacheStats> JobStats() const override {
    std::vector<JobCacheStats> stats = chunks_.JobStats();
    const std::lock_guard lock(mutex_);
    for (JobCacheStats& of : stats) {
      const auto tally = tallies_.find(of.job);
      if (tally == tallies_.end()) continue;
      of.hits = tally->second.hits;
      of.misses = tally->second.misses;
    }
    return stats;
  }

 protected:
  bool Store(JobId job, const CacheKey& key, ByteSpan payload) override {
    const EntryId id = EntryId::Of(key);
    std::optional<ChunkStore::Place> place;
    while (true) {
      ChunkStore::Evicted evicted;
      place = chunks_.Allocate(job, id, payload.size(), &evicted);
      if (place || !evicted.chunk) break;
      RemoveEvicted(evicted);
    }
    if (!place) {
      Abandon(key);
      return false;
    }
    const auto buffer = std::make_shared<Bytes>(payload.size() + ScratchBuffer::kSlack);
    std::ranges::copy(payload, buffer->begin());
    const std::lock_guard lock(mutex_);
    Entry& entry = index_.at(id);  // claimed by the caller, so it is there
    entry.offset = place->offset;
    entry.bytes = payload.size();
    entry.buffer = buffer;
    writes_.push_back({.key = key,
                       .body = std::static_pointer_cast<Segment>(place->chunk->body()),
                       .offset = place->offset,
                       .buffer = buffer,
                       .bytes = payload.size()});
    buffered_ += payload.size();
    ++entries_;
    place->chunk->Filled();
    entry.chunk = std::move(place->chunk);
    changed_.notify_all();
    return true;
  }
  void Abandon(const CacheKey& key) override {
    const std::lock_guard lock(mutex_);
    index_.erase(EntryId::Of(key));
  }

 private:
  using Buffer = std::shared_ptr<const Bytes>;
  struct Entry {
    ContentIdentity content;
    std::shared_ptr<Chunk> chunk;  // empty: claimed, being made
    std::uint64_t offset = 0;      // of the record
    std::uint64_t bytes = 0;       // of the payload
    Buffer buffer;                 // until it is written
  };
  struct Write {
    CacheKey key;
    std::shared_ptr<Segment> body;  // not the chunk: one that is given up need not wait for it
    std::uint64_t offset = 0;
    Buffer buffer;
    std::uint64_t bytes = 0;
  };
  struct Read {
    JobId job;
    CacheKey key;
    OnFound on_found;
    std::shared_ptr<Chunk> chunk;
    std::uint64_t offset = 0, bytes = 0;
    SteadyTime begun;
  };
  struct Tally {
    std::uint64_t hits = 0, misses = 0;
  };
  // Keeps a chunk in use while somebody reads what is, or was, in it.
  struct Held {
    std::shared_ptr<const void> bytes;
    std::shared_ptr<Chunk> chunk;
  };

  std::shared_ptr<ChunkBody> MakeBody(std::size_t bytes) {
    Result<std::shared_ptr<Segment>> made = folder_->Make(bytes);
    if (made.ok()) return std::move(made).value();
    Fail(made.status());
    return nullptr;
  }
  // The disk gets some rest; every line of the log is another rest.
  void Fail(const Status& status) {
    const std::int64_t now = Now();
    std::int64_t until = rests_until_.load();
    if (now < until) return;
    if (rests_until_.compare_exchange_strong(until, now + options_.rest.count())) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.rest).count();
      LogWarning("the disk cache takes and gives nothing for " + std::to_string(seconds) +
                 " s: " + status.message());
    }
  }
  [[nodiscard]] static std::int64_t Now() {
    return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  [[nodiscard]] bool Rests() const { return Now() < rests_until_.load(); }

  // With mutex_ held.
  static CachePin FromBuffer(const Entry& entry) {
    if (!entry.buffer) return {};
    return {ByteSpan(*entry.buffer).first(entry.bytes),
            std::make_shared<const Held>(entry.buffer, entry.chunk)};
  }
  void CountHit(JobId job, Chunk& chunk) {
    chunk.SetUser(job);
    ++TallyOf(job).hits;
  }

  Tally& TallyOf(JobId job) {
    if (tallies_.size() > kMostTallies && !tallies_.contains(job)) {
      const Tally& oldest = tallies_.begin()->second;
      of_the_gone_.hits += oldest.hits;
      of_the_gone_.misses += oldest.misses;
      tallies_.erase(tallies_.begin());
    }
    return tallies_[job];
  }

  Claim Refused(const CacheKey& key) const {
    const std::lock_guard lock(mutex_);
    return Claim(index_.contains(EntryId::Of(key)) ? Refusal::kTaken : Refusal::kNoRoom);
  }

  // What the kernel has in memory is read here: that takes less than another thread's doing it.
  CacheLookup ReadNow(JobId job, const CacheKey& key, const std::shared_ptr<Chunk>& chunk,
                      std::uint64_t offset, std::uint64_t bytes) {
    auto got = SegmentOf(*chunk).Read(offset, key, bytes, *buffers_, /*wait=*/false);
    if (!got.ok() && got.status().code() != Code::kDataLoss) return {.pin = {}, .later = true};
    if (!got.ok()) ForgetAt(key, chunk, offset);
    const std::lock_guard lock(mutex_);
    if (!got.ok()) {
      ++TallyOf(job).misses;
      return {};
    }
    CountHit(job, *chunk);
    return {.pin = PinOf(std::move(*got), chunk)};
  }
  static CachePin PinOf(Segment::Payload payload, std::shared_ptr<Chunk> chunk) {
    const ByteSpan bytes = payload.bytes;
    return {bytes, std::make_shared<const Held>(std::move(payload.hold), std::move(chunk))};
  }

  void DoRead(std::uint64_t number) {
    Read read;
    {
      const std::lock_guard lock(mutex_);
      const auto at = reads_.find(number);
      if (at == reads_.end()) return;  // it was answered
      read.key = at->second.key;
      read.chunk = at->second.chunk;
      read.offset = at->second.offset;
      read.bytes = at->second.bytes;
    }
    auto got =
        SegmentOf(*read.chunk).Read(read.offset, read.key, read.bytes, *buffers_, /*wait=*/true);
    if (!got.ok()) {
      if (got.status().code() != Code::kDataLoss) Fail(got.status());
      ForgetAt(read.key, read.chunk, read.offset);
    }
    OnFound on_found;
    CachePin pin;
    {
      const std::lock_guard lock(mutex_);
      const auto at = reads_.find(number);
      if (at == reads_.end()) return;
      on_found = std::move(at->second.on_found);
      const JobId job = at->second.job;
      reads_.erase(at);
      if (got.ok()) {
        CountHit(job, *read.chunk);
        pin = PinOf(std::move(*got), read.chunk);
      } else {
        ++TallyOf(job).misses;
      }
    }
    read.chunk.reset();
    on_found(std::move(pin));
  }
  // The entry is not what was stored there: it goes, unless another has its place by now.
  void ForgetAt(const CacheKey& key, const std::shared_ptr<Chunk>& chunk, std::uint64_t offset) {
    {
      const std::lock_guard lock(mutex_);
      const auto at = index_.find(EntryId::Of(key));
      if (at == index_.end() || at->second.chunk != chunk || at->second.offset != offset) return;
      index_.erase(at);
    }
    Drop(chunk);
  }

  void WriteAll() {
    pthread_setname_np(pthread_self(), "hr-cache-disk");
    std::unique_lock lock(mutex_);
    while (!stopped_ || !writes_.empty()) {
      if (writes_.empty()) {
        if (reads_.empty()) {
          changed_.wait(lock);
        } else {
          changed_.wait_for(lock, options_.patience / 4);
        }
      }
      GiveUpLateReads(lock);
      if (writes_.empty()) continue;
      const Write write = std::move(writes_.front());
      writes_.pop_front();
      lock.unlock();
      const ByteSpan payload = ByteSpan(*write.buffer).first(write.bytes);
      const Record record{write.key, write.bytes, HashBytes(payload)};
      const Status status = write.body->Write(write.offset, record, payload);
      if (!status.ok()) Fail(status);
      lock.lock();
      buffered_ -= write.bytes;
      const auto at = index_.find(EntryId::Of(write.key));
      if (at == index_.end() || at->second.buffer != write.buffer) continue;
      at->second.buffer.reset();
      if (status.ok()) continue;
      const std::shared_ptr<Chunk> chunk = std::move(at->second.chunk);
      index_.erase(at);
      lock.unlock();
      Drop(chunk);
      lock.lock();
    }
  }
  void GiveUpLateReads(std::unique_lock<std::mutex>& lock) {
    const SteadyTime now = std::chrono::steady_clock::now();
    while (!reads_.empty() && now - reads_.begin()->second.begun > options_.patience) {
      Read late = std::move(reads_.extract(reads_.begin()).mapped());
      ++TallyOf(late.job).misses;
      lock.unlock();
      Fail(DeadlineExceeded("a read takes too long"));
      late.chunk.reset();
      std::exchange(late.on_found, nullptr)({});
      lock.lock();
    }
  }

  // REQUIRES: the entry that held `chunk` has left the index; no lock held.
  void Drop(const std::shared_ptr<Chunk>& chunk) {
    {
      const std::lock_guard lock(mutex_);
      --entries_;
    }
    chunks_.Release(chunk);
  }
  void RemoveEvicted(const ChunkStore::Evicted& evicted) {
    for (const EntryId& id : evicted.entries) {
      Entry entry;
      {
        const std::lock_guard lock(mutex_);
        const auto at = index_.find(id);
        if (at == index_.end() || at->second.chunk != evicted.chunk) continue;
        entry = std::move(at->second);
        index_.erase(at);
      }
      if (on_given_up_) Offer({entry.content, id.form}, entry);
      entry.chunk.reset();
      Drop(evicted.chunk);
    }
  }
  // Reads what is given up, on this thread: whoever has a tier after a disk wants that.
  void Offer(const CacheKey& key, const Entry& entry) {
    CachePin pin = FromBuffer(entry);
    if (!pin) {
      auto got =
          SegmentOf(*entry.chunk).Read(entry.offset, key, entry.bytes, *buffers_, /*wait=*/true);
      if (!got.ok()) return;
      pin = PinOf(std::move(*got), entry.chunk);
    }
    on_given_up_(entry.chunk->owner(), key, std::move(pin));
  }

  // The constructor's: nobody else is here yet.
  void FindAgain() {
    std::vector<SegmentFolder::Found> left = folder_->TakeFound();
    std::uint64_t room = options_.budget;
    std::size_t keep = left.size();  // the newest that fit the budget
    while (keep > 0) {
      const SegmentFolder::Found& found = left[keep - 1];
      const std::uint64_t takes =
          found.segment->size() + found.list.records.size() * ChunkStore::kEntryOverhead;
      if (takes > room) break;
      room -= takes;
      --keep;
    }
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(keep));
    for (SegmentFolder::Found& found : left) Adopt(std::move(found));
  }
  void Adopt(SegmentFolder::Found found) {
    std::vector<EntryId> ids;
    for (const PlacedRecord& placed : found.list.records) {
      ids.push_back(EntryId::Of(placed.record.key));
    }
    const std::shared_ptr<Chunk> chunk =
        chunks_.Adopt(found.segment, found.segment->size(), found.list.end, std::move(ids));
    for (const PlacedRecord& placed : found.list.records) {
      Entry& entry = index_[EntryId::Of(placed.record.key)];
      if (entry.chunk) {  // an older one of the same sample
        const std::shared_ptr<Chunk> older = std::move(entry.chunk);
        chunks_.Release(older);
      } else {
        ++entries_;
      }
      entry = {.content = placed.record.key.content,
               .chunk = chunk,
               .offset = placed.offset,
               .bytes = placed.record.bytes,
               .buffer = nullptr};
    }
  }
  // The destructor's: nobody else is here any more.
  void KeepFiles() {
    std::map<Segment*, SegmentList> lists;
    for (const auto& [id, entry] : index_) {
      if (!entry.chunk) continue;
      lists[&SegmentOf(*entry.chunk)].records.push_back(
          {{{entry.content, id.form}, entry.bytes, 0}, entry.offset});
    }
    for (auto& [segment, list] : lists) {
      std::ranges::sort(list.records, {}, &PlacedRecord::offset);
      list.end = std::min(list.records.back().end(), segment->size());
      segment->Keep(list);
    }
  }

  const DiskCacheOptions options_;
  const std::unique_ptr<SegmentFolder> folder_;
  const std::shared_ptr<ReadBuffers> buffers_ = std::make_shared<ReadBuffers>();
  ChunkStore chunks_;
  OnGivenUp on_given_up_;                      // set before the first entry
  std::atomic<std::int64_t> rests_until_ = 0;  // ns of the steady clock

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::unordered_map<EntryId, Entry, HashEntryId> index_;
  std::uint64_t entries_ = 0;  // that are not being made
  std::deque<Write> writes_;
  std::uint64_t buffered_ = 0;
  std::map<std::uint64_t, Read> reads_;  // open; the oldest first
  std::uint64_t next_read_ = 1;
  std::map<JobId, Tally> tallies_;  // the job with the lowest id has been here longest
  Tally of_the_gone_;
  bool stopped_ = false;

  IoExecutor readers_;
  std::thread writer_;
};

}  // namespace

std::unique_ptr<CacheTier> MakeDiskCache(const DiskCacheOptions& options,
                                         std::unique_ptr<SegmentFolder> folder) {
  return std::make_unique<DiskCache>(options, std::move(folder));
}

void RegisterCacheDisk(CacheRegistry& registry) {
  registry.Add(
      {.name = "disk",
       .summary = "files on a local disk",
       .settings = {{.name = "directory",
                     .kind = Setting::Kind::kText,
                     .value = "",
                     .help =
                         "where; found again by the next worker. Empty: in $TMPDIR or /var/tmp, "
                         "gone with the worker"},
                    {.name = "buffer",
                     .kind = Setting::Kind::kBytes,
                     .value = "64M",
                     .help = "most bytes in memory that wait to be written"},
                    {.name = "readers",
                     .kind = Setting::Kind::kCount,
                     .value = "8",
                     .help = "most reads at the same time"}},
       .make = [](std::uint64_t budget,
                  const Settings& settings) -> Result<std::unique_ptr<CacheTier>> {
         const std::int64_t readers = settings.Count("readers");
         if (readers < 1 || readers > 256) return InvalidArgument("readers: 1 to 256");
         HR_TRY(auto folder, SegmentFolder::Open(settings.Text("directory"), MakerOfPayloads()));
         return MakeDiskCache({.budget = budget,
                               .most_buffered = settings.Bytes("buffer"),
                               .readers = static_cast<int>(readers)},
                              std::move(folder));
       }});
}

}  // namespace headrace::dataworker
