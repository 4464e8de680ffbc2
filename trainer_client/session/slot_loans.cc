#include "trainer_client/session/slot_loans.h"

#include <algorithm>
#include <utility>

namespace headrace::client {

std::optional<Slot> SlotLoans::Acquire(std::uint64_t bytes, bool coming, bool next) {
  for (;;) {
    const std::uint64_t frees = arena_->frees();
    Result<Slot> slot = arena_->Acquire(bytes);
    if (slot.ok()) return *slot;
    starved_ = true;  // after this, a slot that gets free pumps
    // Others in flight, or a batch that the trainer may take, free slots in time.
    const bool others =
        std::ranges::any_of(loans_, [](const auto& entry) { return !entry.second.forgotten; });
    if (others || coming || mailbox_.HasNext() || !next) return std::nullopt;
    // Later batches that wait for this one free none; otherwise only the trainer can help.
    if (arena_->counts().ready > 0) slot = arena_->Acquire(bytes, true);
    if (slot.ok()) return *slot;
    const auto mended = [&] { return arena_->frees() != frees; };
    if (mailbox_.SetMemoryTrouble(slot.status(), mended)) return std::nullopt;
  }
}

void SlotLoans::SetStarved(bool starved) {
  if (starved_ && !starved) mailbox_.SetTrouble(Status::Ok());
  starved_ = starved;
}

std::optional<Loan> SlotLoans::Take(std::uint32_t attempt, WorkerId worker) {
  const auto at = loans_.find(attempt);
  if (at == loans_.end() || at->second.worker != worker) return std::nullopt;
  std::optional<Loan> loan = std::move(at->second);
  loans_.erase(at);
  return loan;
}

void SlotLoans::Return(SlotId slot) {
  if (slot.valid()) arena_->Return(slot);
}

bool SlotLoans::Owes(WorkerId worker) const {
  return std::ranges::any_of(loans_,
                             [&](const auto& entry) { return entry.second.worker == worker; });
}

bool SlotLoans::Writes(WorkerId worker) const {
  return std::ranges::any_of(loans_, [&](const auto& entry) {
    return entry.second.worker == worker && entry.second.arena;
  });
}

void SlotLoans::Quarantine(WorkerId worker) {
  for (const auto& [attempt, loan] : loans_) {
    if (loan.worker == worker && loan.arena) arena_->Quarantine(loan.slot.id);
  }
}

template <typename Predicate>
void SlotLoans::LoseIf(Predicate is_lost, const OnLost& lost) {
  for (auto it = loans_.begin(); it != loans_.end();) {
    if (!is_lost(it->second)) {
      ++it;
      continue;
    }
    Return(it->second.slot.id);
    lost(it->first, it->second);
    it = loans_.erase(it);
  }
}

void SlotLoans::End(WorkerId worker, const OnLost& lost) {
  LoseIf([&](const Loan& loan) { return loan.worker == worker; }, lost);
}

void SlotLoans::Forget(WorkerId worker, const OnLost& lost) {
  LoseIf(
      [&](Loan& loan) {
        if (loan.worker != worker) return false;
        loan.forgotten = loan.forgotten || loan.arena;
        return !loan.arena;
      },
      lost);
}

}  // namespace headrace::client
