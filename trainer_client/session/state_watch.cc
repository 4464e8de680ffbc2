#include "trainer_client/session/state_watch.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace headrace::client {

void StateWatch::Begin(bool doubted) {
  history_.Restart();
  End();
  records_ = judges_ || doubted;
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
  const auto hash = [&] { return judges_ ? HashOf(done, memory) : 0; };
  if (const LaneHistory::Entry* entry = history_.entry(planned->lane, ticket);
      entry != nullptr && replaying_.contains(ticket)) {
    // One that no worker could make before was made by the trainer.
    if (entry->made && !entry->right && entry->hash != hash()) Differs(ticket);
  }
  history_.Made(planned->lane, ticket, parts_.workers.Serves(worker), hash);
}

void StateWatch::Failed(std::int64_t ticket) {
  if (replaying_.contains(ticket)) Differs(ticket);
}

void StateWatch::Differs(std::int64_t ticket) {
  if (!judging_) return;
  ++change_.differing.consumed;
  if (parts_.book.Current(ticket)) {
    change_.differing.batches.push_back(BatchBook::BatchOf(ticket));
  }
}

bool StateWatch::Replayed(std::int64_t ticket) {
  if (replaying_.erase(ticket) == 0) return false;
  if (replaying_.empty() && judging_) TellVerdict();
  return true;
}

void StateWatch::TellVerdict() {
  judging_ = false;
  change_.judged = true;
  parts_.mailbox.Tell(change_);
}

void StateWatch::OnStateChange(WorkerId worker, const std::string& what) {
  if (what.empty() || !compares_ || stays_) return;
  stays_ = judging_ = true;
  parts_.queue.CloseDelivered();
  change_ = {.what = what,
             .worker = parts_.workers.Outside(worker).value,
             .host = parts_.workers.HostOf(worker),
             .differing = {}};
  parts_.mailbox.Tell(change_);
  LeaveElsewhere();
  if (!judges_) return;
  if (!history_.complete()) {
    for (const auto& [maker, taken] : parts_.book.taken()) {
      if (parts_.workers.Serves(maker)) continue;
      change_.differing.consumed += taken.consumed;
      std::ranges::copy(taken.batches, std::back_inserter(change_.differing.batches));
    }
  } else if (const std::vector<std::int32_t> wrong = history_.Wrong(); !wrong.empty()) {
    (void)Replay(wrong);
  }
  if (replaying_.empty()) TellVerdict();
}

std::int64_t StateWatch::Replay(std::span<const std::int32_t> lanes) {
  std::int64_t waited = 0;
  for (const std::int32_t lane : lanes) {
    const BatchQueue::Replayed replayed = parts_.queue.ReplayLane(lane, history_.Again(lane));
    replaying_.insert(replayed.taken.begin(), replayed.taken.end());
    waited += replayed.waited;
  }
  parts_.context.lanes.Again(lanes);
  for (const auto& [id, link] : parts_.workers.links()) link->GiveLanes();
  return waited;
}

Result<std::int64_t> StateWatch::MakeAgain(std::span<const std::int32_t> lanes) {
  if (!records_) return Unsupported("the lanes can't begin again");
  if (!history_.complete()) return Unsupported("the lanes have made more than is remembered");
  parts_.queue.CloseDelivered();
  return Replay(lanes);
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
    if (!judges_ || !history_.complete()) parts_.queue.MakeAgain(id);
    parts_.workers.Withdraw(id, Unsupported("the code was seen to keep state"), false);
  }
}

}  // namespace headrace::client
