#include "trainer_client/session/batch_answers.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "schemas/wire/host_identity.h"
#include "trainer_client/session/batch_result.h"
#include "trainer_client/session/finish_payload.h"

namespace headrace::client {

namespace {

// Older workers tell no detail.
bool IsTooSmall(const wire::BatchDone& done) {
  const Detail detail = done.status.detail();
  return done.needed_bytes > 0 && (detail == Detail::kSlotTooSmall || detail == Detail::kNone);
}

}  // namespace

Dispatcher::Answer AnswerKind(const wire::BatchDone& done) {
  switch (done.status.code()) {
    case Code::kOk:
      return Dispatcher::Answer::kMade;
    case Code::kResourceExhausted:
      return IsTooSmall(done) ? Dispatcher::Answer::kTooSmall : Dispatcher::Answer::kRefused;
    case Code::kNotFound:
      return IsNoSession(done.status) ? Dispatcher::Answer::kNoSession
                                      : Dispatcher::Answer::kRefused;
    case Code::kCancelled:
      return Dispatcher::Answer::kCancelled;
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
    case Code::kDataLoss:
    case Code::kInternal:
    case Code::kUnknown:
      return Dispatcher::Answer::kRefused;
    case Code::kInvalidArgument:
    case Code::kInfeasible:
    case Code::kUnsupported:
    case Code::kOtherRelease:
      return Dispatcher::Answer::kFailed;
  }
  return Dispatcher::Answer::kRefused;
}

void BatchAnswers::OnDone(WorkerId worker, wire::BatchDone&& done,
                          const std::vector<ByteSpan>& payload) {
  if (done.session != parts_.context.session) return;
  std::optional<Loan> loan = parts_.loans.Take(done.attempt, worker);
  if (!loan) return;  // of a request that was given up
  const SteadyTime arrived = parts_.clock.Now();
  // Before the batch is settled, because it may have to be made again.
  parts_.watch.OnStateChange(worker, done.state_change);
  if (loan->shadow) {
    const bool knows_session = !IsNoSession(done.status);
    parts_.elsewhere.OnShadow(*loan, std::move(done), payload);
    events_.on_settled(worker, knows_session);
    return;
  }
  Dispatcher::Answer answer = Receive(*loan, arrived, done, payload);
  // Of a batch that nobody wants any more, Receive has checked nothing, and nothing is used.
  if (answer == Dispatcher::Answer::kMade && parts_.book.Find(loan->ticket) != nullptr) {
    answer = Admit(*loan, done);
  }
  const PlannedBatch* planned = parts_.book.Find(loan->ticket);
  if (answer != Dispatcher::Answer::kMade || loan->witness.empty() || planned == nullptr) {
    Settle(*loan, arrived, answer, std::move(done));
  } else {
    CheckContent(*std::move(loan), *planned, arrived, std::move(done));
  }
}

Status BatchAnswers::TakePayload(const Loan& loan, SteadyTime arrived, wire::BatchDone& done,
                                 const std::vector<ByteSpan>& payload) const {
  if (done.tail_node != 0 && done.tail_node != loan.tail_node) {
    return DataLoss("a batch without its tail, for which nobody asked");
  }
  const std::uint64_t bytes = done.used_bytes;  // of the payload
  const bool finishes = done.tail_node != 0;
  const MutableByteSpan slot = parts_.loans.Memory(loan.slot);
  HR_RETURN_IF_ERROR(
      finishes ? FinishPayload(parts_.context.plan, *parts_.wire.finisher(), payload, slot, done)
               : CopyPayload(payload, bytes, slot));
  const Duration spent = parts_.clock.Now() - arrived;
  const auto wall = std::chrono::nanoseconds(std::min<std::uint64_t>(
      done.cost.wall_ns, static_cast<std::uint64_t>((arrived - loan.sent).count())));
  parts_.wire.Came(loan.worker, bytes, arrived - loan.sent - wall);
  if (finishes) parts_.wire.Finished(bytes, spent);
  parts_.mailbox.ChangeStats([&](SessionStats& stats) {
    stats.received_bytes += bytes;
    if (!finishes) return;
    ++stats.finished_batches;
    stats.finish_ns += static_cast<std::uint64_t>(spent.count());
  });
  return Status::Ok();
}

Dispatcher::Answer BatchAnswers::Receive(const Loan& loan, SteadyTime arrived,
                                         wire::BatchDone& done,
                                         const std::vector<ByteSpan>& payload) const {
  const Dispatcher::Answer answer = AnswerKind(done);
  const PlannedBatch* planned = parts_.book.Find(loan.ticket);
  if (answer == Dispatcher::Answer::kMade && planned != nullptr) {
    const std::size_t samples = planned->keys.size();
    Status valid = CheckAnswer(parts_.context.plan, parts_.context.ranks, samples,
                               samples - planned->skip.size(), loan.slot.bytes, done);
    // A worker that lost the arena meanwhile sends the bytes, whatever we expected.
    if (valid.ok() && (!loan.arena || !payload.empty() || done.tail_node != 0)) {
      valid = TakePayload(loan, arrived, done, payload);
    }
    if (!valid.ok()) {
      LogError("worker=" + std::to_string(loan.worker.value) + " answered wrongly error=\"" +
               valid.ToString() + "\"");
      done.status = valid;
      return Dispatcher::Answer::kRefused;
    }
  }
  if (answer == Dispatcher::Answer::kTooSmall && done.needed_bytes > parts_.context.arena->size()) {
    // No slot can hold that: the worker is broken, or the trainer must make the batch itself.
    return Dispatcher::Answer::kRefused;
  }
  return answer;
}

Dispatcher::Answer BatchAnswers::Admit(Loan& loan, wire::BatchDone& done) const {
  switch (parts_.elsewhere.Admit(loan, done)) {
    case Elsewhere::Admission::kTake:
      return Dispatcher::Answer::kMade;
    case Elsewhere::Admission::kMakeHere:
      return Dispatcher::Answer::kCancelled;
    case Elsewhere::Admission::kRefuse:
      break;
  }
  return parts_.elsewhere.compares() ? Dispatcher::Answer::kRefused : Dispatcher::Answer::kFailed;
}

void BatchAnswers::CheckContent(Loan loan, const PlannedBatch& planned, SteadyTime arrived,
                                wire::BatchDone&& done) {
  ContentCheck::Question question;
  question.worker = loan.worker;
  if (const WorkerLink* link = parts_.workers.Find(loan.worker)) {
    const wire::WorkerInfo& info = link->worker();
    question.where = "worker " + std::to_string(parts_.workers.Outside(loan.worker).value) +
                     " on " + info.host.hostname;
    question.same_host = wire::SameHost(info.host, parts_.context.host);
  }
  question.keys = planned.keys;
  question.positions = loan.witness;
  question.failures = done.failures;
  question.witnesses = std::move(done.witnesses);
  ++checking_;
  auto kept = std::make_shared<wire::BatchDone>(std::move(done));
  parts_.content.Check(std::move(question), [this, loan = std::move(loan), arrived,
                                             kept](std::vector<wire::SampleFailure> differ) {
    --checking_;
    if (!differ.empty()) events_.on_checked(loan.worker);
    kept->failures.insert(kept->failures.end(), differ.begin(), differ.end());
    Settle(loan, arrived, Dispatcher::Answer::kMade, std::move(*kept));
  });
}

void BatchAnswers::Settle(const Loan& loan, SteadyTime arrived, Dispatcher::Answer answer,
                          wire::BatchDone&& done) {
  switch (
      parts_.dispatcher.OnAnswer(loan.worker, done.attempt, answer, done.needed_bytes, arrived)) {
    case Dispatcher::Verdict::kTake: {
      const std::vector<Comparison> complete = parts_.elsewhere.OnMade(loan, done);
      parts_.watch.Made(loan.worker, loan.ticket, done,
                        parts_.loans.Memory(loan.slot).first(done.used_bytes));
      Deliver(loan, arrived, std::move(done));
      for (const Comparison& comparison : complete) parts_.elsewhere.Compared(comparison);
      break;
    }
    case Dispatcher::Verdict::kGiveUp:
      parts_.loans.Return(loan.slot.id);
      Fail(loan.ticket, done.status);
      break;
    case Dispatcher::Verdict::kRetry:
      if (const PlannedBatch* planned = parts_.book.Find(loan.ticket);
          answer == Dispatcher::Answer::kTooSmall && planned != nullptr) {
        Learn(done.needed_bytes, planned->keys.size());
      }
      parts_.loans.Return(loan.slot.id);
      break;
    case Dispatcher::Verdict::kDrop:
    case Dispatcher::Verdict::kUnknown:
      parts_.loans.Return(loan.slot.id);
      break;
  }
  // Whatever becomes of the batch: a worker that knows no session answers no earlier request.
  events_.on_settled(loan.worker, answer != Dispatcher::Answer::kNoSession);
}

// Those that wait already were planned with what was known before.
void BatchAnswers::Learn(std::uint64_t needed_bytes, std::size_t samples) {
  parts_.sizes.Learn(needed_bytes, std::max<std::size_t>(samples, 1));
  for (const std::int64_t ticket : parts_.book.Pending()) {
    parts_.dispatcher.Enlarge(ticket, parts_.sizes.Estimate(*parts_.book.Find(ticket)));
  }
}

void BatchAnswers::Deliver(const Loan& loan, SteadyTime arrived, wire::BatchDone&& done) {
  const std::int32_t lane = parts_.book.Find(loan.ticket)->lane;
  const bool replayed = parts_.watch.Replayed(loan.ticket);
  if (!replayed && parts_.elsewhere.compares()) {
    parts_.book.Keep(loan.ticket, loan.worker, parts_.lanes.state(lane));
  }
  const PlannedBatch planned = *parts_.book.Done(loan.ticket);
  const bool current = parts_.book.Current(loan.ticket);
  const Bytes* lane_state = &planned.lane_state;
  if (HasPythonLanes(parts_.context.plan)) {
    lane_state = &parts_.lanes.Made(lane, std::move(done.lane_state), !current);
    parts_.lanes.Answer(parts_.book.nothing_pending(), parts_.book.nothing_earlier());
  }
  if (replayed || !current) {
    parts_.loans.Return(loan.slot.id);
  } else {
    parts_.delivery.Made(planned, *lane_state, loan, arrived, std::move(done));
  }
}

void BatchAnswers::Fail(std::int64_t ticket, const Status& why) {
  if (parts_.book.Current(ticket) && !parts_.watch.Replayed(ticket)) {
    // If the code runs in the trainer's own processes, the trainer knows what became of them.
    Log(parts_.context.gives_lanes ? LogLevel::kInfo : LogLevel::kWarning,
        "batch=" + std::to_string(BatchBook::BatchOf(ticket)) + " is left to the trainer error=\"" +
            why.ToString() + "\"");
  }
  LeaveToTrainer(ticket, why);
}

bool BatchAnswers::GivesUp(const Dispatcher::Send& unsent, const Status& why) {
  parts_.dispatcher.Unsent(unsent.attempt);
  if (why.code() != Code::kInvalidArgument) return false;
  parts_.dispatcher.Remove(unsent.ticket);
  Fail(unsent.ticket, why);
  return true;
}

void BatchAnswers::LeaveToTrainer(std::int64_t ticket, const Status& why) {
  const std::optional<PlannedBatch> planned = parts_.book.Done(ticket);
  parts_.comparisons.LoseBatch(ticket);
  parts_.lanes.Answer(parts_.book.nothing_pending(), parts_.book.nothing_earlier());
  parts_.watch.Failed(ticket);
  if (parts_.watch.Replayed(ticket) || !planned || !parts_.book.Current(ticket)) return;
  parts_.delivery.Failed(ticket, *planned, why);
}

}  // namespace headrace::client
