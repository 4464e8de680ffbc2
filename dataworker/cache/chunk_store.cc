#include "dataworker/cache/chunk_store.h"

#include <algorithm>
#include <utility>

#include "dataworker/cache/eviction_setting.h"
#include "dataworker/cache/idle_chunks.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kAlignment = 64;
// How many of a job's newest chunks Allocate searches for room at their end.
constexpr int kOpenChunks = 8;

constexpr std::size_t RoundUp(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}
constexpr std::size_t RoundDown(std::size_t value, std::size_t to) { return value / to * to; }

// 1/32 of the budget, so that the loss at the ends of chunks stays small.
std::size_t ChunkBytesFor(std::uint64_t budget, std::size_t largest) {
  const std::size_t wanted = std::min<std::uint64_t>(budget / 32, largest);
  if (wanted >= kHugePage) return RoundDown(wanted, kHugePage);
  return std::max(RoundDown(wanted, kPage), 4 * kPage);
}

// Of null it is the number of chunks.
std::size_t IndexOf(const std::vector<std::shared_ptr<Chunk>>& chunks, const Chunk* chunk) {
  const auto at =
      std::ranges::find_if(chunks, [chunk](const auto& each) { return each.get() == chunk; });
  return static_cast<std::size_t>(at - chunks.begin());
}

}  // namespace

Chunk::Chunk(std::shared_ptr<MemoryBudget> budget, std::shared_ptr<MemoryBudget> quota, JobId owner,
             std::size_t size, std::shared_ptr<ChunkBody> body)
    : budget_(std::move(budget)),
      quota_(std::move(quota)),
      owner_(owner),
      size_(size),
      body_(std::move(body)),
      user_(owner.value),
      users_(owner.valid() ? std::uint64_t{1} << (owner.value & 63) : 0) {
  budget_->used += size_;
  quota_->used += size_;
}

Chunk::~Chunk() {
  body_.reset();  // the budget may be used again from here on
  budget_->used -= size_;
  quota_->used -= size_;
}

ChunkStore::ChunkStore(std::uint64_t budget_bytes, Medium medium,
                       std::unique_ptr<eviction::EvictionOrder> order)
    : budget_(std::make_shared<MemoryBudget>(budget_bytes)),
      medium_(std::move(medium)),
      chunk_bytes_(ChunkBytesFor(budget_bytes, medium_.largest_chunk)),
      idle_(std::make_unique<IdleChunks>(order ? std::move(order) : DefaultOrder(budget_bytes))) {}

ChunkStore::~ChunkStore() = default;

std::size_t ChunkStore::NeedOf(std::size_t bytes) const {
  return RoundUp(bytes + medium_.around_entry, kAlignment);
}

Chunk* ChunkStore::OpenChunk(JobId job, std::size_t need) const {
  int searched = 0;
  for (auto it = chunks_.rbegin(); it != chunks_.rend() && searched < kOpenChunks; ++it) {
    if ((*it)->owner_ != job || (*it)->doomed_) continue;
    ++searched;
    if ((*it)->size_ - (*it)->filled_ >= need) return it->get();
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

bool ChunkStore::Attached(JobId job) const {
  const auto found = jobs_.find(job);
  return found != jobs_.end() && found->second.sessions > 0;
}

bool ChunkStore::Kept(const Chunk& chunk) const {
  return !kept_.empty() && (kept_.contains(chunk.owner()) || kept_.contains(chunk.user()));
}

bool ChunkStore::Held(const Chunk& chunk) const { return Attached(chunk.user()) || Kept(chunk); }

std::size_t ChunkStore::FindEvictable() const {
  const auto state = [this](const Chunk& chunk) {
    if (Held(chunk)) return IdleChunks::State::kUsedAgain;
    return chunk.filling_ == 0 ? IdleChunks::State::kIdle : IdleChunks::State::kBusy;
  };
  if (const Chunk* first = idle_->First(state)) return IndexOf(chunks_, first);
  // What a job found or stored while it went was not there yet.
  for (const auto& chunk : chunks_) {
    if (!chunk->idle_ && !Held(*chunk)) idle_->Add(*chunk);
  }
  return IndexOf(chunks_, idle_->First(state));
}

ChunkStore::Evicted ChunkStore::Remove(std::size_t chunk) {
  Evicted evicted{.chunk = std::move(chunks_[chunk]), .entries = {}};
  evicted.entries = std::move(evicted.chunk->entries_);
  if (evicted.chunk->cost_entries_ > 0) {
    evicted.cost_of_entry =
        evicted.chunk->cost_ / static_cast<std::int64_t>(evicted.chunk->cost_entries_);
  }
  idle_->Forget(*evicted.chunk);
  chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(chunk));
  return evicted;
}

bool ChunkStore::InUse(const std::shared_ptr<Chunk>& chunk) {
  // One reference is here, and one in the index for each entry; more are pins.
  return chunk->filling_.load(std::memory_order_acquire) > 0 ||
         static_cast<std::size_t>(chunk.use_count()) > 1 + chunk->live_;
}

std::optional<ChunkStore::Evicted> ChunkStore::GiveUp(JobId job_id) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end()) return std::nullopt;
  // Counts chunks that are not given up yet: a pin may keep memory of the others for a moment.
  std::uint64_t kept = 0;
  for (const auto& chunk : chunks_) {
    if (chunk->owner_ == job_id) kept += chunk->size_ + chunk->live_ * kEntryOverhead;
  }
  if (kept <= job->second.quota->limit) return std::nullopt;
  std::size_t victim = chunks_.size();
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const std::shared_ptr<Chunk>& chunk = chunks_[i];
    if (chunk->owner_ != job_id || InUse(chunk)) continue;
    const JobId user = chunk->user();
    if (user == job_id || !Attached(user)) return Remove(i);
    if (victim == chunks_.size()) victim = i;  // another job's samples, too
  }
  if (victim == chunks_.size()) return std::nullopt;
  return Remove(victim);
}

