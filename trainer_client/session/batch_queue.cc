#include "trainer_client/session/batch_queue.h"

#include <map>
#include <utility>

namespace headrace::client {

std::optional<std::int64_t> BatchQueue::TakePlanned(SteadyTime served, SteadyTime now) {
  // A batch that was waiting for sizes when its iteration ended is planned later, and wanted by nobody.
  if (parts_.book.ended()) return std::nullopt;
  std::optional<PlannedBatch> planned = parts_.planner.Next();
  if (!planned) return std::nullopt;
  const std::int64_t ticket = parts_.book.Ticket(planned->batch);
  Add(ticket, parts_.book.Planned(ticket, *std::move(planned), served, now));
  return ticket;
}

void BatchQueue::Add(std::int64_t ticket, const PlannedBatch& planned) {
  parts_.dispatcher.Add(ticket, parts_.sizes.Estimate(planned), planned.keys, planned.lane);
}

void BatchQueue::Remove(std::int64_t ticket) {
  parts_.dispatcher.Remove(ticket);
  parts_.comparisons.LoseBatch(ticket);
}

bool BatchQueue::TakeBack(std::int64_t ticket) {
  const std::optional<ReadyBatch> ready = parts_.mailbox.Withdraw(BatchBook::BatchOf(ticket));
  if (ready) parts_.loans.Return(ready->slot);
  return ready.has_value();
}

void BatchQueue::CloseDelivered() {
  for (const std::int64_t batch : parts_.mailbox.TakeDelivered()) {
    parts_.planner.Delivered(batch);
    parts_.book.Taken(batch);
  }
}

void BatchQueue::Restart(std::int64_t first) {
  parts_.mailbox.Restart(first, [this](ReadyBatch&& ready) { parts_.loans.Return(ready.slot); });
}

void BatchQueue::CancelEarlier() {
  const std::int64_t first = parts_.book.Ticket(0);
  parts_.dispatcher.RemoveBefore(first);
  parts_.dispatcher.ForgetLanes();
  parts_.comparisons.LoseBatchesBefore(first);
  parts_.book.DropPending();
}

void BatchQueue::Replan(std::span<const std::int64_t> batches) {
  for (const std::int64_t batch : batches) {
    const std::int64_t ticket = parts_.book.Ticket(batch);
    parts_.dispatcher.Remove(ticket);  // late answers are dropped, their slots freed
    parts_.book.Done(ticket);
    TakeBack(ticket);
  }
}

void BatchQueue::MakeAgain(WorkerId worker) {
  std::map<std::int32_t, std::vector<std::int64_t>> again;  // lane -> tickets
  for (const auto& [ticket, kept] : parts_.book.kept()) {
    const bool goes_on = states_travel_ && again.contains(kept.planned.lane);
    if (kept.worker != worker && !goes_on) continue;
    if (TakeBack(ticket)) again[kept.planned.lane].push_back(ticket);
  }
  for (const auto& [lane, tickets] : again) {
    if (states_travel_) {
      parts_.lanes.Restore(lane, parts_.book.kept().at(tickets.front()).lane_state);
      for (const std::int64_t ticket : parts_.book.InLane(lane)) {
        Remove(ticket);
        Add(ticket, *parts_.book.Find(ticket));
      }
    }
    for (const std::int64_t ticket : tickets) {
      BatchBook::Kept kept = *parts_.book.TakeKept(ticket);
      Add(ticket, parts_.book.Again(ticket, std::move(kept.planned), std::move(kept.index)));
    }
  }
}

BatchQueue::Replayed BatchQueue::ReplayLane(std::int32_t lane, const LaneHistory::Lane& history) {
  Replayed replayed;
  for (const LaneHistory::Entry& entry : history.entries) {
    // What is neither made nor asked for now was taken, also where no worker could make it.
    bool taken = true;
    (void)parts_.book.TakeKept(entry.ticket);
    if (parts_.book.Current(entry.ticket) && TakeBack(entry.ticket)) {
      taken = false;
      ++replayed.waited;
    }
    if (parts_.book.Find(entry.ticket) != nullptr) {
      taken = false;
      Remove(entry.ticket);
    }
    if (taken) replayed.taken.push_back(entry.ticket);
    Add(entry.ticket, parts_.book.Again(entry.ticket, entry.planned, entry.index));
  }
  parts_.lanes.Restore(lane, history.begin);
  return replayed;
}

}  // namespace headrace::client
