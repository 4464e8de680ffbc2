#include "tests/simulation/reference.h"

#include "base/check.h"
#include "tests/simulation/sim_lane.h"
#include "tests/simulation/sim_plans.h"
#include "tests/simulation/sim_program.h"

namespace headrace::simulation {
namespace {

std::vector<std::vector<std::uint64_t>> Make(int kind, std::uint64_t base_seed) {
  SimWorld world(
      {.seed = 1, .compute = {std::chrono::microseconds(1), std::chrono::microseconds(2)}});
  world.StartCoordinator();
  world.StartWorker({.host = "node"});
  std::vector<std::vector<std::uint64_t>> batches(Reference::kBatches);
  SimProgram program(world,
                     {.host = "trainer",
                      .kind = kind,
                      .base_seed = base_seed,
                      .batches = Reference::kBatches,
                      .step_least = Duration(1),
                      .step_most = Duration(1000)},
                     {}, {}, [&](std::int64_t batch, const std::vector<std::uint64_t>& rows) {
                       batches[static_cast<std::size_t>(batch)] = rows;
                     });
  const SteadyTime until = world.events().Now() + std::chrono::minutes(2);
  while (!program.done() && program.failure().empty() && world.events().RunNext(until)) {
  }
  HR_CHECK(program.done() && program.failure().empty());
  return batches;
}

}  // namespace

const std::vector<std::uint64_t>& Reference::Rows(int kind, std::uint64_t base_seed,
                                                  std::int64_t batch) {
  if (RunsInLanes(kind) && !made_.contains({kind, base_seed})) {
    // Lane l makes the batches l, l + lanes, ...; its code has seen all before.
    Batches& batches = made_[{kind, base_seed}];
    const std::int64_t lanes = PlanOf(kind).plan.lanes;
    for (std::int64_t each = 0; each < kBatches; ++each) {
      batches.push_back(StageRows(base_seed, static_cast<std::int32_t>(each % lanes),
                                  each / lanes + 1, KeysOf(base_seed, each)));
    }
  }
  const auto at = made_.find({kind, base_seed});
  const Batches& batches =
      at != made_.end()
          ? at->second
          : made_.emplace(std::pair(kind, base_seed), Make(kind, base_seed)).first->second;
  return batches.at(static_cast<std::size_t>(batch));
}

}  // namespace headrace::simulation
