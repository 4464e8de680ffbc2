// The part of SessionPump that listens to workers.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "base/log.h"
#include "trainer_client/session/session_pump.h"

namespace headrace::client {
namespace {

constexpr Duration kDescribeTimeout = std::chrono::seconds(10);
// A worker that is leased again after it hung up: perhaps it only closed the session's channel.
constexpr Duration kRelinkAfter = std::chrono::seconds(2);

Dispatcher::Answer AnswerKind(const wire::BatchDone& done) {
  switch (done.status.code()) {
    case Code::kOk:
      return Dispatcher::Answer::kMade;
    case Code::kResourceExhausted:
      return done.needed_bytes > 0 ? Dispatcher::Answer::kTooSmall : Dispatcher::Answer::kRefused;
    case Code::kNotFound:
      return Dispatcher::Answer::kNoSession;
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

}  // namespace

void SessionPump::SetLeases(const std::vector<wire::WorkerInfo>& workers) {
  if (closed_) return;
  std::map<WorkerId, wire::WorkerInfo> now;
  for (wire::WorkerInfo worker : workers) {
    const WorkerId outside = worker.worker;
    worker.worker = OwnId(worker, now);
    outside_ids_[worker.worker] = outside;
    now.emplace(worker.worker, std::move(worker));
  }
  leased_ = std::move(now);
  std::erase_if(outside_ids_, [&](const auto& entry) {
    return !leased_.contains(entry.first) && !links_.contains(entry.first);
  });
  std::erase_if(ended_, [&](const auto& entry) { return !leased_.contains(entry.first); });
  std::erase_if(refused_, [&](const auto& entry) { return !leased_.contains(entry.first); });
  for (const auto& [id, worker] : leased_) {
    const auto link = links_.find(id);
    if (link == links_.end()) {
      if (!ended_.contains(id) && !refused_.contains(id)) AddLink(worker);
    } else if (link->second->state() == WorkerLink::State::kReady) {
      dispatcher_.SetWorker(id, ReadyState(id));  // was draining
    }
  }
  for (const auto& [id, link] : links_) {
    if (!leased_.contains(id) && link->state() == WorkerLink::State::kReady) {
      dispatcher_.SetWorker(id, Dispatcher::WorkerState::kDraining);
    }
  }
  RemoveEnded();
  Pump();
}

// A coordinator that was restarted knows the same process by another id, and perhaps another
// process by the same id.
WorkerId SessionPump::OwnId(const wire::WorkerInfo& worker,
                            const std::map<WorkerId, wire::WorkerInfo>& taken) const {
  for (const auto& [id, link] : links_) {
    if (SameProcess(link->worker(), worker)) return id;
  }
  for (const auto& [id, leased] : leased_) {
    if (SameProcess(leased, worker)) return id;
  }
  WorkerId id = worker.worker;
  while (links_.contains(id) || leased_.contains(id) || taken.contains(id)) ++id.value;
  return id;
}

void SessionPump::AddLink(const wire::WorkerInfo& worker) {
  if (std::ranges::any_of(withdrawn_, [&](const auto& w) { return SameProcess(w, worker); })) {
    refused_[worker.worker] = Unsupported("its batches were others than this host's");
    return;
  }
  WorkerLink::Events events;
  events.on_state = [this](WorkerId id, WorkerLink::State state) { OnLinkState(id, state); };
  events.on_message = [this](WorkerId id, net::Incoming&& incoming) {
    OnMessage(id, std::move(incoming));
  };
  events.on_loaded = [this, id = worker.worker] {
    if (Serves(id)) shared_->SetServed();
  };
  auto link = WorkerLink::Open(*reactor_, context_, worker, std::move(events));
  if (!link.ok()) {
    last_refusal_ = link.status();
    if (link.status().code() == Code::kUnsupported) {
      refused_[worker.worker] = link.status();
      return;
    }
    LogWarning("worker not reached error=\"" + link.status().ToString() + "\"");
    ended_[worker.worker] = reactor_->clock().Now();
    return;
  }
  links_.emplace(worker.worker, std::move(link).value());
}

void SessionPump::OnLinkState(WorkerId worker, WorkerLink::State state) {
  ToldState(worker, state);
  switch (state) {
    case WorkerLink::State::kReady:
      if (dispatcher_.ready_workers() == 0) served_since_ = reactor_->clock().Now();
      dispatcher_.SetWorker(worker, ReadyState(worker));
      shared_->SetTrouble(Status::Ok());
      break;
    case WorkerLink::State::kAttaching:
    case WorkerLink::State::kSuspected:
      dispatcher_.SetWorker(worker, Dispatcher::WorkerState::kSuspected);
      for (auto& [attempt, lent] : lent_) {
        if (lent.worker == worker && lent.arena) context_.arena->Quarantine(lent.slot.id);
      }
      LoseDescribes(worker);
      break;
    case WorkerLink::State::kGone:
      EndWorker(worker);
      if (const auto link = links_.find(worker);
          link != links_.end() && !link->second->refusal().ok()) {
        refused_[worker] = link->second->refusal();
      } else {
        ended_[worker] = reactor_->clock().Now();
      }
      LogInfo("worker gone worker=" + std::to_string(worker.value));
      // Not here: the link is on the stack.
      Later(&SessionPump::RemoveEnded);
      break;
  }
  // Not here: a new link is not in the table yet.
  Later(&SessionPump::Pump);
}

void SessionPump::RemoveEnded() {
  for (auto it = links_.begin(); it != links_.end();) {
    const WorkerLink& link = *it->second;
    if (!link.refusal().ok() && link.refusal() != last_refusal_) {
      last_refusal_ = link.refusal();
      // Where no other worker serves, the trainer is told, in words of its own.
      const bool told = dispatcher_.ready_workers() == 0;
      Log(told ? LogLevel::kInfo : LogLevel::kWarning,
          "worker refused worker=" + std::to_string(it->first.value) + " error=\"" +
              last_refusal_.ToString() + "\"");
    }
    const WorkerId id = it->first;
    // A drained worker that shares the arena still owes answers to what was cancelled: it may
    // write.
    const bool drained = !leased_.contains(id) && !dispatcher_.Outstanding(id) &&
                         std::ranges::none_of(lent_, [&](const auto& lent) {
                           return lent.second.worker == id && lent.second.arena;
                         });
    if (link.state() != WorkerLink::State::kGone && !drained) {
      ++it;
      continue;
    }
    EndWorker(id);
    it = links_.erase(it);
  }
  CheckWorkers();
}

// Nothing comes from this worker any more, and it writes nowhere.
void SessionPump::EndWorker(WorkerId worker) {
  dispatcher_.SetWorker(worker, Dispatcher::WorkerState::kGone);
  comparisons_.Gone(worker);
  for (auto it = lent_.begin(); it != lent_.end();) {
    if (it->second.worker != worker) {
      ++it;
      continue;
    }
    LoseLent(it->first, it->second);
    it = lent_.erase(it);
  }
  LoseDescribes(worker);
}

// The worker does not know the session any more: it answers nothing of what it was asked before.
void SessionPump::Forgotten(WorkerId worker) {
  WorkerLink& link = *links_.at(worker);
  if (link.state() == WorkerLink::State::kAttaching) return;
  link.Reattach();
  for (auto it = lent_.begin(); it != lent_.end();) {
    Lent& lent = it->second;
    if (lent.worker != worker || lent.arena) {
      if (lent.worker == worker) lent.forgotten = true;
      ++it;
      continue;
    }
    (void)dispatcher_.OnAnswer(worker, it->first, Dispatcher::Answer::kNoSession, 0,
                               reactor_->clock().Now());
    LoseLent(it->first, lent);
    it = lent_.erase(it);
  }
}

void SessionPump::OnMessage(WorkerId worker, net::Incoming&& incoming) {
  if (closed_) return;
  if (const auto* described = std::get_if<wire::Described>(&incoming.body)) {
    OnDescribed(worker, *described);
  } else if (auto* done = std::get_if<wire::BatchDone>(&incoming.body)) {
    OnBatchDone(worker, std::move(*done), incoming.payload);
  }
}

void SessionPump::OnBatchDone(WorkerId worker, wire::BatchDone&& done,
                              const std::vector<ByteSpan>& payload) {
  const auto at = lent_.find(done.attempt);
  if (done.session != context_.session || at == lent_.end() || at->second.worker != worker) {
    return;  // of a request that was given up
  }
  const SteadyTime arrived = reactor_->clock().Now();
  const Lent lent = at->second;
  lent_.erase(at);
  // Before the batch is: it may have to be made again.
  OnStateChange(worker, done.state_change);
  if (lent.shadow) {
    OnShadowDone(worker, lent, std::move(done), payload);
    return;
  }
  const auto planned = planned_.find(lent.ticket);
  Dispatcher::Answer answer = AnswerKind(done);
  if (answer == Dispatcher::Answer::kMade && planned != planned_.end()) {
    Status valid = CheckAnswer(context_.plan, planned->second.keys.size(), lent.slot.bytes, done);
    // A worker that lost the arena meanwhile sends the bytes, whatever we expected.
    if (valid.ok() && (!lent.arena || !payload.empty())) {
      valid = CopyPayload(payload, done.used_bytes, context_.arena->Memory(lent.slot));
    }
    if (!valid.ok()) {
      LogError("worker=" + std::to_string(worker.value) + " answered wrongly error=\"" +
               valid.ToString() + "\"");
      done.status = valid;
      answer = Dispatcher::Answer::kRefused;
    }
  }
  if (answer == Dispatcher::Answer::kTooSmall && done.needed_bytes > context_.arena->size()) {
    // No slot can ever hold that: a broken worker, or a batch that the trainer must make itself.
    answer = Dispatcher::Answer::kRefused;
  }
  if (answer != Dispatcher::Answer::kMade || lent.witness.empty() || planned == planned_.end()) {
    Settle(worker, lent, arrived, answer, std::move(done));
  } else {
    CheckContent(worker, lent, planned->second, arrived, std::move(done));
  }
}

void SessionPump::Settle(WorkerId worker, const Lent& lent, SteadyTime arrived,
                         Dispatcher::Answer answer, wire::BatchDone&& done) {
  const auto planned = planned_.find(lent.ticket);
  switch (dispatcher_.OnAnswer(worker, done.attempt, answer, done.needed_bytes, arrived)) {
    case Dispatcher::Verdict::kTake: {
      const std::vector<Comparison> complete = Compare(worker, lent, done);
      NoteMade(worker, lent, done);
      Deliver(worker, lent, arrived, std::move(done));
      for (const Comparison& comparison : complete) Compared(comparison);
      break;
    }
    case Dispatcher::Verdict::kGiveUp:
      context_.arena->Return(lent.slot.id);
      DeliverFailed(lent.ticket, done.status);
      break;
    case Dispatcher::Verdict::kRetry:
      if (answer == Dispatcher::Answer::kTooSmall && planned != planned_.end()) {
        bytes_per_sample_ = std::max(
            bytes_per_sample_,
            static_cast<double>(done.needed_bytes) /
                static_cast<double>(std::max<std::size_t>(planned->second.keys.size(), 1)));
      }
      context_.arena->Return(lent.slot.id);
      if (answer == Dispatcher::Answer::kNoSession) Forgotten(worker);
      break;
    case Dispatcher::Verdict::kDrop:
    case Dispatcher::Verdict::kUnknown:
      context_.arena->Return(lent.slot.id);
      break;
  }
  if (!leased_.contains(worker)) {
    Later(&SessionPump::RemoveEnded);
  }
  Pump();
}

void SessionPump::Deliver(WorkerId worker, const Lent& lent, SteadyTime arrived,
                          wire::BatchDone&& done) {
  auto node = planned_.extract(lent.ticket);
  const PlannedBatch& planned = node.mapped();
  const bool replayed = Replayed(lent.ticket);
  if (!replayed) Keep(worker, lent.ticket, planned);
  indices_.erase(lent.ticket);
  if (PythonLanes()) {
    Bytes& state = lane_states_[planned.lane] = std::move(done.lane_state);
    if (!Current(lent.ticket)) begin_states_[planned.lane] = state;
    AnswerStates();
  }
  if (replayed || !Current(lent.ticket)) {
    context_.arena->Return(lent.slot.id);
    return;
  }
  const wire::BatchCost cost = done.cost;
  const auto failures = std::move(done.failures);
  ReadyBatch ready;
  const auto keys = static_cast<std::int64_t>(planned.keys.size());
  ready.samples = done.samples >= 0 ? done.samples : keys;
  ready.batch = MakeBatch(std::move(done), context_.arena->Memory(lent.slot));
  Batch& batch = ready.batch;
  batch.samples = ready.samples;
  batch.batch = planned.batch;
  batch.lane_state = PythonLanes() ? lane_states_[planned.lane] : planned.lane_state;
  batch.worker = worker.value;
  batch.transport = lent.arena ? Transport::kShm : Transport::kTcp;
  for (const wire::SampleFailure& failure : failures) {
    MissingSample& missing = batch.missing.emplace_back();
    missing.position = failure.position;
    missing.code = failure.code;
    missing.message = failure.message;
    if (failure.size_changed) {
      planner_.SizeChanged(planned.keys[static_cast<std::size_t>(failure.position)]);
    }
  }
  AddMissing(planned.batch, batch.missing);
  if (!batch.missing.empty()) batch.keys = planned.keys;
  if (batch.bytes > 0) {
    context_.arena->MarkReady(lent.slot.id);
    ready.slot = lent.slot.id;
    if (context_.plan.has_python_stage && keys > 0) {
      bytes_per_sample_ =
          std::max(bytes_per_sample_, static_cast<double>(batch.bytes) / static_cast<double>(keys));
    }
  } else {
    context_.arena->Return(lent.slot.id);
  }
  const std::int64_t tried = context_.plan.has_python_stage
                                 ? ready.samples
                                 : keys - static_cast<std::int64_t>(planned.skip.size());
  ready.timeline = TakeTimeline(lent.ticket);
  ready.timeline.sent = lent.sent;
  ready.timeline.arrived = arrived;
  ready.timeline.worker = WorkerTimes(cost);
  shared_->ChangeStats([&](SessionStats& stats) {
    AddCost(cost, tried, stats);
    stats.hedged = dispatcher_.hedged();
    stats.rerequested = dispatcher_.rerequested();
  });
  shared_->Put(planned.batch, std::move(ready));
}

void SessionPump::Tick() {
  const SteadyTime now = reactor_->clock().Now();
  for (const auto& [id, link] : links_) link->Tick();
  for (auto it = describing_.begin(); it != describing_.end();) {
    if (now - it->second.sent < kDescribeTimeout) {
      ++it;
      continue;
    }
    planner_.DescribeLost(it->second.keys);
    it = describing_.erase(it);
  }
  std::vector<WorkerId> again;
  for (const auto& [id, since] : ended_) {
    if (now - since >= kRelinkAfter && leased_.contains(id)) again.push_back(id);
  }
  for (const WorkerId id : again) {
    if (links_.contains(id)) continue;
    ended_.erase(id);
    AddLink(leased_.at(id));
  }
  CheckWorkers();
  Pump();
}

}  // namespace headrace::client
