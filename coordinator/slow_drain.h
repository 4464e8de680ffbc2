#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "coordinator/state/state.h"

// Which slow worker the coordinator drains. Each session lets a worker rest that is slow for it, and its
// client says so (wire::UnfitWorker). That is a trainer's word about a worker that others use too. So
// it is weighed:
//
//   word      a job calls a worker slow. It counts if the job uses as many others, by these workers' own
//             reports, that it does not call slow: else the trouble may be the job's network
//   voice     a program (the ranks of a group have one) with such a job
//   content   a job that got samples from the worker of late, and does not call it slow
//
// A worker is drained if two programs have called it slow for `agreed`, or one for `alone`, and
//   - no job is content with it;
//   - each job that leases it has another worker that is not unfit for it;
//   - where jobs of more than one tenant run, at least two of them call it slow: what one tenant says
//     takes a worker from nobody else;
//   - few are called slow at the same time: else the network or the storage is slow, and not they;
//   - it is no program's local worker;
//   - no other one is being drained for it, and none was for `pause`.
namespace headrace::coordinator {

struct SlowRules {
  Duration agreed = std::chrono::minutes(5);
  Duration alone = std::chrono::minutes(30);
  Duration pause = std::chrono::minutes(10);
  Duration of_late = std::chrono::seconds(30);
  double most_slow = 0.2;  // of the workers that could be leased; one always may be
};

// What is said of a worker that at least one counted word calls slow.
struct SlowWorker {
  WorkerId worker;
  std::vector<JobId> jobs;  // whose words count, ascending
  std::string reason;       // for people
};
// Ascending by worker. O(leases of the jobs that call a worker slow).
[[nodiscard]] std::vector<SlowWorker> SlowWorkersOf(const SlowRules& rules, const State& state,
                                                    SteadyTime now);

// The worker to drain now. Pure. O(leases), where a job calls a worker slow; else O(jobs).
[[nodiscard]] std::optional<SlowWorker> ChooseSlowDrain(const SlowRules& rules, const State& state,
                                                        SteadyTime now);

}  // namespace headrace::coordinator
