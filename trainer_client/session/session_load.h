#pragma once

#include <algorithm>
#include <cstdint>

#include "schemas/wire/message.h"
#include "trainer_client/include/headrace/client.h"
#include "trainer_client/session/arena.h"

namespace headrace::client {

// Adds what the arena measures.
inline void AddArena(const Arena::Counts& counts, SessionStats& stats) {
  stats.arena_bytes = counts.bytes;
  stats.arena_slots =
      static_cast<std::uint64_t>(counts.free + counts.lent + counts.ready + counts.held +
                                 counts.quarantined + counts.inherited);
}

// What a session has under way.
struct UnderWay {
  std::uint64_t outstanding_bytes = 0;  // asked for and not delivered
  std::uint64_t ready_batches = 0;      // made, and wait for the program
  std::uint64_t window_batches = 0;     // that may be asked for ahead
};

// Returns what a heartbeat tells the coordinator of a session. Pure.
[[nodiscard]] inline wire::SessionLoad LoadOf(SessionId session, const SessionStats& stats,
                                              const UnderWay& now) {
  wire::SessionLoad load{.session = session};
#define HEADRACE_COPY_METRIC(type, name, ...) load.name = stats.name;
  HEADRACE_SESSION_METRICS(HEADRACE_COPY_METRIC)
  HEADRACE_BATCH_METRICS(HEADRACE_COPY_METRIC)
#undef HEADRACE_COPY_METRIC
  load.outstanding_bytes = now.outstanding_bytes;
  load.ready_batches = now.ready_batches;
  load.window_batches = now.window_batches;
  if (stats.expected_samples >= 0) {
    load.remaining_samples = std::max<std::int64_t>(
        0, stats.expected_samples - static_cast<std::int64_t>(stats.samples));
  }
  load.idle_known = stats.idle_known;
  for (const auto& [name, hits] : stats.hits_by_tier) {
    load.tiers.push_back({name, hits.decoded, hits.encoded, hits.cpu_ns});
  }
  return load;
}

}  // namespace headrace::client