std::optional<ChunkStore::Evicted> ChunkStore::GiveUpAny(bool even_if_they_fit) {
  const std::lock_guard lock(mutex_);
  std::uint64_t kept = 0;  // as in GiveUp
  for (const auto& chunk : chunks_) kept += chunk->size_ + chunk->live_ * kEntryOverhead;
  if (kept <= budget_->limit && !even_if_they_fit) return std::nullopt;
  const std::size_t idle = IndexOf(chunks_, idle_->First([this](const Chunk& chunk) {
    if (Held(chunk)) return IdleChunks::State::kUsedAgain;
    const bool in_use = InUse(chunks_[IndexOf(chunks_, &chunk)]);
    return in_use ? IdleChunks::State::kBusy : IdleChunks::State::kIdle;
  }));
  if (idle < chunks_.size()) return Remove(idle);
  for (const bool kept_too : {false, true}) {
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      if (!InUse(chunks_[i]) && (kept_too || !Kept(*chunks_[i]))) return Remove(i);
    }
  }
  return std::nullopt;
}

void ChunkStore::SetKept(std::set<JobId> jobs) {
  const std::lock_guard lock(mutex_);
  kept_ = std::move(jobs);
  for (const auto& chunk : chunks_) {
    if (!chunk->idle_ && !Held(*chunk)) idle_->Add(*chunk);
  }
}

void ChunkStore::Doom(const std::set<JobId>& jobs) {
  const std::lock_guard lock(mutex_);
  for (const auto& chunk : chunks_) {
    const bool of_the_gone = !Attached(chunk->owner_) && jobs.contains(chunk->user());
    if (jobs.contains(chunk->owner_) || of_the_gone) chunk->doomed_ = true;
  }
}

std::optional<ChunkStore::Evicted> ChunkStore::TakeDoomed(bool* busy) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    if (!chunks_[i]->doomed_) continue;
    if (chunks_[i]->filling_.load(std::memory_order_acquire) == 0) return Remove(i);
    *busy = true;
  }
  return std::nullopt;
}

