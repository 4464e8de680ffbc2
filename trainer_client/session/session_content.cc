// The part of SessionPump that looks which samples of an answer count.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "schemas/wire/host_identity.h"
#include "trainer_client/session/session_pump.h"

namespace headrace::client {

bool SessionPump::LeftAside(WorkerId worker) const {
  return content_->unfit(worker) && std::ranges::any_of(links_, [&](const auto& entry) {
           return entry.second->state() == WorkerLink::State::kReady &&
                  leased_.contains(entry.first) && !content_->unfit(entry.first);
         });
}

void SessionPump::CheckContent(WorkerId worker, const Lent& lent, const PlannedBatch& planned,
                               SteadyTime arrived, wire::BatchDone&& done) {
  const auto link = links_.find(worker);
  ContentCheck::Question question;
  question.worker = worker;
  if (link != links_.end()) {
    const wire::WorkerInfo& info = link->second->worker();
    const auto outside = outside_ids_.find(worker);
    question.where =
        "worker " +
        std::to_string((outside == outside_ids_.end() ? worker : outside->second).value) + " on " +
        info.host.hostname;
    question.same_host = wire::SameHost(info.host, context_.host);
  }
  question.keys = planned.keys;
  question.positions = lent.witness;
  question.failures = done.failures;
  question.witnesses = std::move(done.witnesses);
  ++checking_;
  auto kept = std::make_shared<wire::BatchDone>(std::move(done));
  content_->Check(std::move(question),
                  [this, worker, lent, arrived, kept](std::vector<wire::SampleFailure> differ) {
                    --checking_;
                    const auto now = links_.find(worker);
                    if (!differ.empty() && now != links_.end() &&
                        now->second->state() == WorkerLink::State::kReady) {
                      dispatcher_.SetWorker(worker, ReadyState(worker));
                    }
                    kept->failures.insert(kept->failures.end(), differ.begin(), differ.end());
                    Settle(worker, lent, arrived, Dispatcher::Answer::kMade, std::move(*kept));
                  });
}

// Adds what no worker was asked for, in order of position, with what the trainer needs to make it.
void SessionPump::AddMissing(std::int64_t batch, std::vector<MissingSample>& missing) const {
  for (const DrawPlanner::Unmade& unmade : planner_.UnmadePositions(batch)) {
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
  const std::vector<std::int64_t>& keys = planner_.keys(batch);
  for (MissingSample& sample : missing) {
    sample.key = keys[static_cast<std::size_t>(sample.position)];
    planner_.DescribeState(batch, sample);
  }
}

}  // namespace headrace::client
