#include "trainer_client/session/batch_requests.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "schemas/wire/host_identity.h"

namespace headrace::client {

Status BatchRequests::Send(const Dispatcher::Send& send, bool coming, bool next) {
  const std::optional<Slot> slot = parts_.loans.Acquire(send.slot_bytes, coming, next);
  if (!slot) return ResourceExhausted("no slot is free");
  WorkerLink* link = parts_.workers.Find(send.worker);
  const PlannedBatch* planned = parts_.book.Find(send.ticket);
  Status sent = Internal("no link or no plan for a send");
  std::vector<std::int32_t> witness;
  std::int32_t tail_node = 0;
  if (link != nullptr && planned != nullptr) {
    wire::BatchRequest request = Make(*planned, send, *slot);
    parts_.content.Ask(send.worker, request);
    if (!link->uses_arena()) {
      request.tail_node = parts_.wire.TailFor(
          send.worker, wire::SameHost(link->worker().host, parts_.context.host));
    }
    sent = link->Send(request);
    witness = std::move(request.witness);
    tail_node = request.tail_node;
  }
  if (!sent.ok()) {
    LogDebug("batch not sent error=\"" + sent.ToString() + "\"");
    parts_.loans.Return(slot->id);
    return sent;
  }
  parts_.loans.Add(send.attempt, {.slot = *slot,
                                  .worker = send.worker,
                                  .ticket = send.ticket,
                                  .arena = link->uses_arena(),
                                  .sent = parts_.clock.Now(),
                                  .tail_node = tail_node,
                                  .witness = std::move(witness)});
  parts_.watch.Asked(send.worker, send.ticket);
  if (parts_.watch.shadows()) {
    for (const Comparisons::Ask& ask : parts_.comparisons.OnSent(send.worker, send.ticket)) {
      SendShadow(send, ask);
    }
  }
  return {};
}

wire::BatchRequest BatchRequests::Make(const PlannedBatch& planned, const Dispatcher::Send& send,
                                       const Slot& slot) const {
  wire::BatchRequest request;
  request.session = parts_.context.session;
  request.iteration = IterationId(BatchBook::IterationOf(send.ticket));
  request.batch = BatchId(planned.batch);
  request.attempt = send.attempt;
  request.keys = planned.keys;
  request.params = planned.params;
  request.seeds = planned.seeds;
  request.skip = planned.skip;
  request.specs = planned.specs;
  request.slot = slot.id;
  request.slot_offset = slot.offset;
  // By its room a lane's process knows that batches before it may be on their way (lane_window).
  const bool capped = send.ahead() && send.slot_bytes <= IterationOptions::kMostAheadBytes;
  request.slot_bytes =
      capped ? std::min(slot.bytes, IterationOptions::kMostAheadBytes) : slot.bytes;
  if (parts_.context.plan.has_python_stage) {
    request.lane = LaneId(planned.lane);
    if (send.ahead()) request.lane_after = BatchBook::BatchOf(send.after);
    request.base_seed = base_seed_;
    request.lane_state = parts_.lanes.state(planned.lane);
    request.index = parts_.book.index(send.ticket);
    request.lane_set = parts_.context.lanes.set();
  }
  return request;
}

void BatchRequests::SendShadow(const Dispatcher::Send& send, const Comparisons::Ask& ask) {
  WorkerLink* link = parts_.workers.Find(ask.maker);
  Slot slot{.bytes = send.slot_bytes};
  bool sent = link != nullptr;
  if (sent && link->uses_arena()) {
    const Result<Slot> free = parts_.context.arena->Acquire(send.slot_bytes);
    sent = free.ok();
    if (sent) slot = *free;
  }
  Dispatcher::Send shadow = send;
  shadow.worker = ask.maker;
  shadow.attempt = ask.attempt;
  const PlannedBatch* planned = parts_.book.Find(send.ticket);
  sent = sent && planned != nullptr && link->Send(Make(*planned, shadow, slot)).ok();
  if (!sent) {
    parts_.loans.Return(slot.id);
    parts_.comparisons.LoseShadow(ask.attempt);
    return;
  }
  parts_.watch.Asked(ask.maker, send.ticket);
  parts_.loans.Add(ask.attempt, {.slot = slot,
                                 .worker = ask.maker,
                                 .ticket = send.ticket,
                                 .arena = slot.id.valid(),
                                 .sent = parts_.clock.Now(),
                                 .shadow = true});
}

}  // namespace headrace::client
