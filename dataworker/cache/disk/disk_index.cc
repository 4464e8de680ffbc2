#include "dataworker/cache/disk/disk_index.h"

#include <algorithm>
#include <utility>

namespace headrace::dataworker {

CachePin PinOf(Segment::Payload payload, std::shared_ptr<Chunk> chunk) {
  struct Held {
    std::shared_ptr<const void> bytes;
    std::shared_ptr<Chunk> chunk;
  };
  const ByteSpan bytes = payload.bytes;
  const Duration cost = chunk->mean_cost();
  return {bytes, std::make_shared<const Held>(std::move(payload.hold), std::move(chunk)), cost};
}

CachePin DiskIndex::Entry::FromBuffer() const {
  if (!buffer) return {};
  return PinOf({{buffer.get(), place.bytes}, buffer}, place.chunk);
}

DiskIndex::Found DiskIndex::Find(const CacheKey& key) {
  Found found;
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(EntryId::Of(key));
  if (at == entries_.end() || !at->second.place.chunk) return found;
  if (at->second.content == key.content) {
    found.place = at->second.place;
    found.pin = at->second.FromBuffer();
  } else {
    found.stale = std::move(at->second.place.chunk);
    found.stale_name = SampledName(at->second.content, key.form);
    Erase(at);
  }
  return found;
}

void DiskIndex::Erase(Entries::iterator at) {
  if (at->second.mark != EntryMark{}) ++marked_version_;
  entries_.erase(at);
  --made_;
}

void DiskIndex::NoteMarked(const Entry& entry) {
  if (entry.mark == EntryMark{}) return;
  ++marked_version_;
  const auto [file, is_new] = files_.try_emplace(entry.place.chunk->number(), entry.place.chunk);
  if (is_new) std::erase_if(files_, [](const auto& each) { return each.second.expired(); });
}

std::vector<MarkedEntry> DiskIndex::Marked(std::size_t most) const {
  std::vector<MarkedEntry> marked;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, entry] : entries_) {
    if (marked.size() == most) break;
    if (entry.mark == EntryMark{} || !entry.place.chunk || entry.buffer) continue;
    marked.push_back({.key = {entry.content, id.form},
                      .mark = entry.mark,
                      .file = entry.place.chunk->number(),
                      .offset = entry.place.offset,
                      .bytes = entry.place.bytes,
                      .cost = entry.place.chunk->mean_cost()});
  }
  return marked;
}

std::shared_ptr<Chunk> DiskIndex::FileOf(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(number);
  return found == files_.end() ? nullptr : found->second.lock();
}

bool DiskIndex::Has(const CacheKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(EntryId::Of(key));
  return found != entries_.end() && found->second.content == key.content;
}

void DiskIndex::CountLookups(JobId job, std::uint64_t hits, std::uint64_t misses) {
  const std::lock_guard lock(mutex_);
  tallies_.Add(job, hits, misses);
}

void DiskIndex::CountHit(JobId job, Chunk& chunk) {
  chunk.SetUser(job);
  const std::lock_guard lock(mutex_);
  tallies_.Hit(job);
}

void DiskIndex::CountMiss(JobId job) {
  const std::lock_guard lock(mutex_);
  tallies_.Miss(job);
}

bool DiskIndex::Claim(const CacheKey& key) {
  const std::lock_guard lock(mutex_);
  return entries_.try_emplace(EntryId::Of(key), Entry{key.content, {}, nullptr, {}}).second;
}

void DiskIndex::Abandon(const CacheKey& key) {
  const std::lock_guard lock(mutex_);
  entries_.erase(EntryId::Of(key));
}

void DiskIndex::Put(const CacheKey& key, EntryPlace place, std::shared_ptr<const std::byte> buffer,
                    const EntryMark& mark) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_.at(EntryId::Of(key));
  entry.place = std::move(place);
  entry.buffer = std::move(buffer);
  entry.mark = mark;
  entry.place.chunk->Filled();
  ++made_;
}

void DiskIndex::Written(const CacheKey& key, const std::shared_ptr<const std::byte>& buffer) {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(EntryId::Of(key));
  if (at == entries_.end() || at->second.buffer != buffer) return;
  at->second.buffer.reset();
  NoteMarked(at->second);
}

std::shared_ptr<Chunk> DiskIndex::Adopt(const CacheKey& key, EntryPlace place,
                                        const EntryMark& mark) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[EntryId::Of(key)];
  std::shared_ptr<Chunk> older = std::move(entry.place.chunk);
  entry = {key.content, std::move(place), nullptr, mark};
  NoteMarked(entry);
  if (!older) ++made_;
  return older;
}

std::map<Segment*, SegmentList> DiskIndex::Lists() const {
  std::map<Segment*, SegmentList> lists;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, entry] : entries_) {
    if (!entry.place.chunk) continue;
    const Record record{.key = {entry.content, id.form},
                        .bytes = entry.place.bytes,
                        .cost_ns = CostWordOf(entry.place.chunk->mean_cost()),
                        .mark = entry.mark};
    lists[&SegmentOf(*entry.place.chunk)].records.push_back({record, entry.place.offset});
  }
  for (auto& [segment, list] : lists) {
    std::ranges::sort(list.records, {}, &PlacedRecord::offset);
    list.end = std::min(list.records.back().end(), segment->size());
  }
  return lists;
}

void DiskIndex::AddTo(CacheStats& stats) const {
  const std::lock_guard lock(mutex_);
  stats.entries += made_;
  tallies_.AddTo(stats);
}

void DiskIndex::AddTo(std::vector<JobCacheStats>& stats) const {
  const std::lock_guard lock(mutex_);
  tallies_.AddTo(stats);
}

}  // namespace headrace::dataworker
