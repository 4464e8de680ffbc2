#include "trainer_client/session/batch_book.h"

#include <utility>

namespace headrace::client {

void BatchBook::Begin() {
  End();
  ended_ = false;
  for (auto& [worker, taken] : taken_) taken.batches.clear();
}

void BatchBook::End() {
  ++iteration_;
  ended_ = true;
  timelines_.clear();
  kept_.clear();
}

void BatchBook::DropPending() {
  pending_.clear();
  indices_.clear();
}

void BatchBook::Submitted(std::int64_t ticket, SteadyTime now, Bytes index) {
  timelines_[ticket].submitted = now;
  if (!index.empty()) indices_[ticket] = std::move(index);
}

const PlannedBatch& BatchBook::Planned(std::int64_t ticket, PlannedBatch planned, SteadyTime served,
                                       SteadyTime now) {
  BatchTimeline& timeline = timelines_[ticket];
  timeline.served = served;
  timeline.planned = now;
  return pending_[ticket] = std::move(planned);
}

const PlannedBatch& BatchBook::Again(std::int64_t ticket, PlannedBatch planned, Bytes index) {
  if (!index.empty()) indices_[ticket] = std::move(index);
  return pending_[ticket] = std::move(planned);
}

const PlannedBatch* BatchBook::Find(std::int64_t ticket) const {
  const auto at = pending_.find(ticket);
  return at == pending_.end() ? nullptr : &at->second;
}

const Bytes& BatchBook::index(std::int64_t ticket) const {
  static const Bytes kNone;
  const auto at = indices_.find(ticket);
  return at == indices_.end() ? kNone : at->second;
}

std::vector<std::int64_t> BatchBook::InLane(std::int32_t lane) const {
  std::vector<std::int64_t> tickets;
  for (const auto& [ticket, planned] : pending_) {
    if (planned.lane == lane && Current(ticket)) tickets.push_back(ticket);
  }
  return tickets;
}

std::vector<std::int64_t> BatchBook::Pending() const {
  std::vector<std::int64_t> tickets;
  for (const auto& [ticket, planned] : pending_) tickets.push_back(ticket);
  return tickets;
}

std::optional<PlannedBatch> BatchBook::Done(std::int64_t ticket) {
  indices_.erase(ticket);
  auto node = pending_.extract(ticket);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

BatchTimeline BatchBook::TakeTimeline(std::int64_t ticket, SteadyTime now) {
  const auto node = timelines_.extract(ticket);
  BatchTimeline timeline = node.empty() ? BatchTimeline() : node.mapped();
  timeline.ready = now;
  return timeline;
}

void BatchBook::Keep(std::int64_t ticket, WorkerId worker, const Bytes& lane_state) {
  const PlannedBatch* planned = Find(ticket);
  if (planned == nullptr || !Current(ticket)) return;
  kept_.insert_or_assign(
      ticket,
      Kept{
          .planned = *planned, .index = index(ticket), .lane_state = lane_state, .worker = worker});
}

std::optional<BatchBook::Kept> BatchBook::TakeKept(std::int64_t ticket) {
  auto node = kept_.extract(ticket);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

void BatchBook::Taken(std::int64_t batch) {
  const auto node = kept_.extract(Ticket(batch));
  if (node.empty()) return;
  Withdrawal& taken = taken_[node.mapped().worker];
  ++taken.consumed;
  taken.batches.push_back(batch);
}

}  // namespace headrace::client
