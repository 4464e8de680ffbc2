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

// What was lent to one attempt at a batch.
struct Loan {
  Slot slot;  // invalid id: a shadow's, which takes no memory of the arena
  WorkerId worker;
  std::int64_t ticket = 0;
  bool arena = false;  // the worker writes into the slot itself
  SteadyTime sent;
  bool forgotten = false;                  // no answer will come, but the worker may still write
  bool shadow = false;                     // an attempt of Comparisons, not of the dispatcher
  std::int32_t tail_node = 0;              // wire::BatchRequest::tail_node
  std::shared_ptr<const NamesUsed> names;  // as Batch::names; null: absent
  std::vector<std::int32_t> witness = {};  // positions whose files it bears witness of
};

// Knows which slot is lent to which attempt. If a worker writes into the arena itself, its slot
// stays lent until it has answered or hung up, whatever became of the batch. Reactor thread, except
// starved().
class SlotLoans {
 public:
  // `mailbox` outlives this.
  SlotLoans(std::shared_ptr<Arena> arena, BatchMailbox& mailbox)
      : arena_(std::move(arena)), mailbox_(mailbox) {}

  // Acquires a slot. nullopt: memory is missing; if only the trainer can help, Next says so.
  // `coming`: some answers will free their slots. `next`: it is for the batch that the trainer gets next, which
  // later ones must not keep from memory.
  [[nodiscard]] std::optional<Slot> Acquire(std::uint64_t bytes, bool coming, bool next);
  // True: a slot was missing, and the session waits for one that gets free. Any thread.
  [[nodiscard]] bool starved() const { return starved_; }
  void SetStarved(bool starved);

  void Add(std::uint32_t attempt, Loan loan) { loans_.emplace(attempt, std::move(loan)); }
  // Takes the loan of an attempt whose answer came; its slot is then the caller's. nullopt: the
  // attempt was given up, or is another worker's.
  [[nodiscard]] std::optional<Loan> Take(std::uint32_t attempt, WorkerId worker);
  // Returns the slot; does nothing for an invalid id.
  void Return(SlotId slot);
  // Lets the trainer have the slot.
  void MarkReady(SlotId slot) { arena_->MarkReady(slot); }
  [[nodiscard]] MutableByteSpan Memory(const Slot& slot) const { return arena_->Memory(slot); }

  // Whether the worker must still answer something, or something that it writes into the arena
  // itself.
  [[nodiscard]] bool Owes(WorkerId worker) const;
  [[nodiscard]] bool Writes(WorkerId worker) const;
  // Reserves the slots that the worker writes to, because it is suspected dead.
  void Quarantine(WorkerId worker);
  // Called for each attempt that gets no answer any more; its slot is free.
  using OnLost = std::function<void(std::uint32_t attempt, const Loan& loan)>;
  // Ends the loans of a worker that sends nothing and writes nowhere any more.
  void End(WorkerId worker, const OnLost& lost);
  // Gives up the attempts of a worker that answers none of them, but may still write.
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
