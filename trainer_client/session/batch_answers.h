#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "net/reactor.h"
#include "trainer_client/session/batch_book.h"
#include "trainer_client/session/batch_sizes.h"
#include "trainer_client/session/comparisons.h"
#include "trainer_client/session/content_check.h"
#include "trainer_client/session/delivery.h"
#include "trainer_client/session/dispatcher.h"
#include "trainer_client/session/elsewhere.h"
#include "trainer_client/session/lane_states.h"
#include "trainer_client/session/slot_loans.h"
#include "trainer_client/session/state_watch.h"
#include "trainer_client/session/worker_set.h"

namespace headrace::client {

// What an answer means to the dispatcher, as far as its status says.
[[nodiscard]] Dispatcher::Answer AnswerKind(const wire::BatchDone& done);

// Brings each worker's answer to an end: it is checked, counted, compared and delivered, or its
// batch is asked for again. A wrong answer counts as a refusal. Reactor thread.
class BatchAnswers {
 public:
  // All outlive this.
  struct Parts {
    const LinkContext& context;
    const WorkerSet& workers;
    Dispatcher& dispatcher;
    Comparisons& comparisons;
    BatchBook& book;
    LaneStates& lanes;
    BatchSizes& sizes;
    SlotLoans& loans;
    ContentCheck& content;
    Elsewhere& elsewhere;
    StateWatch& watch;
    Delivery& delivery;
    const Clock& clock;
  };
  struct Events {
    // The worker's files were compared: what it may do has changed, perhaps.
    std::function<void(WorkerId)> on_checked;
    // The answer has come to its end. `knows_session`: the worker does.
    std::function<void(WorkerId, bool knows_session)> on_settled;
  };

  BatchAnswers(const Parts& parts, Events events) : parts_(parts), events_(std::move(events)) {}

  // An answer that nobody waits for is dropped.
  void OnDone(WorkerId worker, wire::BatchDone&& done, const std::vector<ByteSpan>& payload);
  // Answers whose files are being compared, and whose slots get free or ready in time.
  [[nodiscard]] bool checking() const { return checking_ > 0; }

 private:
  [[nodiscard]] Dispatcher::Answer Receive(const Loan& loan, wire::BatchDone& done,
                                           const std::vector<ByteSpan>& payload) const;
  // Settles the answer when its files have been compared with the trainer's.
  void CheckContent(Loan loan, const PlannedBatch& planned, SteadyTime arrived,
                    wire::BatchDone&& done);
  void Settle(const Loan& loan, SteadyTime arrived, Dispatcher::Answer answer,
              wire::BatchDone&& done);
  void Deliver(const Loan& loan, SteadyTime arrived, wire::BatchDone&& done);
  void Fail(std::int64_t ticket, const Status& why);

  Parts parts_;
  Events events_;
  int checking_ = 0;
};

}  // namespace headrace::client