std::optional<ChunkStore::Place> ChunkStore::Allocate(JobId job_id, const EntryId& id,
                                                      std::size_t bytes, Duration cost,
                                                      Evicted* evicted) {
  const std::size_t need = NeedOf(bytes);
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end() || job->second.sessions == 0) return std::nullopt;
  const std::shared_ptr<MemoryBudget>& quota = job->second.quota;
  std::shared_ptr<Chunk> chunk;
  if (std::min(budget_->free(), quota->free()) >= kEntryOverhead) {
    if (Chunk* open = OpenChunk(job_id, need)) {
      chunk = *std::find_if(chunks_.begin(), chunks_.end(),
                            [&](const auto& candidate) { return candidate.get() == open; });
    } else if (const std::size_t size = NewChunkBytes(job->second, need); size > 0) {
      std::shared_ptr<ChunkBody> body = medium_.make_body(size);
      if (!body) return std::nullopt;
      chunk = std::make_shared<Chunk>(budget_, quota, job_id, size, std::move(body));
      chunks_.push_back(chunk);
    }
  }
  if (!chunk) {
    if (!FitsQuota(job->second, need)) return std::nullopt;
    const std::size_t victim = FindEvictable();
    if (victim < chunks_.size()) *evicted = Remove(victim);
    return std::nullopt;
  }
  const std::size_t offset = chunk->filled_;
  chunk->filled_ += need;
  ++chunk->live_;
  ++chunk->filling_;
  ++job->second.entries;
  chunk->entries_.push_back(id);
  if (cost > Duration()) {
    chunk->cost_ += cost;
    ++chunk->cost_entries_;
    chunk->cost_bytes_ += need;
  }
  chunk->SetUser(job_id);
  budget_->used += kEntryOverhead;
  quota->used += kEntryOverhead;
  return Place{std::move(chunk), offset};
}

std::shared_ptr<Chunk> ChunkStore::Adopt(std::shared_ptr<ChunkBody> body, std::size_t size,
                                         std::size_t filled, std::vector<EntryId> entries) {
  static const auto nobodys = std::make_shared<MemoryBudget>(0);
  const auto chunk = std::make_shared<Chunk>(budget_, nobodys, JobId(), size, std::move(body));
  const std::lock_guard lock(mutex_);
  chunk->filled_ = filled;
  chunk->live_ = entries.size();
  chunk->entries_ = std::move(entries);
  budget_->used += chunk->live_ * kEntryOverhead;
  nobodys->used += chunk->live_ * kEntryOverhead;
  chunks_.push_back(chunk);
  idle_->Add(*chunk);
  return chunk;
}

bool ChunkStore::HasRoom(JobId job_id, std::size_t bytes) const {
  const std::size_t need = NeedOf(bytes);
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end() || job->second.sessions == 0) return false;
  const bool overhead_fits = std::min(budget_->free(), job->second.quota->free()) >= kEntryOverhead;
  if (overhead_fits &&
      (OpenChunk(job_id, need) != nullptr || NewChunkBytes(job->second, need) > 0)) {
    return true;
  }
  return FitsQuota(job->second, need) && FindEvictable() < chunks_.size();
}

void ChunkStore::Release(const std::shared_ptr<Chunk>& chunk) {
  if (!chunk) return;
  budget_->used -= kEntryOverhead;
  chunk->quota_->used -= kEntryOverhead;
  const std::lock_guard lock(mutex_);
  const auto owner = jobs_.find(chunk->owner_);
  if (owner != jobs_.end()) --owner->second.entries;
  if (--chunk->live_ > 0) return;
  idle_->Forget(*chunk);
  std::erase(chunks_, chunk);
}

void ChunkStore::SetLimit(Job& job) { job.quota->limit = job.granted.value_or(job.asked); }

void ChunkStore::Sweep() {
  std::erase_if(jobs_, [](const auto& entry) {
    const Job& job = entry.second;
    return job.sessions == 0 && job.entries == 0 && !job.granted && job.quota->used == 0;
  });
}

void ChunkStore::AddJob(JobId id, std::uint64_t quota) {
  const std::lock_guard lock(mutex_);
  Sweep();
  Job& job = jobs_[id];
  job.asked = job.sessions == 0 ? quota : std::max(job.asked, quota);
  ++job.sessions;
  SetLimit(job);
}

void ChunkStore::RemoveJob(JobId id) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(id);
  if (job != jobs_.end() && job->second.sessions > 0 && --job->second.sessions == 0) {
    idle_->NextMoment();
    for (const auto& chunk : chunks_) {
      if (chunk->user() == id) idle_->Add(*chunk);
    }
  }
  Sweep();
}

void ChunkStore::SetQuota(JobId id, std::optional<std::uint64_t> quota) {
  const std::lock_guard lock(mutex_);
  Job& job = jobs_[id];
  job.granted = quota;
  SetLimit(job);
  Sweep();
}

std::vector<JobCacheStats> ChunkStore::JobStats() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobCacheStats> stats;
  for (const auto& [id, job] : jobs_) {
    if (job.sessions == 0 && job.entries == 0) continue;
    stats.push_back({.job = id, .bytes = job.quota->used, .entries = job.entries});
  }
  return stats;
}

}  // namespace headrace::dataworker
