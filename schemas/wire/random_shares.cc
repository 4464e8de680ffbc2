#include "schemas/wire/random_body_internal.h"

// What jobs may use of a worker, what they used, and how they are.
namespace headrace::wire {

JobUsage RandomBody::Usage() {
  return {.job = AnId<JobId>(),
          .cpu_ns = Number(),
          .samples = Number(),
          .source_bytes = Number(),
          .limited_ns = Number(),
          .cache_bytes = Number(),
          .cache_entries = Number(),
          .cache_hits = Number(),
          .cache_misses = Number(),
          .queued_samples = Number()};
}

JobGrant RandomBody::Grant() {
  return {.job = AnId<JobId>(),
          .millicores = Number32(),
          .cache_bytes = Number(),
          .source_bytes_per_second = Number()};
}

JobStatus RandomBody::Job() {
  return {.job = AnId<JobId>(),
          .name = Text(),
          .hostname = Text(),
          .pid = Signed(),
          .state = Text(),
          .opened_ms = Signed(),
          .sessions = Some([this] { return Load(); }),
          .workers = Some([this] { return AnId<WorkerId>(); }),
          .tenant = Text(),
          .priority = static_cast<std::int32_t>(Signed()),
          .group = Text(),
          .rank = static_cast<std::int32_t>(Signed()),
          .rate = static_cast<double>(Number32()),
          .ready_rate = static_cast<double>(Number32()),
          .wait_share = static_cast<double>(Number32()) / 3,
          .demand_millicores = Number32(),
          .granted_millicores = Number32(),
          .cache_bytes = Number(),
          .source_bytes_per_second = Number(),
          .advice = Text()};
}

}  // namespace headrace::wire
