#pragma once

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

// Returns what a heartbeat tells the coordinator of a session. Pure.
[[nodiscard]] inline wire::SessionLoad LoadOf(SessionId session, const SessionStats& stats,
                                              std::uint64_t outstanding_bytes) {
  wire::SessionLoad load{.session = session};
#define HEADRACE_COPY_METRIC(type, name, ...) load.name = stats.name;
  HEADRACE_SESSION_METRICS(HEADRACE_COPY_METRIC)
  HEADRACE_BATCH_METRICS(HEADRACE_COPY_METRIC)
#undef HEADRACE_COPY_METRIC
  load.outstanding_bytes = outstanding_bytes;
  load.idle_known = stats.idle_known;
  for (const auto& [name, hits] : stats.hits_by_tier) {
    load.tiers.push_back({name, hits.decoded, hits.encoded, hits.cpu_ns});
  }
  return load;
}

}  // namespace headrace::client
