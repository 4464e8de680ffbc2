#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "trainer_client/session/arena.h"
#include "trainer_client/session/batch_mailbox.h"

namespace headrace::client {

// What an attempt at a batch was given.
struct Loan {
  Slot slot;  // invalid id: a shadow's, which takes no memory of the arena
  WorkerId worker;
  std::int64_t ticket = 0;
  bool arena = false;  // the worker writes into the slot itself
  SteadyTime sent;
  bool forgotten = false;                  // no answer will come, but the worker may still write
  bool shadow = false;                     // of Comparisons, not of the dispatcher
  std::vector<std::int32_t> witness = {};  // positions whose files it bears witness of
};

// Which slot is lent to which attempt. Where a worker writes into the arena itself, its slot stays
// lent until it has answered or hung up, whatever became of the batch. Reactor thread, but
// starved().
class SlotLoans {
 public:
  // `mailbox` outlives this.
  SlotLoans(std::shared_ptr<Arena> arena, BatchMailbox& mailbox)
      : arena_(std::move(arena)), mailbox_(mailbox) {}

  // Nothing: memory is missing, and where only the trainer can help Next says so. `coming`: there
  // are answers that free their slots in time.
  [[nodiscard]] std::optional<Slot> Acquire(std::uint64_t bytes, bool coming);
  // A slot was missing: one that gets free is waited for. Any thread.
  [[nodiscard]] bool starved() const { return starved_; }
  void SetStarved(bool starved);

  void Add(std::uint32_t attempt, Loan loan) { loans_.emplace(attempt, std::move(loan)); }
  // The attempt's answer came, and its slot is the caller's. Nothing: it was given up, or is
  // another worker's.
  [[nodiscard]] std::optional<Loan> Take(std::uint32_t attempt, WorkerId worker);
  // No valid id: nothing to return.
  void Return(SlotId slot);
  // The trainer may have it now.
  void MarkReady(SlotId slot) { arena_->MarkReady(slot); }
  [[nodiscard]] MutableByteSpan Memory(const Slot& slot) const { return arena_->Memory(slot); }

  // The worker has still to answer something, or to answer where it writes itself.
  [[nodiscard]] bool Owes(WorkerId worker) const;
  [[nodiscard]] bool Writes(WorkerId worker) const;
  // The worker is suspected dead: where it writes, nobody else may.
  void Quarantine(WorkerId worker);
  // Called for each attempt that no answer will come of; its slot is free.
  using OnLost = std::function<void(std::uint32_t attempt, const Loan& loan)>;
  // Nothing comes from the worker any more, and it writes nowhere.
  void End(WorkerId worker, const OnLost& lost);
  // The worker answers nothing of what it was asked before, but may still write.
  void Forget(WorkerId worker, const OnLost& lost);

 private:
  template <typename Predicate>
  void LoseIf(Predicate is_lost, const OnLost& lost);

  std::shared_ptr<Arena> arena_;
  BatchMailbox& mailbox_;
  std::unordered_map<std::uint32_t, Loan> loans_;  // by attempt
  std::atomic<bool> starved_{false};
};

}  // namespace headrace::client
