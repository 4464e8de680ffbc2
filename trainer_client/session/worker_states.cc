#include "trainer_client/session/worker_states.h"

#include <algorithm>

namespace headrace::client {

Dispatcher::WorkerState StateOf(const WorkerFacts& facts,
                                const std::map<WorkerId, WorkerFacts>& all) {
  if (!facts.leased) return Dispatcher::WorkerState::kDraining;
  const auto another = [&](bool rested) {
    return std::ranges::any_of(all, [&](const auto& entry) {
      return entry.second.usable() && !(rested && entry.second.resting);
    });
  };
  if (facts.unfit && another(false)) return Dispatcher::WorkerState::kDraining;
  if (facts.resting && another(true)) return Dispatcher::WorkerState::kDraining;
  return facts.may_serve ? Dispatcher::WorkerState::kReady : Dispatcher::WorkerState::kOnTrial;
}

}  // namespace headrace::client
