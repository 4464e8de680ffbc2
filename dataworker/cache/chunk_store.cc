// This file is long because jobs, their accounts and their chunks change under one lock.
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

Chunk::Chunk(std::shared_ptr<MemoryBudget> budget, std::shared_ptr<QuotaAccount> account,
             JobId owner, std::size_t size, std::shared_ptr<ChunkBody> body)
    : budget_(std::move(budget)),
      account_(std::move(account)),
      owner_(owner.value),
      size_(size),
      body_(std::move(body)),
      user_(owner.value),
      users_(owner.valid() ? std::uint64_t{1} << (owner.value & 63) : 0) {
  budget_->used += size_;
  account_->used += size_;
}

Chunk::~Chunk() {
  body_.reset();  // the budget may be used again from here on
  budget_->used -= size_;
  account_->used -= size_;
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

Chunk* ChunkStore::OpenChunk(const Job& job, std::size_t need) const {
  int searched = 0;
  for (auto it = chunks_.rbegin(); it != chunks_.rend() && searched < kOpenChunks; ++it) {
    if ((*it)->account_ != job.account || (*it)->doomed_) continue;
    ++searched;
    if ((*it)->size_ - (*it)->filled_ >= need) return it->get();
  }
  return nullptr;
}

std::size_t ChunkStore::NewChunkBytes(const Job& job, std::size_t need) const {
  const std::uint64_t free = std::min(budget_->free(), job.account->free());
  if (free < kEntryOverhead) return 0;
  const std::size_t room = RoundDown(free - kEntryOverhead, kPage);
  const std::size_t smallest = RoundUp(need, kPage);
  if (room < smallest) return 0;
  // A large entry gets a chunk of its own; the last chunk takes what is left of the budget.
  return need > chunk_bytes_ / 2 ? smallest : std::min(chunk_bytes_, room);
}

bool ChunkStore::FitsQuota(const Job& job, std::size_t need) const {
  const std::uint64_t least = RoundUp(need, kPage) + kEntryOverhead;
  return job.account->free() >= least && budget_->limit >= least;
}

bool ChunkStore::Attached(JobId job) const {
  const auto found = jobs_.find(job);
  return found != jobs_.end() && found->second.sessions > 0;
}

std::uint64_t ChunkStore::BytesOf(const Chunk& chunk) {
  return chunk.size_ + chunk.live_ * kEntryOverhead;
}

bool ChunkStore::Kept(const Chunk& chunk) const {
  if (kept_.empty()) return false;
  if (kept_.contains(chunk.user())) return true;
  // What is left of another form is of no use to it.
  const auto owner = jobs_.find(chunk.owner());
  return kept_.contains(chunk.owner()) && owner != jobs_.end() &&
         owner->second.account == chunk.account_;
}

bool ChunkStore::Held(const Chunk& chunk) const { return Attached(chunk.user()) || Kept(chunk); }

std::size_t ChunkStore::FindEvictable() const {
  const auto state = [this](const Chunk& chunk) {
    if (Held(chunk)) return IdleChunks::State::kUsedAgain;
    const bool busy = chunk.filling_ > 0 || chunk.account_->attached > 0;
    return busy ? IdleChunks::State::kBusy : IdleChunks::State::kIdle;
  };
  if (const Chunk* first = idle_->First(state)) return IndexOf(chunks_, first);
  // What a job found or stored while it went was not there yet.
  for (const auto& chunk : chunks_) {
    if (!chunk->idle_ && !Held(*chunk)) idle_->Add(*chunk);
  }
  return IndexOf(chunks_, idle_->First(state));
}

std::size_t ChunkStore::FindUntouched(QuotaAccount& account) const {
  if (!account.any_untouched) return chunks_.size();
  account.any_untouched = false;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const Chunk& chunk = *chunks_[i];
    if (chunk.account_.get() != &account || Held(chunk)) continue;
    account.any_untouched = true;
    if (chunk.filling_ == 0) return i;
  }
  return chunks_.size();
}

std::size_t ChunkStore::FindFor(const Job& job, std::size_t need) const {
  std::size_t found = chunks_.size();
  if (FitsQuota(job, need)) found = FindEvictable();
  return found < chunks_.size() ? found : FindUntouched(*job.account);
}

ChunkStore::Evicted ChunkStore::Remove(std::size_t chunk) {
  Evicted evicted{.chunk = std::move(chunks_[chunk]), .entries = {}};
  evicted.entries = std::move(evicted.chunk->entries_);
  evicted.cost_of_entry = evicted.chunk->costs_.mean();
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
  const std::shared_ptr<QuotaAccount>& account = job->second.account;
  // Counts chunks that are not given up yet: a pin may keep memory of the others for a moment.
  std::uint64_t kept = 0;
  for (const auto& chunk : chunks_) {
    if (chunk->account_ == account) kept += BytesOf(*chunk);
  }
  if (kept <= account->limit) return std::nullopt;
  // The less a chunk is of use, the less its rank.
  const auto rank = [&](const Chunk& chunk) {
    const auto user = jobs_.find(chunk.user());
    if (user == jobs_.end() || user->second.sessions == 0) return 0;
    return user->second.account == account ? 1 : 2;
  };
  std::size_t victim = chunks_.size();
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    if (chunks_[i]->account_ != account || InUse(chunks_[i])) continue;
    if (victim == chunks_.size() || rank(*chunks_[i]) < rank(*chunks_[victim])) victim = i;
  }
  if (victim == chunks_.size()) return std::nullopt;
  return Remove(victim);
}

