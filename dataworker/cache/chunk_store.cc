// This file is long because jobs, their accounts and their chunks change under one lock.
#include "dataworker/cache/chunk_store.h"

#include <algorithm>
#include <utility>

#include "dataworker/cache/eviction_setting.h"
#include "dataworker/cache/idle_chunks.h"

namespace headrace::dataworker {
namespace {

// Of null it is the number of chunks.
std::size_t IndexOf(const std::vector<std::shared_ptr<Chunk>>& chunks, const Chunk* chunk) {
  const auto at =
      std::ranges::find_if(chunks, [chunk](const auto& each) { return each.get() == chunk; });
  return static_cast<std::size_t>(at - chunks.begin());
}

}  // namespace

ChunkStore::ChunkStore(std::uint64_t budget_bytes, ChunkMedium medium,
                       std::unique_ptr<eviction::EvictionOrder> order)
    : budget_(std::make_shared<MemoryBudget>(budget_bytes)),
      finder_(chunks_, budget_, std::move(medium)),
      idle_(std::make_unique<IdleChunks>(order ? std::move(order) : DefaultOrder(budget_bytes))) {}

ChunkStore::~ChunkStore() = default;

RoomFinder::Found ChunkStore::FindRoom(const QuotaAccount& account, std::size_t need) const {
  if (std::min(budget_->free(), account.free()) < kEntryOverhead) return {};
  return finder_.FindIn(account, need, [this](const Chunk& chunk) { return Held(chunk); });
}

std::optional<RoomLoan> ChunkStore::Lend(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return finder_.spare().Lend(bytes);
}

bool ChunkStore::FitsQuota(const Job& job, std::size_t need) const {
  constexpr std::size_t kPage = RoomFinder::kPage;
  const std::uint64_t least = (need + kPage - 1) / kPage * kPage + kEntryOverhead;
  return job.account->free() >= least && budget_->limit >= least;
}

bool ChunkStore::Attached(JobId job) const {
  const auto found = jobs_.find(job);
  return found != jobs_.end() && found->second.sessions > 0;
}

std::uint64_t ChunkStore::BytesOf(const Chunk& chunk) {
  return chunk.room_.size() + chunk.live_ * kEntryOverhead;
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
  RoomFinder::Unlist(*evicted.chunk);
  evicted.chunk->names_.Join(nullptr);
  evicted.chunk->given_up_ = true;
  evicted.entries = evicted.chunk->room_.TakeIds();
  evicted.cost_of_entry = evicted.chunk->costs_.mean();
  idle_->Forget(*evicted.chunk);
  chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(chunk));
  return evicted;
}

// Where nothing is written over, those that have left are as large as the others.
std::size_t ChunkStore::LiveBytes(const Chunk& chunk) {
  const ChunkRoom& room = chunk.room_;
  const std::size_t placed = std::max<std::size_t>(room.entries(), 1);
  return (room.filled() - room.hole_bytes()) / placed * chunk.live_;
}

std::optional<ChunkStore::Evicted> ChunkStore::GiveUp(JobId job_id) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end()) return std::nullopt;
  const std::shared_ptr<QuotaAccount>& account = job->second.account;
  // Counts chunks that are not given up yet: a pin may keep memory of the others for a moment.
  const auto kept = [&] {
    std::uint64_t bytes = 0;
    for (const auto& chunk : chunks_) bytes += chunk->account_ == account ? BytesOf(*chunk) : 0;
    return bytes;
  };
  if (kept() <= account->limit) return std::nullopt;
  for (const auto& chunk : chunks_) {
    if (chunk->account_ == account) finder_.CutEnd(*chunk);
  }
  if (kept() <= account->limit) return std::nullopt;
  // The less a chunk is of use, the less its rank.
  const auto rank = [&](const Chunk& chunk) {
    const auto user = jobs_.find(chunk.user());
    if (user == jobs_.end() || user->second.sessions == 0) return 0;
    return user->second.account == account ? 1 : 2;
  };
  std::size_t victim = chunks_.size();
  std::pair<int, double> least;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    if (chunks_[i]->account_ != account || chunks_[i]->InUse()) continue;
    const std::pair own(rank(*chunks_[i]), Fullness(*chunks_[i]));
    if (victim < chunks_.size() && own >= least) continue;
    victim = i;
    least = own;
  }
  if (victim == chunks_.size()) return std::nullopt;
  return Remove(victim);
}

