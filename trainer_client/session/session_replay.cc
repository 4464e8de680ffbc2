// The part of SessionPump that takes code which keeps state back to this host
// (docs/adr/0029-state-seen.md).
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "trainer_client/session/session_pump.h"

namespace headrace::client {

// Before new lanes' first batch.
void SessionPump::BeginHistory() {
  history_.Restart();
  replaying_.clear();
  if (!Records()) return;
  for (std::int32_t lane = 0; lane < context_.plan.lanes; ++lane) {
    const auto state = lane_states_.find(lane);
    history_.Began(lane, state == lane_states_.end() ? Bytes() : state->second);
  }
}

void SessionPump::NoteAsked(WorkerId worker, std::int64_t ticket) {
  if (!Records() || !Serves(worker)) return;
  if (const auto at = planned_.find(ticket); at != planned_.end()) {
    history_.AskedHere(at->second.lane, ticket);
  }
}

// Before Deliver: the batch is there.
void SessionPump::NoteMade(WorkerId worker, const Lent& lent, const wire::BatchDone& done) {
  const auto at = planned_.find(lent.ticket);
  if (!Records() || at == planned_.end()) return;
  const std::int32_t lane = at->second.lane;
  const auto hash = [&] {
    return HashOf(done, context_.arena->Memory(lent.slot).first(done.used_bytes));
  };
  if (const LaneHistory::Entry* entry = history_.entry(lane, lent.ticket);
      entry != nullptr && replaying_.contains(lent.ticket)) {
    if (!entry->right && entry->hash != hash()) Differs(lent.ticket);
  }
  history_.Made(lane, lent.ticket, Serves(worker), hash);
}

void SessionPump::Differs(std::int64_t ticket) {
  ++change_.differing.consumed;
  if (Current(ticket)) change_.differing.batches.push_back(BatchOf(ticket));
}

// True: the batch was made for the lane's state alone.
bool SessionPump::Replayed(std::int64_t ticket) {
  if (replaying_.erase(ticket) == 0) return false;
  if (replaying_.empty()) TellVerdict();
  return true;
}

void SessionPump::TellVerdict() {
  change_.judged = true;
  shared_->Tell(change_);
}

void SessionPump::OnStateChange(WorkerId worker, const std::string& what) {
  if (what.empty() || !compares_ || stays_) return;
  stays_ = true;
  CloseDelivered();
  const auto outside = outside_ids_.find(worker);
  const auto link = links_.find(worker);
  change_ = {.what = what,
             .worker = (outside == outside_ids_.end() ? worker : outside->second).value,
             .host = link == links_.end() ? "" : link->second->worker().host.hostname,
             .differing = {}};
  shared_->Tell(change_);
  LeaveElsewhere();
  if (!Records()) return;  // lanes have no order: nothing says what they would have made
  if (!history_.complete()) {
    for (const auto& [maker, taken] : consumed_) {
      if (Serves(maker)) continue;
      change_.differing.consumed += taken.consumed;
      std::ranges::copy(taken.batches, std::back_inserter(change_.differing.batches));
    }
  } else if (const std::vector<std::int32_t> wrong = history_.Wrong(); !wrong.empty()) {
    for (const std::int32_t lane : wrong) ReplayLane(lane);
    context_.lanes.Again(wrong);
    for (const auto& [id, each] : links_) each->GiveLanes();
  }
  if (replaying_.empty()) TellVerdict();
}

// No worker elsewhere runs the code any more, nor will one that comes later.
void SessionPump::LeaveElsewhere() {
  std::vector<WorkerId> elsewhere;
  for (const auto& [id, link] : links_) {
    if (!Serves(id) && link->state() != WorkerLink::State::kGone) elsewhere.push_back(id);
  }
  const Status why = Unsupported("the code was seen to keep state");
  for (const WorkerId id : elsewhere) {
    // What a replay does not make again, for its lane had to be right.
    if (!Records() || !history_.complete()) MakeAgain(id);
    refused_[id] = why;
    links_.at(id)->Withdraw(why);
  }
}

// All of the lane's batches are made again, from the first one on, by its process as it was then.
// Those that the trainer has taken are compared with what they were, and dropped.
void SessionPump::ReplayLane(std::int32_t lane) {
  for (const LaneHistory::Entry& entry : history_.Again(lane).entries) {
    const std::int64_t ticket = entry.ticket;
    bool taken = entry.made;
    if (const auto node = kept_.extract(ticket); !node.empty()) {
      if (auto ready = shared_->Withdraw(BatchOf(ticket))) {
        DropReady(std::move(*ready));
        taken = false;
      }
    }
    if (planned_.contains(ticket)) {
      taken = false;
      dispatcher_.Remove(ticket);  // answers to what was asked are dropped
      comparisons_.LoseBatch(ticket);
    }
    if (taken) replaying_.insert(ticket);
    const PlannedBatch& planned = planned_[ticket] = entry.planned;
    if (!entry.index.empty()) indices_[ticket] = entry.index;
    dispatcher_.Add(ticket, EstimateBytes(planned), planned.keys, lane);
  }
  const Bytes& begin = history_.Again(lane).begin;
  if (begin.empty()) {
    lane_states_.erase(lane);
  } else {
    lane_states_[lane] = begin;
  }
}

void SessionPump::LaneStates(bool end, OnStates done) {
  if (!PythonLanes()) {
    done(Unsupported("the plan has no lanes in Python"));
    return;
  }
  asked_states_.push_back({end, std::move(done)});
  AnswerStates();
}

void SessionPump::AnswerStates() {
  const bool old_ones = !planned_.empty() && !Current(planned_.begin()->first);
  std::erase_if(asked_states_, [&](const Asked& asked) {
    if (asked.end ? !planned_.empty() : old_ones) return false;
    std::vector<Bytes> states(static_cast<std::size_t>(context_.plan.lanes));
    for (const auto& [lane, state] : asked.end ? lane_states_ : begin_states_) {
      if (static_cast<std::size_t>(lane) < states.size()) {
        states[static_cast<std::size_t>(lane)] = state;
      }
    }
    asked.done(std::move(states));
    return true;
  });
}

// Verdicts on batches that the trainer may have taken, which have still to come.
std::int64_t SessionPump::Undecided() {
  CloseDelivered();
  return comparisons_.Undecided() + static_cast<std::int64_t>(suspicions_.size()) +
         static_cast<std::int64_t>(replaying_.size());
}

}  // namespace headrace::client
