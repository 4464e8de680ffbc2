#include "trainer_client/session/state_watch.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace headrace::client {

void StateWatch::Begin() {
  history_.Restart();
  replaying_.clear();
  if (!records_) return;
  for (std::int32_t lane = 0; lane < parts_.context.plan.lanes; ++lane) {
    history_.Began(lane, parts_.lanes.state(lane));
  }
}

void StateWatch::Planned(std::int64_t ticket) {
  if (!records_) return;
  history_.Add(ticket, *parts_.book.Find(ticket), parts_.book.index(ticket));
}

void StateWatch::Asked(WorkerId worker, std::int64_t ticket) {
  if (!records_ || !parts_.workers.Serves(worker)) return;
  if (const PlannedBatch* planned = parts_.book.Find(ticket)) {
    history_.AskedHere(planned->lane, ticket);
  }
}

void StateWatch::Made(WorkerId worker, std::int64_t ticket, const wire::BatchDone& done,
                      ByteSpan memory) {
  const PlannedBatch* planned = records_ ? parts_.book.Find(ticket) : nullptr;
  if (planned == nullptr) return;
  const auto hash = [&] { return HashOf(done, memory); };
  if (const LaneHistory::Entry* entry = history_.entry(planned->lane, ticket);
      entry != nullptr && replaying_.contains(ticket)) {
    if (!entry->right && entry->hash != hash()) Differs(ticket);
  }
  history_.Made(planned->lane, ticket, parts_.workers.Serves(worker), hash);
}

void StateWatch::Failed(std::int64_t ticket) {
  if (replaying_.contains(ticket)) Differs(ticket);
}

void StateWatch::Differs(std::int64_t ticket) {
  ++change_.differing.consumed;
  if (parts_.book.Current(ticket)) {
    change_.differing.batches.push_back(BatchBook::BatchOf(ticket));
  }
}

bool StateWatch::Replayed(std::int64_t ticket) {
  if (replaying_.erase(ticket) == 0) return false;
  if (replaying_.empty()) TellVerdict();
  return true;
}

void StateWatch::TellVerdict() {
  change_.judged = true;
  parts_.mailbox.Tell(change_);
}

void StateWatch::OnStateChange(WorkerId worker, const std::string& what) {
  if (what.empty() || !compares_ || stays_) return;
  stays_ = true;
  parts_.queue.CloseDelivered();
  change_ = {.what = what,
             .worker = parts_.workers.Outside(worker).value,
             .host = parts_.workers.HostOf(worker),
             .differing = {}};
  parts_.mailbox.Tell(change_);
  LeaveElsewhere();
  if (!records_) return;
  if (!history_.complete()) {
    for (const auto& [maker, taken] : parts_.book.taken()) {
      if (parts_.workers.Serves(maker)) continue;
      change_.differing.consumed += taken.consumed;
      std::ranges::copy(taken.batches, std::back_inserter(change_.differing.batches));
    }
  } else if (const std::vector<std::int32_t> wrong = history_.Wrong(); !wrong.empty()) {
    for (const std::int32_t lane : wrong) {
      const auto taken = parts_.queue.ReplayLane(lane, history_.Again(lane));
      replaying_.insert(taken.begin(), taken.end());
    }
    parts_.context.lanes.Again(wrong);
    for (const auto& [id, link] : parts_.workers.links()) link->GiveLanes();
  }
  if (replaying_.empty()) TellVerdict();
}

void StateWatch::LeaveElsewhere() {
  std::vector<WorkerId> elsewhere;
  for (const auto& [id, link] : parts_.workers.links()) {
    if (!parts_.workers.Serves(id) && link->state() != WorkerLink::State::kGone) {
      elsewhere.push_back(id);
    }
  }
  for (const WorkerId id : elsewhere) {
    // A batch that a replay does not make again, because its lane had to be right.
    if (!records_ || !history_.complete()) parts_.queue.MakeAgain(id);
    parts_.workers.Withdraw(id, Unsupported("the code was seen to keep state"), false);
  }
}

}  // namespace headrace::client
