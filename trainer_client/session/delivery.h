#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "schemas/wire/data.h"
#include "trainer_client/draws/draw_planner.h"
#include "trainer_client/session/batch_book.h"
#include "trainer_client/session/batch_mailbox.h"
#include "trainer_client/session/batch_sizes.h"
#include "trainer_client/session/dispatcher.h"
#include "trainer_client/session/slot_loans.h"

namespace headrace::client {

// Hands batches to the trainer: those that a worker made, and those that only the trainer can make.
// Each batch names its missing samples, and what the trainer needs to make them. No errors. Reactor
// thread.
class Delivery {
 public:
  // All outlive this.
  struct Parts {
    const Plan& plan;
    BatchBook& book;
    DrawPlanner& planner;
    const Dispatcher& dispatcher;
    BatchMailbox& mailbox;
    BatchSizes& sizes;
    SlotLoans& loans;
    const Clock& clock;
    bool tell_draws = false;  // SessionOptions'
  };

  explicit Delivery(const Parts& parts) : parts_(parts) {}

  // Delivers a batch that a worker made. `lane_state`: its lane's state after it. The loan's slot
  // is then the trainer's, or free. REQUIRES of `done`: CheckAnswer was ok.
  void Made(const PlannedBatch& planned, const Bytes& lane_state, const Loan& loan,
            SteadyTime arrived, wire::BatchDone&& done);
  void Failed(std::int64_t ticket, const PlannedBatch& planned, const Status& why);

 private:
  // Adds the keys and what was drawn.
  void AddDrawn(const PlannedBatch& planned, Batch& batch) const;
  void AddMissing(std::int64_t batch, std::vector<MissingSample>& missing) const;

  Parts parts_;
};

}  // namespace headrace::client
