#include "schemas/wire/random_body_internal.h"

// What jobs may use of a worker, and what they used.
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

}  // namespace headrace::wire