std::optional<ChunkStore::Evicted> ChunkStore::GiveUpAny(bool even_if_they_fit) {
  const std::lock_guard lock(mutex_);
  std::uint64_t kept = 0;  // as in GiveUp
  for (const auto& chunk : chunks_) kept += BytesOf(*chunk);
  if (kept <= budget_->limit && !even_if_they_fit) return std::nullopt;
  const std::size_t idle = IndexOf(chunks_, idle_->First([this](const Chunk& chunk) {
    if (Held(chunk)) return IdleChunks::State::kUsedAgain;
    const bool in_use = chunk.account_->attached > 0 || InUse(chunks_[IndexOf(chunks_, &chunk)]);
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
    if (Held(*chunk)) continue;
    chunk->account_->any_untouched = true;
    if (!chunk->idle_) idle_->Add(*chunk);
  }
}

void ChunkStore::Doom(const std::set<JobId>& jobs) {
  const std::lock_guard lock(mutex_);
  for (const auto& chunk : chunks_) {
    const bool of_the_gone = !Attached(chunk->owner()) && jobs.contains(chunk->user());
    if (jobs.contains(chunk->owner()) || of_the_gone) chunk->doomed_ = true;
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
  const std::shared_ptr<QuotaAccount>& account = job->second.account;
  std::shared_ptr<Chunk> chunk;
  if (std::min(budget_->free(), account->free()) >= kEntryOverhead) {
    if (Chunk* open = OpenChunk(job->second, need)) {
      chunk = *std::find_if(chunks_.begin(), chunks_.end(),
                            [&](const auto& candidate) { return candidate.get() == open; });
    } else if (const std::size_t size = NewChunkBytes(job->second, need); size > 0) {
      std::shared_ptr<ChunkBody> body = medium_.make_body(size);
      if (!body) return std::nullopt;
      chunk = std::make_shared<Chunk>(budget_, account, job_id, size, std::move(body));
      chunks_.push_back(chunk);
    }
  }
  if (!chunk) {
    const std::size_t victim = FindFor(job->second, need);
    if (victim < chunks_.size()) *evicted = Remove(victim);
    return std::nullopt;
  }
  const std::size_t offset = chunk->filled_;
  chunk->filled_ += need;
  ++chunk->live_;
  ++chunk->filling_;
  // Its owner may be another job of the account.
  if (const auto owner = jobs_.find(chunk->owner()); owner != jobs_.end()) ++owner->second.entries;
  chunk->entries_.push_back(id);
  chunk->costs_.Add(cost, need);
  chunk->mean_cost_ = chunk->costs_.mean().count();
  chunk->SetUser(job_id);
  budget_->used += kEntryOverhead;
  account->used += kEntryOverhead;
  return Place{std::move(chunk), offset};
}

std::shared_ptr<Chunk> ChunkStore::Adopt(std::shared_ptr<ChunkBody> body, std::size_t size,
                                         std::size_t filled, std::vector<EntryId> entries,
                                         const EntryCosts& costs) {
  static const auto nobodys = std::make_shared<QuotaAccount>();
  const auto chunk = std::make_shared<Chunk>(budget_, nobodys, JobId(), size, std::move(body));
  const std::lock_guard lock(mutex_);
  chunk->filled_ = filled;
  chunk->live_ = entries.size();
  chunk->entries_ = std::move(entries);
  chunk->costs_ = costs;
  chunk->mean_cost_ = costs.mean().count();
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
  const bool overhead_fits =
      std::min(budget_->free(), job->second.account->free()) >= kEntryOverhead;
  if (overhead_fits &&
      (OpenChunk(job->second, need) != nullptr || NewChunkBytes(job->second, need) > 0)) {
    return true;
  }
  return FindFor(job->second, need) < chunks_.size();
}

void ChunkStore::Release(const std::shared_ptr<Chunk>& chunk) {
  if (!chunk) return;
  budget_->used -= kEntryOverhead;
  const std::lock_guard lock(mutex_);
  chunk->account_->used -= kEntryOverhead;
  const auto owner = jobs_.find(chunk->owner());
  if (owner != jobs_.end()) --owner->second.entries;
  if (--chunk->live_ > 0) return;
  idle_->Forget(*chunk);
  std::erase(chunks_, chunk);
}

void ChunkStore::SetLimit(QuotaAccount& account) {
  std::uint64_t asked = 0;
  for (const auto& [id, job] : jobs_) {
    if (job.account.get() == &account) asked = std::max(asked, job.asked);
  }
  account.limit = account.granted.value_or(asked);
}

void ChunkStore::Sweep() {
  std::erase_if(jobs_, [](const auto& entry) {
    const Job& job = entry.second;
    if (job.sessions > 0 || job.entries > 0 || job.account->granted) return false;
    return job.account->data_set != 0 || job.account->used == 0;
  });
  std::erase_if(accounts_, [](const auto& entry) { return entry.second.expired(); });
}

void ChunkStore::AddJob(JobId id, std::uint64_t quota) {
  const std::lock_guard lock(mutex_);
  Job& job = jobs_[id];
  job.asked = job.sessions == 0 ? quota : std::max(job.asked, quota);
  if (++job.sessions == 1) ++job.account->attached;
  SetLimit(*job.account);
  Inherit(job.account);
  Sweep();
}

void ChunkStore::RemoveJob(JobId id) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(id);
  if (job != jobs_.end() && job->second.sessions > 0 && --job->second.sessions == 0) {
    const std::shared_ptr<QuotaAccount> account = job->second.account;
    --account->attached;
    account->any_untouched = true;
    Inherit(account);
    idle_->NextMoment();
    for (const auto& chunk : chunks_) {
      if (chunk->user() == id) idle_->Add(*chunk);
    }
  }
  Sweep();
}

void ChunkStore::Inherit(const std::shared_ptr<QuotaAccount>& account) {
  const auto heir = std::ranges::find_if(jobs_, [&](const auto& entry) {
    return entry.second.account == account && entry.second.sessions > 0;
  });
  if (heir == jobs_.end()) return;
  for (const auto& chunk : chunks_) {
    if (chunk->account_ != account || Attached(chunk->owner())) continue;
    if (const auto owner = jobs_.find(chunk->owner()); owner != jobs_.end()) {
      owner->second.entries -= chunk->live_;
    }
    heir->second.entries += chunk->live_;
    chunk->owner_ = heir->first.value;
  }
}

void ChunkStore::Join(JobId id, Job& job, std::shared_ptr<QuotaAccount> account) {
  const std::shared_ptr<QuotaAccount> left = std::exchange(job.account, std::move(account));
  if (job.sessions > 0) {
    --left->attached;
    ++job.account->attached;
  }
  left->any_untouched = job.account->any_untouched = true;
  for (const auto& chunk : chunks_) {
    if (chunk->account_ != left) continue;
    if (left->data_set == 0) {  // what it kept before its data set was known
      left->used -= BytesOf(*chunk);
      job.account->used += BytesOf(*chunk);
      chunk->account_ = job.account;
    } else if (chunk->user() == id) {
      chunk->user_ = JobId().value;  // unless it finds something there again
    }
  }
  SetLimit(*left);
  Inherit(left);
}

void ChunkStore::ShareQuota(JobId id, std::uint64_t data_set) {
  const std::lock_guard lock(mutex_);
  Job& job = jobs_[id];
  if (data_set == 0 || job.account->data_set == data_set) return;
  std::shared_ptr<QuotaAccount> account = accounts_[data_set].lock();
  if (!account) {
    account = std::make_shared<QuotaAccount>();
    account->data_set = data_set;
    accounts_[data_set] = account;
  }
  Join(id, job, std::move(account));
  SetLimit(*job.account);
  Inherit(job.account);
}

void ChunkStore::SetQuota(JobId id, std::optional<std::uint64_t> quota) {
  const std::lock_guard lock(mutex_);
  Job& job = jobs_[id];
  const auto others = std::ranges::count_if(
      jobs_, [&](const auto& entry) { return entry.second.account == job.account; });
  if (!quota && others > 1) {
    Join(id, job, std::make_shared<QuotaAccount>());
  } else {
    job.account->granted = quota;
  }
  SetLimit(*job.account);
  Sweep();
}

void ChunkStore::FreezeQuota(JobId id) {
  const std::lock_guard lock(mutex_);
  QuotaAccount& account = *jobs_[id].account;
  std::uint64_t kept = 0;  // as in GiveUp
  for (const auto& chunk : chunks_) {
    if (chunk->account_.get() == &account) kept += BytesOf(*chunk);
  }
  account.granted = kept;
  SetLimit(account);
}

std::vector<JobCacheStats> ChunkStore::JobStats() const {
  const std::lock_guard lock(mutex_);
  std::map<JobId, std::uint64_t> bytes, of_entries;
  for (const auto& chunk : chunks_) {
    bytes[chunk->owner()] += BytesOf(*chunk);
    // An entry that is gone was as large as the others.
    const std::size_t placed = std::max<std::size_t>(chunk->entries_.size(), 1);
    of_entries[chunk->owner()] += chunk->live_ * (chunk->filled_ / placed + kEntryOverhead);
  }
  std::vector<JobCacheStats> stats;
  for (const auto& [id, job] : jobs_) {
    if (job.sessions == 0 && job.entries == 0) continue;
    stats.push_back({.job = id,
                     .bytes = bytes[id],
                     .entries = job.entries,
                     .entry_bytes = of_entries[id]});
  }
  return stats;
}

}  // namespace headrace::dataworker
