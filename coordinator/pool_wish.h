#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/settings.h"
#include "coordinator/scaling/pool_choice.h"

namespace headrace::coordinator {

// A pool, as somebody asks for it.
struct PoolWish {
  std::string kind = "static";
  // Among the coordinator's pools. It marks the pool's workers, too. Empty: the pool is called as its
  // kind, and its workers have the mark of the coordinator alone.
  std::string name = {};
  GivenSettings settings = {};  // described in the pool's folder
  PoolRules rules = {};

  [[nodiscard]] const std::string& shown_name() const { return name.empty() ? kind : name; }
  // Reads "slurm" or "slurm:name=spot,price=0.01,preemptible,most=8,partition=preempt": the kind of
  // pool, what is said of every kind, and settings of that one. kInvalidArgument: it is none of that
  // form, or a name, a price or a number is none.
  static Result<PoolWish> Parse(std::string_view text);
};

// What several pools are together.
struct PoolsWish {
  std::vector<PoolWish> pools;          // at least one
  double core_price = 0;                // of those that say none
  std::int32_t on_demand_at_least = 0;  // workers
};

// Of those without a name, the first keeps the mark of the coordinator, and others get their kind as their name: two
// pools never have one mark. Puts them in the order of preference: the cheapest first; equal ones, and all where no price is
// known, as they were named. kInvalidArgument: two have one name; some have a price and some have
// none; `static` is among several; or none of them is on demand though workers of such are asked for.
Result<std::vector<PoolWish>> InOrder(PoolsWish wish);

}  // namespace headrace::coordinator
