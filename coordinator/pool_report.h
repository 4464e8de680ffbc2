#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/pool/core/pool.h"
#include "coordinator/scaling/pool_choice.h"
#include "coordinator/scaling/pool_trouble.h"

namespace headrace::coordinator {

// What a coordinator's pools are like at a moment, for people.
struct PoolReport {
  struct Named {
    std::string name, kind;
    PoolRules rules;
    std::string state;                         // PoolChoice::StateOf
    std::optional<Duration> passed_over = {};  // for how long still; nothing: not, or nobody knows
    PoolTrouble::Told trouble = {};
    std::string_view remedy = {};  // of the trouble
    std::vector<PoolMember> members;
  };
  std::int32_t least = 0, most = 0;  // members of all; not above `least`: they do not grow
  std::int32_t wanted = 0;           // that the jobs asked for last, within these
  std::vector<Named> pools = {};     // in the order of preference; none before they begin
};

}  // namespace headrace::coordinator
