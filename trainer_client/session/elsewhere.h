#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "trainer_client/session/answer_names.h"
#include "trainer_client/session/batch_book.h"
#include "trainer_client/session/batch_mailbox.h"
#include "trainer_client/session/batch_queue.h"
#include "trainer_client/session/comparisons.h"
#include "trainer_client/session/slot_loans.h"
#include "trainer_client/session/worker_set.h"

namespace headrace::client {

// Makes workers elsewhere show what they make before they serve, and takes back what was wrong
// (docs/adr/0028-elsewhere.md). If two versions of a batch differ in bytes, the trainer judges
// whether they are equal. Until then the worker serves nothing new. Reactor thread.
class Elsewhere {
 public:
  // All outlive this.
  struct Parts {
    const Plan& plan;
    WorkerSet& workers;
    BatchBook& book;
    BatchQueue& queue;
    Comparisons& comparisons;
    BatchMailbox& mailbox;
    SlotLoans& loans;
  };
  // What becomes of an answer.
  enum class Admission : std::uint8_t {
    kTake,
    kMakeHere,  // its batch is made again on this host
    kRefuse,    // the worker is withdrawn, or nobody else can make the batch
  };
  // Called when what this worker may do has perhaps changed, also inside the calls here.
  using OnChange = std::function<void(WorkerId)>;

  // `compares`: workers elsewhere may run the plan's code, once they have shown what they make.
  Elsewhere(bool compares, const Parts& parts, AnswerNames names, OnChange on_change)
      : compares_(compares),
        parts_(parts),
        names_(std::move(names)),
        on_change_(std::move(on_change)) {}

  [[nodiscard]] bool compares() const { return compares_; }
  // Whether what the worker makes may go to the trainer.
  [[nodiscard]] bool MayServe(WorkerId worker) const;
  void OnState(WorkerId worker, WorkerLink::State state);

  // Looks at the names in a batch of a Python plan before anything of it is used, and notes them in the
  // loan. Names that are not known yet put the worker on trial again. What is never allowed withdraws
  // it, and what it made and the trainer has not taken is made again. Otherwise than kTake, `done` says
  // why in its status.
  [[nodiscard]] Admission Admit(Loan& loan, wire::BatchDone& done);
  void LearnNames(ByteSpan pickle) { names_.Learn(pickle); }
  // Takes the trainer's batch before it is delivered. Returns the comparisons that are complete
  // with it.
  [[nodiscard]] std::vector<Comparison> OnMade(const Loan& loan, const wire::BatchDone& done);
  // Takes the answer to a request for a shadow. Its slot is free afterwards.
  void OnShadow(const Loan& loan, wire::BatchDone&& done, const std::vector<ByteSpan>& payload);
  // Settles the comparison, or asks the trainer.
  void Compared(const Comparison& comparison);
  // Notes the trainer's verdict on a suspicion, and returns what becomes of the worker.
  // kInvalidArgument: no such suspicion.
  Result<Withdrawal> Judge(std::uint64_t suspicion, bool equal);
  // The number of verdicts still to come on batches that the trainer has or gets.
  [[nodiscard]] std::int64_t Undecided() const;

 private:
  void Settle(WorkerId tried, bool equal);
  // Whether a process of the trainer, on this host, has made what the worker sends. The kernel says so:
  // the worker took the lanes over a Unix socket (SO_PEERCRED).
  [[nodiscard]] bool MadeHere(WorkerId worker) const;
  [[nodiscard]] bool AllMadeHere() const;
  void Learn(WorkerId worker, const wire::BatchDone& done, ByteSpan memory);
  // Returns why the worker gets nothing any more.
  Status Withdraw(WorkerId worker, const Status& found);
  void TakeNothingOf(WorkerId worker, const Status& why);

  const bool compares_;
  Parts parts_;
  AnswerNames names_;
  OnChange on_change_;
  std::map<std::uint64_t, Comparison> suspicions_;  // not judged yet
  std::uint64_t next_suspicion_ = 0;
};

}  // namespace headrace::client
