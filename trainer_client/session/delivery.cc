#include "trainer_client/session/delivery.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "trainer_client/session/batch_result.h"
#include "trainer_client/session/lane_states.h"

namespace headrace::client {

void Delivery::Made(const PlannedBatch& planned, const Bytes& lane_state, const Loan& loan,
                    SteadyTime arrived, wire::BatchDone&& done) {
  const wire::BatchCost cost = done.cost;
  const auto failures = std::move(done.failures);
  const auto tiers = std::move(done.tiers);
  ReadyBatch ready;
  const auto keys = static_cast<std::int64_t>(planned.keys.size());
  ready.samples = done.samples >= 0 ? done.samples : keys;
  ready.batch = MakeBatch(std::move(done), parts_.loans.Memory(loan.slot));
  Batch& batch = ready.batch;
  batch.samples = ready.samples;
  batch.batch = planned.batch;
  batch.lane_state = HasPythonLanes(parts_.plan) ? lane_state : planned.lane_state;
  batch.worker = loan.worker.value;
  if (loan.names) batch.names = *loan.names;
  batch.transport = loan.arena ? Transport::kShm : Transport::kTcp;
  for (const wire::SampleFailure& failure : failures) {
    MissingSample& missing = batch.missing.emplace_back();
    missing.position = failure.position;
    missing.code = failure.code;
    missing.detail = failure.detail;
    missing.message = failure.message;
    if (failure.detail == Detail::kOtherSpec) {
      parts_.planner.SizeChanged(planned.keys[static_cast<std::size_t>(failure.position)]);
    }
  }
  AddMissing(planned.batch, batch.missing);
  if (!batch.missing.empty()) batch.keys = planned.keys;
  AddDrawn(planned, batch);
  if (batch.bytes > 0) {
    parts_.loans.MarkReady(loan.slot.id);
    ready.slot = loan.slot.id;
    if (parts_.plan.has_python_stage && keys > 0) {
      parts_.sizes.Learn(batch.bytes, planned.keys.size());
    }
  } else {
    parts_.loans.Return(loan.slot.id);
  }
  const std::int64_t tried = parts_.plan.has_python_stage
                                 ? ready.samples
                                 : keys - static_cast<std::int64_t>(planned.skip.size());
  ready.timeline = parts_.book.TakeTimeline(loan.ticket, parts_.clock.Now());
  ready.timeline.sent = loan.sent;
  ready.timeline.arrived = arrived;
  ready.timeline.worker = WorkerTimes(cost);
  parts_.mailbox.ChangeStats([&](SessionStats& stats) {
    AddCost(cost, tried, stats);
    AddTiers(tiers, stats);
    stats.hedged = parts_.dispatcher.hedged();
    stats.rerequested = parts_.dispatcher.rerequested();
  });
  const SlotId slot = ready.slot;
  if (!parts_.mailbox.Put(planned.batch, std::move(ready))) parts_.loans.Return(slot);
}

void Delivery::Failed(std::int64_t ticket, const PlannedBatch& planned, const Status& why) {
  ReadyBatch ready;
  ready.samples = ready.batch.samples = static_cast<std::int64_t>(planned.keys.size());
  ready.batch.batch = planned.batch;
  for (std::size_t i = 0; i < planned.keys.size(); ++i) {
    MissingSample& missing = ready.batch.missing.emplace_back();
    missing.position = static_cast<std::int32_t>(i);
    missing.code = why.code();
    missing.detail = why.detail();
    missing.message = why.message();
    // It may have failed because of the shape of an image that was replaced.
    if (!planned.specs.empty()) parts_.planner.SizeChanged(planned.keys[i]);
  }
  ready.batch.keys = planned.keys;
  AddDrawn(planned, ready.batch);
  AddMissing(planned.batch, ready.batch.missing);
  // Until now some worker was asked for it.
  ready.timeline = parts_.book.TakeTimeline(ticket, parts_.clock.Now());
  ready.timeline.sent = ready.timeline.ready;
  (void)parts_.mailbox.Put(planned.batch, std::move(ready));  // it has no slot
}

void Delivery::AddDrawn(const PlannedBatch& planned, Batch& batch) const {
  if (!parts_.tell_draws) return;
  batch.keys = planned.keys;
  DrawnBatch& drawn = batch.drawn.emplace();
  drawn.words = planned.params;
  for (const std::optional<TensorSpec>& spec : planned.specs) {
    std::array<std::int64_t, 2>& size = drawn.sizes.emplace_back();
    if (spec && spec->layout == Layout::kHwc) size = {spec->dims[0], spec->dims[1]};
  }
  MissingSample first;  // of which the planner says the state
  parts_.planner.DescribeState(planned.batch, first);
  drawn.torch_state = std::move(first.torch_state);
}

// Adds the samples for which no worker was asked, in order of position, with what the trainer needs
// to make them.
void Delivery::AddMissing(std::int64_t batch, std::vector<MissingSample>& missing) const {
  for (const DrawPlanner::Unmade& unmade : parts_.planner.UnmadePositions(batch)) {
    if (std::ranges::find(missing, unmade.position, &MissingSample::position) != missing.end()) {
      continue;
    }
    MissingSample& sample = missing.emplace_back();
    sample.position = unmade.position;
    sample.code = unmade.code;
    sample.message = unmade.message;
  }
  if (missing.empty()) return;
  std::ranges::sort(missing, {}, &MissingSample::position);
  const std::vector<std::int64_t>& keys = parts_.planner.keys(batch);
  for (MissingSample& sample : missing) {
    sample.key = keys[static_cast<std::size_t>(sample.position)];
    parts_.planner.DescribeState(batch, sample);
  }
}

}  // namespace headrace::client
