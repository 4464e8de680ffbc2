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
#include "trainer_client/session/wire_choice.h"
#include "trainer_client/session/worker_set.h"

namespace headrace::client {

// Returns what an answer's status means to the dispatcher.
[[nodiscard]] Dispatcher::Answer AnswerKind(const wire::BatchDone& done);

// Settles each worker's answer: checks, counts, compares and delivers it, or asks for its batch
// again. A wrong answer counts as a refusal. Reactor thread.
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
    BatchMailbox& mailbox;
    WireChoice& wire;
    const Clock& clock;
  };
  struct Events {
    // The worker's files were compared, which may have changed what it may do.
    std::function<void(WorkerId)> on_checked;
    // The answer is settled. `knows_session`: the worker knows the session.
    std::function<void(WorkerId, bool knows_session)> on_settled;
  };

  BatchAnswers(const Parts& parts, Events events) : parts_(parts), events_(std::move(events)) {}

  // Settles an answer; drops one that nobody waits for.
  void OnDone(WorkerId worker, wire::BatchDone&& done, const std::vector<ByteSpan>& payload);
  // Delivers a batch without any sample, all of which the trainer makes. Nobody is asked for it any
  // more. Does nothing for a batch that is done.
  void LeaveToTrainer(std::int64_t ticket, const Status& why);
  // Takes back a request that was not sent. True: no message holds it, so its batch is the trainer's.
  // That may be one of many thousand samples, with what was drawn for them.
  bool GivesUp(const Dispatcher::Send& unsent, const Status& why);
  // Does what LeaveToTrainer does, and says so in the log.
  void Fail(std::int64_t ticket, const Status& why);
  // Whether files of some answers are being compared. The slots of those answers get free or ready
  // later.
  [[nodiscard]] bool checking() const { return checking_ > 0; }

 private:
  [[nodiscard]] Dispatcher::Answer Receive(const Loan& loan, SteadyTime arrived,
                                           wire::BatchDone& done,
                                           const std::vector<ByteSpan>& payload) const;
  // Puts a payload into the slot, and finishes it there if the worker left the tail out.
  [[nodiscard]] Status TakePayload(const Loan& loan, SteadyTime arrived, wire::BatchDone& done,
                                   const std::vector<ByteSpan>& payload) const;
  // Lets nothing of a worker elsewhere pass that would do more in the trainer than make values.
  [[nodiscard]] Dispatcher::Answer Admit(Loan& loan, wire::BatchDone& done) const;
  // Settles the answer when its files have been compared with the trainer's.
  void CheckContent(Loan loan, const PlannedBatch& planned, SteadyTime arrived,
                    wire::BatchDone&& done);
  void Settle(const Loan& loan, SteadyTime arrived, Dispatcher::Answer answer,
              wire::BatchDone&& done);
  void Learn(std::uint64_t needed_bytes, std::size_t samples);
  void Deliver(const Loan& loan, SteadyTime arrived, wire::BatchDone&& done);

  Parts parts_;
  Events events_;
  int checking_ = 0;
};

}  // namespace headrace::client
