#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "dataworker/memory/memory_map.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// A batch of a Python plan that a session was asked for and has not answered.
struct StageJob {
  wire::BatchRequest request;
  std::shared_ptr<ArenaMap> arena;  // where the slot is
  SteadyTime received;
  SteadyTime started{};             // the epoch: it has not begun
  std::uint64_t request_bytes = 0;  // that the host reads to know what it is asked
  bool own_memory = false;          // the answer takes the slot along
  bool cancelled = false;
  // Later attempts at the same batch. User code runs once for all of them: when it has, they are
  // answered with kCancelled, and whoever still wants the batch asks again.
  std::vector<std::uint32_t> repeats;
};

}  // namespace headrace::dataworker
