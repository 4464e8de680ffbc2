#pragma once

#include <cstdint>

#include "base/clock.h"
#include "trainer_client/session/batch_book.h"
#include "trainer_client/session/comparisons.h"
#include "trainer_client/session/content_check.h"
#include "trainer_client/session/dispatcher.h"
#include "trainer_client/session/lane_states.h"
#include "trainer_client/session/slot_loans.h"
#include "trainer_client/session/state_watch.h"
#include "trainer_client/session/wire_choice.h"
#include "trainer_client/session/worker_set.h"

namespace headrace::client {

// Asks workers for the batches that the dispatcher chose for them, and for shadows of those. It
// drops a shadow that it cannot ask for. Reactor thread.
class BatchRequests {
 public:
  // All outlive this.
  struct Parts {
    const LinkContext& context;
    const WorkerSet& workers;
    const BatchBook& book;
    const LaneStates& lanes;
    SlotLoans& loans;
    Comparisons& comparisons;
    ContentCheck& content;
    StateWatch& watch;
    const WireChoice& wire;
    const Clock& clock;
  };

  explicit BatchRequests(const Parts& parts) : parts_(parts) {}

  void Begin(std::uint64_t base_seed) { base_seed_ = base_seed; }
  // Sends one request. kResourceExhausted: there is no slot. kInvalidArgument: the request is larger
  // than a message may be. Others: the worker's queue is full, or it is gone. `coming`, `next`: as in
  // SlotLoans::Acquire.
  [[nodiscard]] Status Send(const Dispatcher::Send& send, bool coming, bool next);

 private:
  [[nodiscard]] wire::BatchRequest Make(const PlannedBatch& planned, const Dispatcher::Send& send,
                                        const Slot& slot) const;
  void SendShadow(const Dispatcher::Send& send, const Comparisons::Ask& ask);

  Parts parts_;
  std::uint64_t base_seed_ = 0;
};

}  // namespace headrace::client
