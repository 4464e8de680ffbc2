// The part of SessionPump that has workers elsewhere show what they make
// (docs/adr/0028-elsewhere.md).
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/log.h"
#include "trainer_client/session/session_pump.h"

namespace headrace::client {
namespace {

Batch BatchOfVersion(const std::shared_ptr<Version>& version) {
  Batch batch = MakeBatch(wire::BatchDone(version->done), version->memory);
  batch.samples = version->done.samples;
  batch.lane_state = version->done.lane_state;
  batch.hold = version;
  return batch;
}

}  // namespace

// Whether a worker that has the plan is one that makes batches at once.
bool SessionPump::Serves(WorkerId worker) const {
  if (!compares_) return true;
  const auto link = links_.find(worker);
  return link != links_.end() && link->second->given_lanes();
}

Dispatcher::WorkerState SessionPump::ReadyState(WorkerId worker) const {
  if (!leased_.contains(worker) || LeftAside(worker)) return Dispatcher::WorkerState::kDraining;
  if (!compares_) return Dispatcher::WorkerState::kReady;
  const bool suspected = std::ranges::any_of(
      suspicions_, [&](const auto& entry) { return entry.second.tried == worker; });
  return comparisons_.trials().may_serve(worker) && !suspected ? Dispatcher::WorkerState::kReady
                                                               : Dispatcher::WorkerState::kOnTrial;
}

// Whether it can't be told what the worker makes, since there was never a reference.
bool SessionPump::Unproved(WorkerId worker) const {
  return compares_ && !had_reference_ && links_.contains(worker) && !Serves(worker);
}

void SessionPump::ToldState(WorkerId worker, WorkerLink::State state) {
  const auto link = links_.find(worker);
  if (state == WorkerLink::State::kReady && link != links_.end() && link->second->given_lanes()) {
    had_reference_ = true;
  }
  if (!compares_) return;
  if (stays_ && state == WorkerLink::State::kReady && !Serves(worker)) {
    Later(&SessionPump::LeaveElsewhere);  // not here: the link is on the stack
  }
  if (state == WorkerLink::State::kReady) {
    comparisons_.Ready(worker, Serves(worker));
  } else {
    comparisons_.Away(worker);
  }
}

void SessionPump::SendShadows(const Dispatcher::Send& send) {
  if (!compares_ || stays_) return;
  for (const Comparisons::Ask& ask : comparisons_.OnSent(send.worker, send.ticket)) {
    const auto link = links_.find(ask.maker);
    Slot slot{.bytes = send.slot_bytes};
    bool sent = link != links_.end();
    if (sent && link->second->uses_arena()) {
      const Result<Slot> free = context_.arena->Acquire(send.slot_bytes);
      sent = free.ok();
      if (sent) slot = *free;
    }
    Dispatcher::Send shadow = send;
    shadow.worker = ask.maker;
    shadow.attempt = ask.attempt;
    sent = sent && link->second->Send(MakeRequest(planned_.at(send.ticket), shadow, slot)).ok();
    const Lent lent{.slot = slot,
                    .worker = ask.maker,
                    .ticket = send.ticket,
                    .arena = slot.id.valid(),
                    .sent = reactor_->clock().Now(),
                    .shadow = true};
    if (sent) {
      NoteAsked(ask.maker, send.ticket);
      lent_.emplace(ask.attempt, lent);
    } else {
      LoseLent(ask.attempt, lent);
    }
  }
}

// The worker answers this no more, and does not write there.
void SessionPump::LoseLent(std::uint32_t attempt, const Lent& lent) {
  if (lent.slot.id.valid()) context_.arena->Return(lent.slot.id);
  if (lent.shadow) comparisons_.LoseShadow(attempt);
}

void SessionPump::OnShadowDone(WorkerId worker, const Lent& lent, wire::BatchDone&& done,
                               const std::vector<ByteSpan>& payload) {
  const std::uint32_t attempt = done.attempt;
  const bool no_session = done.status.code() == Code::kNotFound;
  auto version = std::make_shared<Version>();
  Status valid = done.status;
  // Of a shadow no sample is missing: a stage makes a batch or raises.
  if (valid.ok()) valid = CheckAnswer(context_.plan, 0, lent.slot.bytes, done);
  if (valid.ok()) {
    version->memory.resize(done.used_bytes);
    if (lent.arena && payload.empty()) {
      std::ranges::copy(context_.arena->Memory(lent.slot).first(done.used_bytes),
                        version->memory.begin());
    } else {
      valid = CopyPayload(payload, done.used_bytes, version->memory);
    }
  }
  if (!valid.ok()) {
    LogDebug("batch not compared error=\"" + valid.ToString() + "\"");
    LoseLent(attempt, lent);
    if (no_session) Forgotten(worker);
  } else {
    if (lent.slot.id.valid()) context_.arena->Return(lent.slot.id);
    version->done = std::move(done);
    if (!PythonLanes()) version->done.lane_state.clear();  // nobody goes on from it
    if (const auto complete = comparisons_.OnShadow(attempt, std::move(version))) {
      Compared(*complete);
    }
  }
  if (!leased_.contains(worker)) Later(&SessionPump::RemoveEnded);
  Pump();
}

std::vector<Comparison> SessionPump::Compare(WorkerId worker, const Lent& lent,
                                             const wire::BatchDone& done) {
  if (!comparisons_.Wants(lent.ticket)) return {};
  const MutableByteSpan memory = context_.arena->Memory(lent.slot).first(done.used_bytes);
  auto version = std::make_shared<Version>(Version{done, Bytes(memory.begin(), memory.end())});
  if (!PythonLanes()) version->done.lane_state.clear();
  return comparisons_.OnMade(worker, lent.ticket, std::move(version));
}

void SessionPump::Keep(WorkerId worker, std::int64_t ticket, const PlannedBatch& planned) {
  if (!compares_ || !Current(ticket)) return;
  Kept kept{.planned = planned, .worker = worker};
  if (const auto index = indices_.find(ticket); index != indices_.end()) kept.index = index->second;
  if (const auto state = lane_states_.find(planned.lane); state != lane_states_.end()) {
    kept.lane_state = state->second;
  }
  kept_.insert_or_assign(ticket, std::move(kept));
}

void SessionPump::Compared(const Comparison& comparison) {
  if (SameBytes(*comparison.here, *comparison.there)) {
    Settle(comparison.tried, true);
    return;
  }
  const std::uint64_t id = next_suspicion_++;
  suspicions_.emplace(id, comparison);
  if (const auto link = links_.find(comparison.tried);
      link != links_.end() && link->second->state() == WorkerLink::State::kReady) {
    dispatcher_.SetWorker(comparison.tried, ReadyState(comparison.tried));
  }
  Suspicion suspicion;
  suspicion.id = id;
  suspicion.batch = BatchOf(comparison.ticket);
  const auto outside = outside_ids_.find(comparison.tried);
  suspicion.worker = (outside == outside_ids_.end() ? comparison.tried : outside->second).value;
  const auto link = links_.find(comparison.tried);
  if (link != links_.end()) suspicion.host = link->second->worker().host.hostname;
  suspicion.here = BatchOfVersion(comparison.here);
  suspicion.there = BatchOfVersion(comparison.there);
  shared_->Suspect(std::move(suspicion));
}

Result<Withdrawal> SessionPump::Judge(std::uint64_t suspicion, bool equal) {
  const auto node = suspicions_.extract(suspicion);
  if (node.empty()) {
    return InvalidArgument("suspicion " + std::to_string(suspicion) + " is not to be judged");
  }
  Withdrawal withdrawal = Settle(node.mapped().tried, equal);
  Pump();
  return withdrawal;
}

Withdrawal SessionPump::Settle(WorkerId tried, bool equal) {
  shared_->AddComparison(equal);
  const bool known = comparisons_.trials().standing(tried) != Trials::Standing::kUnknown;
  (void)comparisons_.Judge(tried, equal);
  if (equal) {
    const auto link = links_.find(tried);
    if (known && link != links_.end() && link->second->state() == WorkerLink::State::kReady) {
      dispatcher_.SetWorker(tried, ReadyState(tried));
      Later(&SessionPump::Pump);
    }
    return {};
  }
  CloseDelivered();
  Withdraw(tried);
  const auto consumed = consumed_.find(tried);
  return consumed == consumed_.end() ? Withdrawal() : consumed->second;
}

void SessionPump::Withdraw(WorkerId worker) {
  const Status why =
      Unsupported("worker " + std::to_string(worker.value) + " makes other batches than this host");
  MakeAgain(worker);
  refused_[worker] = why;
  const auto link = links_.find(worker);
  if (link == links_.end()) return;
  withdrawn_.push_back(link->second->worker());
  link->second->Withdraw(why);
}

// What the worker made and the trainer has not taken. With it goes what others made of the same
// lanes after it: they went on from the states that it gave.
void SessionPump::MakeAgain(WorkerId worker) {
  std::map<std::int32_t, std::vector<std::int64_t>> again;  // lane -> tickets
  for (const auto& [ticket, kept] : kept_) {
    const bool goes_on = PythonLanes() && again.contains(kept.planned.lane);
    if (kept.worker != worker && !goes_on) continue;
    std::optional<ReadyBatch> ready = shared_->Withdraw(BatchOf(ticket));
    if (!ready) continue;  // taken just now
    DropReady(std::move(*ready));
    again[kept.planned.lane].push_back(ticket);
  }
  for (const auto& [lane, tickets] : again) {
    if (PythonLanes()) {
      const Bytes& before = kept_.at(tickets.front()).lane_state;
      if (before.empty()) {
        lane_states_.erase(lane);
      } else {
        lane_states_[lane] = before;
      }
      for (const auto& [ticket, planned] : planned_) {
        if (planned.lane != lane || !Current(ticket)) continue;
        dispatcher_.Remove(ticket);  // answers to what was asked are dropped
        comparisons_.LoseBatch(ticket);
        dispatcher_.Add(ticket, EstimateBytes(planned), planned.keys, lane);
      }
    }
    for (const std::int64_t ticket : tickets) {
      auto node = kept_.extract(ticket);
      if (!node.mapped().index.empty()) indices_[ticket] = std::move(node.mapped().index);
      const PlannedBatch& planned = planned_[ticket] = std::move(node.mapped().planned);
      dispatcher_.Add(ticket, EstimateBytes(planned), planned.keys, lane);
    }
  }
}

}  // namespace headrace::client
