#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "dataworker/memory/memory_map.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// A requested batch of a Python plan that the session has not answered yet.
struct StageJob {
  wire::BatchRequest request;
  std::shared_ptr<ArenaMap> arena;  // where the slot is
  SteadyTime received;
  SteadyTime started{};             // the epoch: it has not begun
  std::uint64_t request_bytes = 0;  // bytes of the request that the host reads
  bool own_memory = false;          // the answer carries the slot
  bool cancelled = false;
  // Later attempts at the same batch. User code runs once for all of them. After that they are
  // answered with kCancelled, and a peer that still wants the batch asks again.
  std::vector<std::uint32_t> repeats;
};

}  // namespace headrace::dataworker
