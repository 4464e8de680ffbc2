// The part of SessionPump that says what no worker makes, and why.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "trainer_client/session/session_pump.h"

namespace headrace::client {

// Why none of the workers can run the plan; ok while one of them may.
Status SessionPump::AllRefuse() const {
  if (leased_.empty()) return Status::Ok();
  if (context_.gives_lanes && !had_reference_ &&
      reactor_->clock().Now() - started_ < reference_patience_) {
    return Status::Ok();
  }
  std::string message;
  for (const auto& [id, worker] : leased_) {
    const auto refused = refused_.find(id);
    if (refused == refused_.end()) {
      if (!Unproved(id)) return Status::Ok();
      message += (message.empty() ? "worker " : "; worker ") + std::to_string(id.value) + " on " +
                 worker.host.hostname +
                 " has to be compared with this host, where no worker serves this program";
      continue;
    }
    message += (message.empty() ? "worker " : "; worker ") + std::to_string(id.value) + " on " +
               worker.host.hostname + ": " + refused->second.message();
  }
  return {refused_.empty() ? Code::kUnsupported : refused_.begin()->second.code(), message};
}

void SessionPump::CheckWorkers() {
  const SteadyTime now = reactor_->clock().Now();
  if (dispatcher_.ready_workers() > 0) {
    no_worker_since_ = now;
    return;
  }
  if (Status refusal = AllRefuse(); !refusal.ok()) {
    shared_->SetTrouble(std::move(refusal));
    return;
  }
  if (std::ranges::any_of(links_, [](const auto& entry) { return entry.second->loading(); })) {
    no_worker_since_ = now;
  }
  if (now - no_worker_since_ < worker_timeout_) return;
  std::string message = leased_.empty() ? "no data worker serves this job"
                                        : "no data worker of this job can be reached";
  if (!last_refusal_.ok()) message += " (" + last_refusal_.ToString() + ")";
  shared_->SetTrouble(Unavailable(message + "; " + no_worker_remedy_));
}

void SessionPump::DeliverFailed(std::int64_t ticket, const Status& why) {
  auto node = planned_.extract(ticket);
  indices_.erase(ticket);
  comparisons_.LoseBatch(ticket);
  AnswerStates();
  if (replaying_.contains(ticket)) Differs(ticket);
  if (Replayed(ticket) || node.empty() || !Current(ticket)) return;
  const PlannedBatch& planned = node.mapped();
  // Where the code runs in the trainer's own processes, the trainer knows what became of them.
  Log(context_.gives_lanes ? LogLevel::kInfo : LogLevel::kWarning,
      "batch=" + std::to_string(planned.batch) + " is left to the trainer error=\"" +
          why.ToString() + "\"");
  ReadyBatch ready;
  ready.samples = ready.batch.samples = static_cast<std::int64_t>(planned.keys.size());
  ready.batch.batch = planned.batch;
  for (std::size_t i = 0; i < planned.keys.size(); ++i) {
    MissingSample& missing = ready.batch.missing.emplace_back();
    missing.position = static_cast<std::int32_t>(i);
    missing.code = why.code();
    missing.message = why.message();
    // Perhaps it failed for the shape of an image that was replaced.
    if (!planned.sizes.empty()) planner_.SizeChanged(planned.keys[i]);
  }
  ready.batch.keys = planned.keys;
  AddMissing(planned.batch, ready.batch.missing);
  // All the way up to now somebody was asked for it.
  ready.timeline = TakeTimeline(ticket);
  ready.timeline.sent = ready.timeline.ready;
  shared_->Put(planned.batch, std::move(ready));
}

void SessionPump::AddSuspects(std::vector<WorkerId>& suspects) const {
  const auto add = [&](WorkerId id) {
    const auto outside = outside_ids_.find(id);
    suspects.push_back(outside == outside_ids_.end() ? id : outside->second);
  };
  for (const auto& [id, since] : ended_) add(id);
  for (const auto& [id, link] : links_) {
    if (link->mute()) add(id);
  }
}

}  // namespace headrace::client