std::optional<ChunkStore::Evicted> ChunkStore::GiveUpAny(bool even_if_they_fit) {
  const std::lock_guard lock(mutex_);
  const auto fits = [this] {  // as in GiveUp
    std::uint64_t kept = 0;
    for (const auto& chunk : chunks_) kept += BytesOf(*chunk);
    return kept <= budget_->limit;
  };
  if (!fits()) {
    for (const auto& chunk : chunks_) finder_.CutEnd(*chunk);
  }
  if (!even_if_they_fit && fits()) return std::nullopt;
  const std::size_t idle = IndexOf(chunks_, idle_->First([this](const Chunk& chunk) {
    if (Held(chunk)) return IdleChunks::State::kUsedAgain;
    const bool in_use = chunk.account_->attached > 0 || chunk.InUse();
    return in_use ? IdleChunks::State::kBusy : IdleChunks::State::kIdle;
  }));
  if (idle < chunks_.size()) return Remove(idle);
  for (const bool kept_too : {false, true}) {
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      if (!chunks_[i]->InUse() && (kept_too || !Kept(*chunks_[i]))) return Remove(i);
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

std::optional<ChunkStore::Place> ChunkStore::Allocate(JobId job_id, const CacheKey& key,
                                                      std::size_t bytes, Duration cost,
                                                      Evicted* evicted) {
  const std::size_t need = finder_.NeedOf(bytes);
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end() || job->second.sessions == 0) return std::nullopt;
  const std::shared_ptr<QuotaAccount>& account = job->second.account;
  const RoomFinder::Found found = FindRoom(*account, need);
  std::shared_ptr<Chunk> chunk;
  if (found.chunk != nullptr) {
    // What is lent is given back. While somebody still reads there, nothing else goes in its place.
    if (!finder_.spare().Reclaim(kEntryOverhead)) return std::nullopt;
    chunk = found.chunk->shared_from_this();
  } else if (finder_.CanMake(*account, need)) {
    chunk = finder_.Make(job_id, account, need);
    if (!chunk) return std::nullopt;
  }
  if (!chunk) {
    const std::size_t victim = FindFor(job->second, need);
    if (victim < chunks_.size()) *evicted = Remove(victim);
    return std::nullopt;
  }
  const EntryId id = EntryId::Of(key);
  ChunkRoom& room = chunk->room_;
  const std::size_t offset = found.in_hole ? room.TakeHole(id, need) : room.TakeEnd(id, need);
  chunk->names_.Add(SampledName(key.content, key.form));
  if (found.in_hole) RoomFinder::List(*chunk);
  ++chunk->live_;
  ++chunk->filling_;
  // Its owner may be another job of the account.
  if (const auto owner = jobs_.find(chunk->owner()); owner != jobs_.end()) ++owner->second.entries;
  chunk->costs_.Add(cost, need);
  chunk->mean_cost_ = chunk->costs_.mean().count();
  chunk->SetUser(job_id);
  budget_->used += kEntryOverhead;
  account->used += kEntryOverhead;
  return Place{std::move(chunk), offset};
}

std::shared_ptr<Chunk> ChunkStore::Adopt(std::shared_ptr<ChunkBody> body, std::size_t size,
                                         std::size_t filled, const std::vector<EntryId>& entries,
                                         const EntryCosts& costs) {
  static const auto nobodys = std::make_shared<QuotaAccount>();
  const std::lock_guard lock(mutex_);
  const auto chunk = std::make_shared<Chunk>(budget_, nobodys, JobId(), size, finder_.NextNumber(),
                                             std::move(body));
  chunk->room_.Fill(filled, entries);
  chunk->live_ = entries.size();
  chunk->costs_ = costs;
  chunk->mean_cost_ = costs.mean().count();
  budget_->used += chunk->live_ * kEntryOverhead;
  nobodys->used += chunk->live_ * kEntryOverhead;
  chunks_.push_back(chunk);
  idle_->Add(*chunk);
  return chunk;
}

std::shared_ptr<Chunk> ChunkStore::AdoptFor(JobId job_id, const std::shared_ptr<ChunkBody>& body,
                                            std::size_t size, std::span<const SealedEntry> entries,
                                            Evicted* evicted) {
  const std::uint64_t overhead = entries.size() * kEntryOverhead, need = size + overhead;
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end() || job->second.sessions == 0) return nullptr;
  const std::shared_ptr<QuotaAccount>& account = job->second.account;
  if (std::min(budget_->free(), account->free()) < need) {
    const std::size_t victim = FindFor(job->second, need);
    if (victim < chunks_.size()) *evicted = Remove(victim);
    return nullptr;
  }
  if (!finder_.spare().Reclaim(need)) return nullptr;
  auto chunk = std::make_shared<Chunk>(budget_, account, job_id, size, finder_.NextNumber(), body);
  chunk->names_.Join(&account->names);
  std::vector<EntryId> ids;
  for (const SealedEntry& entry : entries) {
    ids.push_back(EntryId::Of(entry.key));
    chunk->names_.Add(SampledName(entry.key.content, entry.key.form));
    chunk->costs_.Add(entry.cost, entry.bytes);
  }
  chunk->room_.Fill(size, ids);
  chunk->live_ = entries.size();
  chunk->filling_ = 1;
  chunk->mean_cost_ = chunk->costs_.mean().count();
  job->second.entries += entries.size();
  budget_->used += overhead;
  account->used += overhead;
  chunks_.push_back(chunk);
  return chunk;
}

