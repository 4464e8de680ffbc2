#include "coordinator/drain_choice.h"

#include <cstdint>
#include <utility>

namespace headrace::coordinator {

WorkerId LeastUsed(const State& state, const std::set<WorkerId>& members) {
  WorkerId best;
  std::pair<bool, std::uint64_t> least;
  for (const WorkerId id : members) {
    const Worker* worker = state.FindWorker(id);
    if (!worker || !worker->leasable()) continue;
    std::pair<bool, std::uint64_t> use;  // lanes, millicores
    for (const JobId id_of_job : worker->jobs) {
      const Job& job = *state.FindJob(id_of_job);
      use.first = use.first || job.lanes_stay();
      if (const auto at = job.grants.find(id); at != job.grants.end()) {
        use.second += at->second.millicores;
      }
    }
    if (!best.valid() || use <= least) {
      best = id;
      least = use;
    }
  }
  return best;
}

}  // namespace headrace::coordinator
