#include "dataworker/cache/replica_shelf.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

namespace headrace::dataworker {
namespace {

constexpr std::size_t kPage = RoomFinder::kPage;
constexpr std::size_t kOverhead = ChunkStore::kEntryOverhead;

// Smaller than chunks of entries: what goes for one of these shall not be much more than it needs.
std::size_t BlockBytes(std::uint64_t budget) {
  constexpr std::uint64_t kLeast = 16 * kPage, kMost = std::uint64_t{8} << 20;
  return RoundUp(std::clamp<std::uint64_t>(budget / 256, kLeast, kMost), kPage);
}

}  // namespace

// Its memory and its loan last until the last pin goes.
struct ReplicaShelf::Block {
  RoomLoan loan;
  const JobId job;
  const WorkerId owner;  // who gave what is here
  const std::size_t bytes, lent;
  const Memory memory;
  // Guarded by ReplicaShelf::mutex_:
  std::size_t filled = 0;
  std::size_t slots = 0;  // entries for which the loan has an overhead
  bool gone = false;      // it has left the shelf
  std::size_t filling = 0;
  std::vector<EntryId> ids = {};
  std::size_t live = 0;
  [[nodiscard]] bool HasRoom(std::size_t need) const { return slots > 0 && bytes - filled >= need; }
};

ReplicaShelf::ReplicaShelf(ChunkStore& store, std::uint64_t budget, Allocate allocate)
    : store_(store), allocate_(std::move(allocate)), block_bytes_(BlockBytes(budget)) {
  store_.SetBorrower([this](std::uint64_t most) { KeepTo(most); });
}

ReplicaShelf::~ReplicaShelf() { store_.SetBorrower(nullptr); }

void ReplicaShelf::SetJobs(const std::set<JobId>& jobs) {
  std::set<JobId> ended;
  {
    const std::lock_guard lock(mutex_);
    std::ranges::set_difference(jobs_, jobs, std::inserter(ended, ended.end()));
    jobs_ = jobs;
  }
  if (!ended.empty()) Drop(ended);
  const std::lock_guard lock(mutex_);
  std::erase_if(stats_, [this](const auto& each) {
    return !jobs_.contains(each.first) && each.second.bytes == 0;
  });
}

void ReplicaShelf::AddJobs(const std::set<JobId>& jobs) {
  const std::lock_guard lock(mutex_);
  jobs_.insert(jobs.begin(), jobs.end());
}

void ReplicaShelf::Drop(const std::set<JobId>& jobs) {
  const std::lock_guard lock(mutex_);
  const std::deque<std::shared_ptr<Block>> all = blocks_;
  for (const auto& block : all) {
    if (jobs.contains(block->job)) Remove(block);
  }
}

std::shared_ptr<ReplicaShelf::Block> ReplicaShelf::NewBlock(JobId job, WorkerId owner,
                                                            std::size_t need) const {
  for (const std::size_t bytes :
       {std::max(block_bytes_, RoundUp(need, kPage)), RoundUp(need, kPage)}) {
    const std::size_t slots = bytes / need;
    const std::size_t lent = bytes + slots * kOverhead;
    std::optional<RoomLoan> loan = store_.Lend(lent);
    if (!loan) continue;
    Memory memory = allocate_(bytes);
    if (memory.begin == nullptr) return nullptr;
    return std::make_shared<Block>(Block{.loan = *std::move(loan),
                                         .job = job,
                                         .owner = owner,
                                         .bytes = bytes,
                                         .lent = lent,
                                         .memory = std::move(memory),
                                         .slots = slots});
  }
  return nullptr;
}

bool ReplicaShelf::Keep(JobId job, const CacheKey& key, ByteSpan entry, Duration cost,
                        WorkerId owner) {
  const EntryId id = EntryId::Of(key);
  const std::size_t need = RoundUp(entry.size() + ScratchBuffer::kSlack, ChunkRoom::kUnit);
  std::shared_ptr<Block> block;
  std::size_t offset = 0;
  // Takes a place in the newest block of the job and the owner. False: it has none for the entry.
  const auto take = [&] {
    const auto at = newest_.find({job, owner});
    if (at == newest_.end() || !at->second->HasRoom(need)) return false;
    block = at->second;
    offset = std::exchange(block->filled, block->filled + need);
    --block->slots;
    ++block->filling;
    return true;
  };
  {
    const std::lock_guard lock(mutex_);
    if (!jobs_.contains(job) || entries_.contains(id)) return false;
    take();
  }
  if (!block) {
    std::shared_ptr<Block> made = NewBlock(job, owner, need);
    if (!made) return false;
    const std::lock_guard lock(mutex_);
    if (!jobs_.contains(job)) return false;
    blocks_.push_back(made);
    stats_[job].bytes += made->lent;
    newest_[{job, owner}] = std::move(made);
    take();
  }
  std::byte* const begin = block->memory.begin + offset;
  std::memset(std::ranges::copy(entry, begin).out, 0, ScratchBuffer::kSlack);
  const std::lock_guard lock(mutex_);
  --block->filling;
  if (block->gone) return false;
  const bool is_new = entries_
                          .try_emplace(id, Entry{.content = key.content,
                                                 .block = block,
                                                 .bytes = ByteSpan(begin, entry.size()),
                                                 .cost = cost,
                                                 .owner = owner})
                          .second;
  if (!is_new) return false;  // another thread was first; the room stays unused
  block->ids.push_back(id);
  ++block->live;
  ++stats_[job].entries;
  return true;
}

CachePin ReplicaShelf::Find(JobId job, const CacheKey& key) {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(EntryId::Of(key));
  if (at == entries_.end()) return {};
  if (at->second.content != key.content) {
    Remove(at);
    return {};
  }
  ++hits_;
  ++stats_[job].hits;
  return {at->second.bytes, at->second.block, at->second.cost};
}

CachePin ReplicaShelf::Peek(const CacheKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(EntryId::Of(key));
  if (at == entries_.end() || at->second.content != key.content) return {};
  return {at->second.bytes, at->second.block, at->second.cost};
}

void ReplicaShelf::Forget(const CacheKey& key) {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(EntryId::Of(key));
  if (at != entries_.end() && at->second.content == key.content) Remove(at);
}

void ReplicaShelf::Remove(Entries::iterator entry) {
  const std::shared_ptr<Block> block = entry->second.block;
  entries_.erase(entry);
  --stats_[block->job].entries;
  --block->live;
  if (block->live == 0 && block->filling == 0) Remove(block);
}

void ReplicaShelf::Remove(const std::shared_ptr<Block>& block) {
  block->gone = true;
  for (const EntryId& id : block->ids) {
    const auto at = entries_.find(id);
    if (at == entries_.end() || at->second.block != block) continue;
    entries_.erase(at);
    --stats_[block->job].entries;
  }
  stats_[block->job].bytes -= block->lent;
  const auto newest = newest_.find({block->job, block->owner});
  if (newest != newest_.end() && newest->second == block) newest_.erase(newest);
  std::erase(blocks_, block);
}

void ReplicaShelf::KeepTo(std::uint64_t most) {
  const std::lock_guard lock(mutex_);
  while (store_.lent() > most) {
    const std::shared_ptr<Block> block = First();
    if (!block) return;
    Remove(block);
  }
}

std::shared_ptr<ReplicaShelf::Block> ReplicaShelf::First() const {
  const auto first = std::ranges::find_if(
      blocks_, [this](const auto& block) { return !last_.contains(block->owner); });
  if (first != blocks_.end()) return *first;
  return blocks_.empty() ? nullptr : blocks_.front();
}

void ReplicaShelf::SetLast(std::set<WorkerId> owners) {
  const std::lock_guard lock(mutex_);
  last_ = std::move(owners);
}

std::vector<ReplicaShelf::Replica> ReplicaShelf::List(const Which& which) const {
  const std::lock_guard lock(mutex_);
  std::vector<Replica> listed;
  for (const auto& [id, entry] : entries_) {
    const Replica each{{entry.content, id.form}, entry.block->job, entry.owner};
    if (which(each)) listed.push_back(each);
  }
  return listed;
}

void ReplicaShelf::SetOwner(const CacheKey& key, WorkerId owner) {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(EntryId::Of(key));
  if (at != entries_.end() && at->second.content == key.content) at->second.owner = owner;
}

ReplicaStats ReplicaShelf::Stats() const {
  const std::lock_guard lock(mutex_);
  return {.bytes = store_.lent(), .entries = entries_.size(), .hits = hits_};
}

ReplicaStats ReplicaShelf::StatsOf(JobId job) const {
  const std::lock_guard lock(mutex_);
  const auto at = stats_.find(job);
  return at == stats_.end() ? ReplicaStats() : at->second;
}

}  // namespace headrace::dataworker
