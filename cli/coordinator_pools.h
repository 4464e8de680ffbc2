#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/settings.h"
#include "coordinator/pool/core/pool.h"
#include "coordinator/pool_wish.h"

namespace CLI {
class App;
}

namespace headrace::cli {

// What a command line says of a coordinator's pools.
struct PoolFlags {
  std::vector<std::string> pools;                               // as PoolWish::Parse reads them
  std::vector<std::pair<std::string, GivenSettings>> settings;  // --KIND-SETTING, by kind of pool
  std::int32_t on_demand_at_least = 0;
  std::int64_t next_pool_s = 60;
};

void AddPools(CLI::App& command, PoolFlags& flags);

// Whether its workers run on other hosts.
[[nodiscard]] bool IsElsewhere(const coordinator::PoolRegistry& known,
                               const coordinator::PoolWish& pool);

// The pools in the order of preference; without any, `local` if workers are to be started, and `static`
// otherwise. --KIND-SETTING is of all pools of that kind, before what one says of itself.
// kInvalidArgument: as PoolWish::Parse and InOrder; or a setting is of a kind of which there is no pool.
[[nodiscard]] Result<std::vector<coordinator::PoolWish>> PoolsOf(const PoolFlags& flags,
                                                                 double core_price,
                                                                 bool starts_workers);

}  // namespace headrace::cli
