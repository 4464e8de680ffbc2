#include "tests/simulation/schedule.h"

#include <algorithm>
#include <array>

#include "tests/simulation/reference.h"
#include "tests/simulation/sim_plans.h"

namespace headrace::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array<const char*, Fault::kKinds> kNames = {
    "a worker dies",        "a worker stops",        "a worker leaves",     "all workers die",
    "the coordinator dies", "the coordinator stops", "a connection breaks", "hosts are cut off",
    "a program dies",       "a program stops",       "a lane stops"};

net::FaultRates RatesOf(Dice& dice) {
  net::FaultRates rates;
  const std::uint64_t kind = dice.Below(10);
  if (kind < 4) return rates;  // TCP as it is
  rates.duplicate = 0.1;
  rates.delay = 0.2;
  rates.reorder = 0.1;
  rates.max_delay = dice.Between(milliseconds(1), milliseconds(50));
  if (kind >= 8) rates.drop = dice.Happens(0.5) ? 0.005 : 0.05;
  return rates;
}

SimProgram::Options ProgramOf(Dice& dice, const std::string& host) {
  SimProgram::Options program;
  program.host = host;
  program.kind = static_cast<int>(dice.Below(kPlans));
  program.base_seed = 1 + dice.Below(Reference::kSeeds);
  program.batches =
      dice.Happens(0.1) ? dice.Between(80, Reference::kBatches) : dice.Between(10, 50);
  program.iterations = dice.Happens(0.3) ? 2 : 1;
  if (dice.Happens(0.2)) program.end_early = dice.Between(1, program.batches - 1);
  program.max_outstanding = dice.Between(1, 8);
  program.keeps = dice.Below(4);
  program.in_order = !dice.Happens(0.1);
  program.share_memory = dice.Happens(0.8);
  program.no_workers = dice.Happens(0.5) ? NoWorkers::kWait : NoWorkers::kLocal;
  constexpr std::array<Duration, 3> kSteps = {milliseconds(5), milliseconds(30), milliseconds(150)};
  program.step_most = kSteps[dice.Below(kSteps.size())];
  program.step_least = program.step_most / 10;
  return program;
}

// `kinds`: the first so many of them.
Fault FaultOf(Dice& dice, Duration within, std::uint64_t kinds) {
  Fault fault;
  fault.kind = static_cast<Fault::Kind>(dice.Below(kinds));
  fault.at = dice.Between(Duration::zero(), within);
  // Short ones, those that the patience of the roles covers, and longer ones.
  constexpr std::array<Duration, 4> kLasts = {milliseconds(100), seconds(2), seconds(8),
                                              seconds(15)};
  fault.lasts = dice.Between(milliseconds(1), kLasts[dice.Below(kLasts.size())]);
  fault.which = dice.Next();
  fault.silent = dice.Happens(0.3);
  fault.same_address = dice.Happens(0.5);
  return fault;
}

void AddFaults(Schedule& made, Dice& dice, std::uint64_t kinds) {
  const std::uint64_t faults = dice.Happens(0.05) ? 0 : 1 + dice.Below(8);
  const Duration within = dice.Happens(0.6) ? seconds(2) : seconds(12);
  for (std::uint64_t i = 0; i < faults; ++i) made.faults.push_back(FaultOf(dice, within, kinds));
  std::ranges::sort(made.faults, {}, &Fault::at);
  made.healed = within;
  for (const Fault& fault : made.faults) {
    made.healed = std::max(made.healed, fault.at + fault.lasts);
  }
}

}  // namespace

const char* NameOf(Fault::Kind kind) { return kNames[static_cast<std::size_t>(kind)]; }

