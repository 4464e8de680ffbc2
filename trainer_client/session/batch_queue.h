#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "trainer_client/draws/draw_planner.h"
#include "trainer_client/session/batch_book.h"
#include "trainer_client/session/batch_mailbox.h"
#include "trainer_client/session/batch_sizes.h"
#include "trainer_client/session/comparisons.h"
#include "trainer_client/session/dispatcher.h"
#include "trainer_client/session/lane_history.h"
#include "trainer_client/session/lane_states.h"
#include "trainer_client/session/slot_loans.h"

namespace headrace::client {

// Brings planned batches to the dispatcher, and brings those back there that have to be made again.
// What the trainer has taken stays taken. No I/O, no clock, no errors. Reactor thread.
class BatchQueue {
 public:
  // All outlive the queue.
  struct Parts {
    BatchBook& book;
    LaneStates& lanes;
    DrawPlanner& planner;
    Dispatcher& dispatcher;
    Comparisons& comparisons;
    BatchMailbox& mailbox;
    SlotLoans& loans;
    const BatchSizes& sizes;
  };

  // `states_travel`: a lane's batch begins where the one before has left its generators.
  BatchQueue(const Parts& parts, bool states_travel)
      : parts_(parts), states_travel_(states_travel) {}

  // The next batch that is planned now: its ticket. `served`: since when there is a worker.
  std::optional<std::int64_t> TakePlanned(SteadyTime served, SteadyTime now);
  // Notes what the trainer has taken meanwhile.
  void CloseDelivered();
  // Drops what is ready. The next batch is `first` of the iteration that the book is in.
  void Restart(std::int64_t first);
  // Batches of iterations before the book's are made no more.
  void CancelEarlier();
  // These batches of the iteration are planned anew.
  void Replan(std::span<const std::int64_t> batches);
  // What the worker made and the trainer has not taken. With it goes what others made of the same
  // lanes after it: they went on from the states that it gave.
  void MakeAgain(WorkerId worker);
  // All of the lane's batches, from the first one on, by its process as it was then. Returns the
  // tickets of those that the trainer has taken.
  [[nodiscard]] std::vector<std::int64_t> ReplayLane(std::int32_t lane,
                                                     const LaneHistory::Lane& history);

 private:
  void Add(std::int64_t ticket, const PlannedBatch& planned);
  // Answers to what was asked before are dropped.
  void Remove(std::int64_t ticket);
  // False: the trainer has taken it just now.
  bool TakeBack(std::int64_t ticket);

  Parts parts_;
  bool states_travel_;
};

}  // namespace headrace::client
