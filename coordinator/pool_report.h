#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/pool/core/pool.h"

namespace headrace::coordinator {

// What a pool is like at a moment, for people.
struct PoolReport {
  std::string name;
  std::int32_t least = 0, most = 0;  // members; not above `least`: it does not grow
  std::int32_t wanted = 0;           // that the jobs asked for last, within these
  std::vector<PoolMember> members;
};

}  // namespace headrace::coordinator