Schedule Schedule::Of(std::uint64_t seed) {
  Dice dice = Dice(seed).For("schedule");
  Schedule made;
  made.world.seed = seed;
  made.world.journal = dice.Happens(0.7);
  constexpr std::array<Duration, 3> kDisks = {microseconds(100), milliseconds(5),
                                              milliseconds(300)};
  made.world.slowest_disk = kDisks[dice.Below(kDisks.size())];
  constexpr std::array<Duration, 3> kTasks = {microseconds(200), milliseconds(5), milliseconds(60)};
  made.world.compute = {microseconds(50), kTasks[dice.Below(kTasks.size())]};
  if (dice.Happens(0.3)) made.world.store_fails = 0.01;
  made.rates = RatesOf(dice);
  made.least_latency = microseconds(20);
  made.most_latency = dice.Happens(0.8) ? microseconds(500) : milliseconds(20);

  if (dice.Happens(0.25)) made.world.pool = static_cast<int>(dice.Between(1, 3));
  const std::array<std::string, 3> hosts = {made.world.pool > 0 ? SimWorld::kHead : "north",
                                            "north", "south"};
  const std::uint64_t jobs = dice.Happens(0.6) ? 1 : dice.Between(2, 3);
  for (std::uint64_t i = 0; i < jobs; ++i) {
    made.programs.push_back(ProgramOf(dice, hosts[dice.Below(hosts.size())]));
    made.program_starts.push_back(
        dice.Between(Duration::zero(), dice.Happens(0.5) ? milliseconds(1) : seconds(2)));
  }
  const bool one_host = std::ranges::all_of(
      made.programs, [&](const auto& program) { return program.host == made.programs[0].host; });
  const std::int64_t workers = dice.Between(made.world.pool > 0 ? 0 : 1, 4 - made.world.pool);
  for (std::int64_t i = 0; i < workers; ++i) {
    SimWorld::WorkerPlace place;
    place.host = dice.Happens(0.5) ? made.programs[0].host : hosts[1 + dice.Below(2)];
    if (place.host == SimWorld::kHead) place.host = "north";
    place.unix_socket = one_host && place.host == made.programs[0].host && dice.Happens(0.5);
    place.threads = static_cast<int>(dice.Between(1, 2));
    place.cache_bytes = dice.Happens(0.5) ? 0 : std::uint64_t{1} << 20;
    made.workers.push_back(std::move(place));
  }

  AddFaults(made, dice, Fault::kKinds - 1);
  return made;
}

Schedule Schedule::OfLanes(std::uint64_t seed) {
  Dice dice = Dice(seed).For("schedule of lanes");
  Schedule made = Of(dice.Next());
  made.world.seed = seed;
  made.world.pool = 0;
  for (SimProgram::Options& program : made.programs) {
    program.host = "north";
    program.kind = kLanePlan + static_cast<int>(dice.Below(kLanePlans));
    program.in_order = program.share_memory = true;
    program.no_workers = NoWorkers::kWait;
    constexpr std::array<Duration, 3> kCode = {milliseconds(1), milliseconds(20),
                                               milliseconds(120)};
    program.lane_most = kCode[dice.Below(kCode.size())];
    if (dice.Happens(0.3)) program.slow_lane = 1 + dice.Below(20);
    program.lane_window = static_cast<std::int32_t>(dice.Between(1, 4));
  }
  made.workers.resize(1 + dice.Below(3));
  for (SimWorld::WorkerPlace& place : made.workers) {
    place = {.host = "north", .unix_socket = dice.Happens(0.5)};
  }
  made.faults.clear();
  AddFaults(made, dice, Fault::kKinds);
  return made;
}

std::string Schedule::Describe() const {
  const auto ms = [](Duration time) {
    return std::to_string(std::chrono::duration_cast<milliseconds>(time).count()) + " ms";
  };
  std::string text = "journal " + std::string(world.journal ? "yes" : "no") + ", pool " +
                     std::to_string(world.pool) + ", drop " + std::to_string(rates.drop) +
                     ", duplicate " + std::to_string(rates.duplicate) + "\n";
  for (const SimWorld::WorkerPlace& worker : workers) {
    text += "  worker on " + worker.host + (worker.unix_socket ? " (unix)" : "") + "\n";
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    text += "  program on " + programs[i].host + ", plan " + std::to_string(programs[i].kind) +
            ", " + std::to_string(programs[i].batches) + " batches, begins after " +
            ms(program_starts[i]) + "\n";
  }
  for (const Fault& fault : faults) {
    text += "  after " + ms(fault.at) + ", for " + ms(fault.lasts) + ": " + NameOf(fault.kind) +
            (fault.silent ? " (silently)" : "") + "\n";
  }
  return text + "  after " + ms(healed) + ": all is well";
}

}  // namespace headrace::simulation
