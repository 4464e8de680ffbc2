#include "cli/coordinator_pools.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/options.h"

namespace headrace::cli {
namespace {

std::string PoolHelp() {
  coordinator::PoolRegistry pools;
  RegisterPools(pools);
  std::string help =
      "Where workers come from [default: local with --workers, else static]. Repeatable, the "
      "cheapest comes first: name=NAME, price=PRICE of a core an hour, preemptible, most=WORKERS, "
      "and settings of that kind:";
  for (const coordinator::PoolDescriptor* pool : pools.All()) {
    help += "\n  " + pool->name + ": " + pool->summary;
  }
  return help;
}

// Each pool has a group of options: --slurm-partition is the setting `partition` of the pool `slurm`.
void AddPoolSettings(CLI::App& command, PoolFlags& flags) {
  coordinator::PoolRegistry pools;
  RegisterPools(pools);
  for (const coordinator::PoolDescriptor* pool : pools.All()) {
    for (const Setting& setting : pool->settings) {
      const bool said = !setting.value.empty();
      command
          .add_option_function<std::string>(
              "--" + pool->name + "-" + setting.name,
              [&flags, of = pool->name, name = setting.name](const std::string& value) {
                flags.settings.push_back({of, {{name, value}}});
              },
              setting.help + (said ? " [default: " + setting.value + "]" : ""))
          ->type_name(setting.kind == Setting::Kind::kText    ? "TEXT"
                      : setting.kind == Setting::Kind::kCount ? "N"
                                                              : "SIZE")
          ->group("With --pool " + pool->name);
    }
  }
}

}  // namespace

void AddPools(CLI::App& command, PoolFlags& flags) {
  command.add_option("--pool", flags.pools, PoolHelp())
      ->allow_extra_args(false)
      ->type_name("KIND[:KEY=VALUE,...]");
  AddPoolSettings(command, flags);
  command
      .add_option("--next-pool-s", flags.next_pool_s,
                  "Ask the next pool if no worker of one has come for so long")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("SECONDS")
      ->capture_default_str();
  AddCount(command, "--on-demand-at-least", flags.on_demand_at_least,
           "Of the workers, so many come from pools that are not pre-emptible");
}

bool IsElsewhere(const coordinator::PoolRegistry& known, const coordinator::PoolWish& pool) {
  const coordinator::PoolDescriptor* found = known.Find(pool.kind);
  return found != nullptr && !found->on_this_host && found->name != "static";
}

Result<std::vector<coordinator::PoolWish>> PoolsOf(const PoolFlags& flags, double core_price,
                                                   bool starts_workers) {
  coordinator::PoolsWish wish{
      .pools = {}, .core_price = core_price, .on_demand_at_least = flags.on_demand_at_least};
  for (const std::string& text : flags.pools) {
    HR_TRY(coordinator::PoolWish pool, coordinator::PoolWish::Parse(text));
    wish.pools.push_back(std::move(pool));
  }
  if (wish.pools.empty()) wish.pools.push_back({.kind = starts_workers ? "local" : "static"});
  HR_TRY(std::vector<coordinator::PoolWish> pools, coordinator::InOrder(std::move(wish)));
  std::string kinds;
  for (coordinator::PoolWish& pool : pools) {
    kinds += (kinds.empty() ? "" : ", ") + pool.kind;
    GivenSettings settings;
    for (const auto& [of, given] : flags.settings) {
      if (of == pool.kind) settings.insert(settings.end(), given.begin(), given.end());
    }
    pool.settings.insert(pool.settings.begin(), settings.begin(), settings.end());
  }
  for (const auto& [of, given] : flags.settings) {
    if (std::ranges::count(pools, of, &coordinator::PoolWish::kind) == 0) {
      return InvalidArgument("--" + of + "-" + given.front().first + " is for --pool " + of +
                             ", and this is --pool " + kinds);
    }
  }
  return pools;
}

}  // namespace headrace::cli
