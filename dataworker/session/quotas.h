#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/quota.h"
#include "base/result.h"

namespace headrace::dataworker {

// What trainers may take of a worker, beside its memory (memory/worker_memory.h). The defaults are far
// above what programs need.
struct Quotas {
  // kUnavailable, so that the trainer asks other workers, whose bound may be another: kUnsupported says
  // that no worker makes it.
  [[nodiscard]] static Status CheckHere(const Quota& quota, std::uint64_t wanted) {
    const Status status = quota.Check(wanted);
    return status.ok() ? status : Unavailable(status.message());
  }

  // kResourceExhausted, so that the trainer asks again: others may end.
  [[nodiscard]] static Status CheckRoom(const Quota& quota, std::uint64_t wanted) {
    const Status status = quota.Check(wanted);
    return status.ok() ? status : ResourceExhausted(status.message());
  }

  Quota jobs{"--max-jobs", 1024, "jobs with a loader here", false,
             "others serve that job; it asks again until there is room"};
  Quota sessions{"--max-sessions", 4096, "attached loaders", false,
                 "others serve that loader; it asks again until there is room"};
  Quota sessions_of_a_job{"--max-sessions-of-a-job", 256, "attached loaders of one job", false,
                          "others serve that loader; it asks again until there is room"};
  Quota blob_bytes{"--max-blob-bytes", std::uint64_t{16} << 30,
                   "bytes of code, file tables and arrays of one job", true,
                   "others serve that loader, or it keeps its own workers"};
  Quota keys{"--max-keys", std::uint64_t{1} << 36, "samples in a data set", false,
             "others serve that loader, or it keeps its own workers"};
  Quota batch_keys{"--max-batch-keys", std::uint64_t{1} << 20, "samples in a batch", false,
                   "the trainer makes that batch; if it is Python code's, `next()` raises"};
  Quota batch_bytes{"--max-batch-bytes", std::uint64_t{16} << 30, "bytes of a batch", true,
                    "other workers are asked; after some refusals the trainer makes that batch"};
  Quota requests{
      "--max-requests", 8192, "requests of one loader that wait here", false,
      "other workers are asked; after some refusals the trainer makes that batch, or, if "
      "it is Python code's, `next()` raises"};

  // All of them, for options and for the page of limits.
  [[nodiscard]] std::array<Quota*, 8> All() {
    return {&jobs, &sessions,   &sessions_of_a_job, &blob_bytes,
            &keys, &batch_keys, &batch_bytes,       &requests};
  }
};

}  // namespace headrace::dataworker
