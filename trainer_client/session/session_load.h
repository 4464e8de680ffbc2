#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "schemas/wire/message.h"
#include "trainer_client/include/headrace/client.h"

namespace headrace::client {

// Returns what a heartbeat tells the coordinator of a session. Pure.
[[nodiscard]] inline wire::SessionLoad LoadOf(SessionId session, const SessionStats& stats,
                                              std::uint64_t outstanding_bytes) {
  std::vector<wire::TierHits> tiers;
  for (const auto& [name, hits] : stats.hits_by_tier) {
    tiers.push_back({name, hits.decoded, hits.encoded, hits.cpu_ns});
  }
  return {.session = session,
          .batches = stats.batches,
          .samples = stats.samples,
          .stall_ns = stats.stall_ns,
          .step_ns = stats.step_ns,
          .outstanding_bytes = outstanding_bytes,
          .wait_sampler_ns = stats.wait.sampler_ns,
          .wait_source_ns = stats.wait.source_ns,
          .wait_compute_ns = stats.wait.compute_ns,
          .wait_python_ns = stats.wait.python_ns,
          .wait_queue_ns = stats.wait.queue_ns,
          .wait_network_ns = stats.wait.network_ns,
          .wait_copy_ns = stats.wait.copy_ns,
          .idle_ns = stats.idle_ns,
          .idle_known = stats.idle_known,
          .hit_samples = stats.hit_samples,
          .miss_samples = stats.miss_samples,
          .hit_cpu_ns = stats.hit_cpu_ns,
          .miss_cpu_ns = stats.miss_cpu_ns,
          .source_bytes = stats.source_bytes,
          .compared = stats.compared,
          .differed = stats.differed,
          .tiers = std::move(tiers)};
}

}  // namespace headrace::client
