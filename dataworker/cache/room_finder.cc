#include "dataworker/cache/room_finder.h"

#include <algorithm>
#include <utility>

namespace headrace::dataworker {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
// How many of an account's newest chunks are searched for room at their end.
constexpr int kOpenChunks = 8;
// A smaller entry shares a chunk, where the end of a page would be much of it.
constexpr std::size_t kSharesPages = std::size_t{256} << 10;

constexpr std::size_t RoundDown(std::size_t value, std::size_t to) { return value / to * to; }

// 1/32 of the budget, so that the loss at the ends of chunks stays small.
std::size_t ChunkBytesFor(std::uint64_t budget, std::size_t largest) {
  const std::size_t wanted = std::min<std::uint64_t>(budget / 32, largest);
  if (wanted >= kHugePage) return RoundDown(wanted, kHugePage);
  return std::max(RoundDown(wanted, RoomFinder::kPage), 4 * RoomFinder::kPage);
}

}  // namespace

RoomFinder::RoomFinder(std::vector<std::shared_ptr<Chunk>>& chunks,
                       std::shared_ptr<MemoryBudget> budget, ChunkMedium medium)
    : chunks_(chunks),
      budget_(std::move(budget)),
      medium_(std::move(medium)),
      chunk_bytes_(ChunkBytesFor(budget_->limit, medium_.largest_chunk)),
      spare_(budget_) {}

std::size_t RoomFinder::NeedOf(std::size_t bytes) const {
  return RoundUp(bytes + medium_.around_entry, ChunkRoom::kUnit);
}

template <typename Visit>
void RoomFinder::EachOpen(const QuotaAccount& account, Visit visit) const {
  int visited = 0;
  for (auto it = chunks_.rbegin(); it != chunks_.rend() && visited < kOpenChunks; ++it) {
    if ((*it)->account_.get() != &account || (*it)->doomed_) continue;
    ++visited;
    visit(**it);
  }
}

RoomFinder::Found RoomFinder::FindIn(const QuotaAccount& account, std::size_t need,
                                     const std::function<bool(const Chunk&)>& held) const {
  if (Chunk* const roomy = HoleFor(account, need, held)) return {roomy, true};
  Found found;
  EachOpen(account, [&](Chunk& chunk) {
    if (found.chunk == nullptr && chunk.room_.end() >= need) found.chunk = &chunk;
  });
  return found;
}

// The smallest ones that may do are looked at.
Chunk* RoomFinder::HoleFor(const QuotaAccount& account, std::size_t need,
                           const std::function<bool(const Chunk&)>& held) {
  int searched = 0;
  for (auto at = account.roomy.lower_bound({need, 0});
       at != account.roomy.end() && searched < kOpenChunks; ++at, ++searched) {
    Chunk& chunk = *at->second;
    if (chunk.doomed_ || !held(chunk)) continue;
    if (!chunk.holes_settled_) {
      if (chunk.InUse()) continue;
      // To take a reference, and give it back, comes after all that those did who have given theirs back.
      const std::shared_ptr<Chunk> after_readers = chunk.shared_from_this();
      chunk.holes_settled_ = true;
    }
    return &chunk;
  }
  return nullptr;
}

void RoomFinder::Unlist(Chunk& chunk) {
  if (chunk.listed_as_ > 0) chunk.account_->roomy.erase({chunk.listed_as_, chunk.number_});
  chunk.listed_as_ = 0;
}

void RoomFinder::List(Chunk& chunk) {
  Unlist(chunk);
  chunk.listed_as_ = chunk.room_.largest_hole();
  if (chunk.listed_as_ > 0) chunk.account_->roomy[{chunk.listed_as_, chunk.number_}] = &chunk;
}

std::size_t RoomFinder::CuttableEnds(const QuotaAccount& account) const {
  std::size_t ends = 0;
  if (!medium_.overwrites) return 0;
  EachOpen(account, [&](const Chunk& chunk) { ends += chunk.room_.CuttableEnd(); });
  return ends;
}

void RoomFinder::CutEnd(Chunk& chunk) const {
  const std::size_t cut = medium_.overwrites ? chunk.room_.CutEnd() : 0;
  if (cut == 0) return;
  chunk.body_->Cut(chunk.room_.size());
  budget_->used -= cut;
  chunk.account_->used -= cut;
}

std::size_t RoomFinder::NewChunkBytes(const QuotaAccount& account, std::size_t need,
                                      std::size_t cut) const {
  const std::uint64_t free = std::min(budget_->free(), account.free()) + cut;
  if (free < kEntryOverhead) return 0;
  const std::size_t room = RoundDown(free - kEntryOverhead, kPage);
  const std::size_t smallest = RoundUp(need, kPage);
  if (room < smallest) return 0;
  // The last chunk takes what is left of the budget.
  if (need <= chunk_bytes_ / 2) return std::min(chunk_bytes_, room);
  // A large entry gets a chunk of its own. A few smaller ones share the ends of pages.
  const bool shares = medium_.overwrites && need < kSharesPages;
  return shares ? std::min(RoundUp(4 * need, kPage), room) : smallest;
}

bool RoomFinder::CanMake(const QuotaAccount& account, std::size_t need) const {
  return NewChunkBytes(account, need, CuttableEnds(account)) > 0;
}

std::shared_ptr<Chunk> RoomFinder::Make(JobId owner, const std::shared_ptr<QuotaAccount>& account,
                                        std::size_t need) {
  std::size_t size = NewChunkBytes(*account, need, 0);
  if (size == 0) {
    EachOpen(*account, [this](Chunk& chunk) { CutEnd(chunk); });
    size = NewChunkBytes(*account, need, 0);
  }
  if (size == 0 || !spare_.Reclaim(size + kEntryOverhead)) return nullptr;
  std::shared_ptr<ChunkBody> body = medium_.make_body(size);
  if (!body) return nullptr;
  // The one that is searched no longer.
  int open = 0;
  Chunk* last = nullptr;
  EachOpen(*account, [&](Chunk& chunk) {
    ++open;
    last = &chunk;
  });
  if (open == kOpenChunks) CutEnd(*last);
  chunks_.push_back(
      std::make_shared<Chunk>(budget_, account, owner, size, NextNumber(), std::move(body)));
  chunks_.back()->names_.Join(&account->names);
  return chunks_.back();
}

}  // namespace headrace::dataworker