std::uint64_t ChunkStore::RoomFor(JobId job_id) const {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end() || job->second.sessions == 0) return 0;
  const std::shared_ptr<QuotaAccount>& account = job->second.account;
  // What FindFor would have go: what nobody uses, of data sets without a job, and of its own one.
  std::uint64_t of_others = 0, of_own = 0;
  for (const auto& chunk : chunks_) {
    const bool own = chunk->account_ == account;
    if (!own && chunk->account_->attached > 0) continue;
    if (chunk->filling_ > 0 || Held(*chunk)) continue;
    (own ? of_own : of_others) += BytesOf(*chunk);
  }
  return std::min(budget_->free() + of_others, account->free()) + of_own;
}

bool ChunkStore::HasRoom(JobId job_id, std::size_t bytes) const {
  const std::size_t need = finder_.NeedOf(bytes);
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end() || job->second.sessions == 0) return false;
  const QuotaAccount& account = *job->second.account;
  if (FindRoom(account, need).chunk != nullptr || finder_.CanMake(account, need)) return true;
  return FindFor(job->second, need) < chunks_.size();
}

void ChunkStore::Release(const std::shared_ptr<Chunk>& chunk, std::uint64_t name,
                         std::optional<std::size_t> offset) {
  if (!chunk) return;
  budget_->used -= kEntryOverhead;
  const std::lock_guard lock(mutex_);
  chunk->account_->used -= kEntryOverhead;
  if (const auto owner = jobs_.find(chunk->owner()); owner != jobs_.end()) --owner->second.entries;
  --chunk->live_;
  if (chunk->given_up_) return;
  chunk->names_.Remove(name);
  if (chunk->live_ > 0) {
    if (!offset) return;
    chunk->room_.Leave(*offset);
    chunk->holes_settled_ = false;
    RoomFinder::List(*chunk);
    return;
  }
  RoomFinder::Unlist(*chunk);
  chunk->names_.Join(nullptr);
  idle_->Forget(*chunk);
  std::erase(chunks_, chunk);
}

std::optional<ChunkStore::Unsorted> ChunkStore::NoteRefusal(JobId job_id,
                                                            std::uint64_t owners_version) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end() || job->second.sessions == 0) return std::nullopt;
  QuotaAccount& account = *job->second.account;
  if (std::exchange(account.owners, owners_version) != owners_version) {
    account.refused = 0;
    account.sorted = false;
  }
  if (account.sorted) return std::nullopt;
  if (account.refused < kRefusals) {
    ++account.refused;
    return std::nullopt;
  }
  const auto chunk = std::ranges::find_if(chunks_, [&](const auto& each) {
    return each->account_.get() == &account && each->sorted_at_ != owners_version;
  });
  account.sorted = chunk == chunks_.end();
  if (account.sorted) return std::nullopt;
  (*chunk)->sorted_at_ = owners_version;
  Unsorted unsorted{.chunk = *chunk, .jobs = {}, .entries = (*chunk)->room_.List()};
  for (const auto& [id, each] : jobs_) {
    if (each.account == job->second.account && each.sessions > 0) unsorted.jobs.push_back(id);
  }
  return unsorted;
}

void ChunkStore::NoteMoved(const Chunk& chunk) {
  const std::lock_guard lock(mutex_);
  chunk.account_->refused = 0;
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
      RoomFinder::Unlist(*chunk);
      chunk->account_ = job.account;
      chunk->names_.Join(&job.account->names);
      RoomFinder::List(*chunk);
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
  std::map<JobId, JobCacheStats> of_chunks;
  for (const auto& chunk : chunks_) {
    JobCacheStats& own = of_chunks[chunk->owner()];
    own.bytes += BytesOf(*chunk);
    own.entry_bytes += LiveBytes(*chunk) + chunk->live_ * kEntryOverhead;
    own.made_in += chunk->costs_.mean() * static_cast<std::int64_t>(chunk->live_);
    chunk->names_.AddTo(own.sample);
  }
  std::vector<JobCacheStats> stats;
  for (const auto& [id, job] : jobs_) {
    if (job.sessions == 0 && job.entries == 0) continue;
    JobCacheStats& own = stats.emplace_back(std::move(of_chunks[id]));
    own.job = id;
    own.entries = job.entries;
    own.sample.Settle();
  }
  return stats;
}

}  // namespace headrace::dataworker
