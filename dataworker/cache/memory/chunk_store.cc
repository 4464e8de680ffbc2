#include "dataworker/cache/memory/chunk_store.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace headrace::dataworker {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kLargestChunk = std::size_t{32} << 20;
constexpr std::size_t kAlignment = 64;
// How many of a job's newest chunks are searched for room at their end.
constexpr int kOpenChunks = 8;

constexpr std::size_t RoundUp(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}
constexpr std::size_t RoundDown(std::size_t value, std::size_t to) { return value / to * to; }

std::size_t NeedOf(std::size_t bytes) { return RoundUp(bytes + ScratchBuffer::kSlack, kAlignment); }

// 1/32 of the budget, so that what is lost at the ends of chunks stays small.
std::size_t ChunkBytesFor(std::uint64_t budget) {
  const std::size_t wanted = std::min<std::uint64_t>(budget / 32, kLargestChunk);
  if (wanted >= kHugePage) return RoundDown(wanted, kHugePage);
  return std::max(RoundDown(wanted, kPage), 4 * kPage);
}

// Empty when the system has no memory. Aligned for huge pages when it is that large.
MutableByteSpan MapMemory(std::size_t bytes) {
  const std::size_t extra = bytes >= kHugePage ? kHugePage : 0;
  void* mapped = ::mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return {};
  auto* begin = static_cast<std::byte*>(mapped);
  if (extra > 0) {
    const std::size_t address = reinterpret_cast<std::size_t>(begin);
    const std::size_t before = RoundUp(address, kHugePage) - address;
    if (before > 0) ::munmap(begin, before);
    begin += before;
    if (extra > before) ::munmap(begin + bytes, extra - before);
    ::madvise(begin, bytes, MADV_HUGEPAGE);
  }
  return {begin, bytes};
}

}  // namespace

Chunk::Chunk(std::shared_ptr<MemoryBudget> budget, std::shared_ptr<MemoryBudget> quota, JobId owner,
             MutableByteSpan memory)
    : budget_(std::move(budget)),
      quota_(std::move(quota)),
      owner_(owner),
      memory_(memory),
      user_(owner.value) {
  budget_->used += memory_.size();
  quota_->used += memory_.size();
}

Chunk::~Chunk() {
  ::munmap(memory_.data(), memory_.size());
  budget_->used -= memory_.size();
  quota_->used -= memory_.size();
}

ChunkStore::ChunkStore(std::uint64_t budget_bytes)
    : budget_(std::make_shared<MemoryBudget>(budget_bytes)),
      chunk_bytes_(ChunkBytesFor(budget_bytes)) {}

Chunk* ChunkStore::OpenChunk(JobId job, std::size_t need) const {
  int searched = 0;
  for (auto it = chunks_.rbegin(); it != chunks_.rend() && searched < kOpenChunks; ++it) {
    if ((*it)->owner_ != job) continue;
    ++searched;
    if ((*it)->memory_.size() - (*it)->filled_ >= need) return it->get();
  }
  return nullptr;
}

std::size_t ChunkStore::NewChunkBytes(const Job& job, std::size_t need) const {
  const std::uint64_t free = std::min(budget_->free(), job.quota->free());
  if (free < kEntryOverhead) return 0;
  const std::size_t room = RoundDown(free - kEntryOverhead, kPage);
  const std::size_t smallest = RoundUp(need, kPage);
  if (room < smallest) return 0;
  // A large entry gets a chunk of its own; the last chunk takes what is left of the budget.
  return need > chunk_bytes_ / 2 ? smallest : std::min(chunk_bytes_, room);
}

bool ChunkStore::FitsQuota(const Job& job, std::size_t need) const {
  const std::uint64_t least = RoundUp(need, kPage) + kEntryOverhead;
  return job.quota->free() >= least && budget_->limit >= least;
}

std::size_t ChunkStore::FindEvictable() const {
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    if (!jobs_.contains(chunks_[i]->user())) return i;
  }
  return chunks_.size();
}

std::optional<ChunkStore::Place> ChunkStore::Allocate(JobId job_id, const EntryId& id,
                                                      std::size_t bytes, Evicted* evicted) {
  const std::size_t need = NeedOf(bytes);
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end()) return std::nullopt;
  const std::shared_ptr<MemoryBudget>& quota = job->second.quota;
  std::shared_ptr<Chunk> chunk;
  if (std::min(budget_->free(), quota->free()) >= kEntryOverhead) {
    if (Chunk* open = OpenChunk(job_id, need)) {
      chunk = *std::find_if(chunks_.begin(), chunks_.end(),
                            [&](const auto& candidate) { return candidate.get() == open; });
    } else if (const std::size_t size = NewChunkBytes(job->second, need); size > 0) {
      const MutableByteSpan memory = MapMemory(size);
      if (memory.empty()) return std::nullopt;
      chunk = std::make_shared<Chunk>(budget_, quota, job_id, memory);
      chunks_.push_back(chunk);
    }
  }
  if (!chunk) {
    if (!FitsQuota(job->second, need)) return std::nullopt;
    if (const std::size_t victim = FindEvictable(); victim < chunks_.size()) {
      evicted->chunk = chunks_[victim];
      evicted->entries = std::move(evicted->chunk->entries_);
      chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(victim));
    }
    return std::nullopt;
  }
  const MutableByteSpan memory = chunk->memory_.subspan(chunk->filled_, bytes);
  chunk->filled_ += need;
  ++chunk->live_;
  chunk->entries_.push_back(id);
  chunk->SetUser(job_id);
  budget_->used += kEntryOverhead;
  quota->used += kEntryOverhead;
  return Place{std::move(chunk), memory};
}

bool ChunkStore::HasRoom(JobId job_id, std::size_t bytes) const {
  const std::size_t need = NeedOf(bytes);
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end()) return false;
  const bool overhead_fits = std::min(budget_->free(), job->second.quota->free()) >= kEntryOverhead;
  if (overhead_fits &&
      (OpenChunk(job_id, need) != nullptr || NewChunkBytes(job->second, need) > 0)) {
    return true;
  }
  return FitsQuota(job->second, need) && FindEvictable() < chunks_.size();
}

void ChunkStore::Release(const std::shared_ptr<Chunk>& chunk) {
  budget_->used -= kEntryOverhead;
  chunk->quota_->used -= kEntryOverhead;
  const std::lock_guard lock(mutex_);
  if (--chunk->live_ == 0) std::erase(chunks_, chunk);
}

void ChunkStore::AddJob(JobId job, std::uint64_t quota) {
  const std::lock_guard lock(mutex_);
  Job& entry = jobs_[job];
  if (!entry.quota) entry.quota = std::make_shared<MemoryBudget>(quota);
  entry.quota->limit = std::max<std::uint64_t>(entry.quota->limit, quota);
  ++entry.sessions;
}

void ChunkStore::RemoveJob(JobId job) {
  const std::lock_guard lock(mutex_);
  const auto entry = jobs_.find(job);
  if (entry != jobs_.end() && --entry->second.sessions == 0) jobs_.erase(entry);
}

}  // namespace headrace::dataworker
