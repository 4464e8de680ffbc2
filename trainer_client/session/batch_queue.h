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

// Brings planned batches to the dispatcher, and returns to it those that must be made again. What
// the trainer has taken stays taken. No I/O, no clock, no errors. Reactor thread.
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

  // `states_travel`: a lane's batch begins with the generators that the one before has left.
  BatchQueue(const Parts& parts, bool states_travel)
      : parts_(parts), states_travel_(states_travel) {}

  // Returns the ticket of the next batch that is planned now. `served`: since when there is a
  // worker.
  std::optional<std::int64_t> TakePlanned(SteadyTime served, SteadyTime now);
  // Notes what the trainer has taken meanwhile.
  void CloseDelivered();
  // Drops the ready batches. The next batch is `first` of the book's iteration.
  void Restart(std::int64_t first);
  // Cancels the batches of iterations before the book's.
  void CancelEarlier();
  // Plans these batches of the iteration again.
  void Replan(std::span<const std::int64_t> batches);
  // Queues again what the worker made and the trainer has not taken. Later batches of the same
  // lanes by other workers go with it: they began with the states that this worker gave.
  void MakeAgain(WorkerId worker);
  struct Replayed {
    std::vector<std::int64_t>
        taken;                // tickets of those that the trainer has taken, made here or not
    std::int64_t waited = 0;  // that were made, and that it has not taken
  };
  // Queues all of the lane's batches again, from the first one on, with its process as it was then.
  [[nodiscard]] Replayed ReplayLane(std::int32_t lane, const LaneHistory::Lane& history);

 private:
  void Add(std::int64_t ticket, const PlannedBatch& planned);
  // Removes the batch, and so drops answers to earlier requests for it.
  void Remove(std::int64_t ticket);
  // Takes the batch back from the trainer. False: the trainer has taken it just now.
  bool TakeBack(std::int64_t ticket);

  Parts parts_;
  bool states_travel_;
};

}  // namespace headrace::client
