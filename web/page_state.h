#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schemas/wire/control.h"

namespace headrace::web {

// What a coordinator's pools are like, all together. Each by itself: ClusterStatus::pools.
struct PoolState {
  std::string name;         // "static", "local", "slurm"; of several, their names
  std::int32_t least = 0;   // members that it always has
  std::int32_t most = 0;    // not above `least`: it does not grow
  std::int32_t wanted = 0;  // members that the jobs ask for, within these
  std::int32_t queued = 0;  // the engine was asked for, and has not started
  std::int32_t starting = 0;
  std::int32_t running = 0;
  std::int32_t waiting = 0;  // ended, and due again after a pause
  std::int32_t draining = 0;
  std::int32_t lost = 0;
  double cores = 0;       // of members whose workers are there
  double core_price = 0;  // of one of them for an hour, in any currency, on average; 0: not known
  // Why members are not there: the engine's words, each once, with how many it is of. At most
  // kMostReasons.
  struct Reason {
    std::string text;
    std::int32_t members = 0;
    friend bool operator==(const Reason&, const Reason&) = default;
  };
  static constexpr std::size_t kMostReasons = 8;
  std::vector<Reason> reasons;
  friend bool operator==(const PoolState&, const PoolState&) = default;
};

// What a page shows of a coordinator, at one moment.
struct PageState {
  wire::ClusterStatus cluster;
  PoolState pool;
  std::string policy;                // by name
  std::vector<std::string> actions;  // what an admin may do from a page: "drain"
};

}  // namespace headrace::web
