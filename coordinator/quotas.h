#pragma once

#include <array>
#include <cstddef>

#include "base/quota.h"

namespace headrace::coordinator {

// What peers may take of a coordinator. The defaults are far above what clusters have, and bound its
// memory: a job, a session or a worker takes some kilobytes.
struct Quotas {
  Quota jobs{"--max-jobs", 10'000, "open jobs", false,
             "the program's `iter()` waits until there is room"};
  Quota jobs_of_a_tenant{"--max-jobs-of-a-tenant", 10'000, "open jobs of one tenant", false,
                         "the program's `iter()` waits until there is room"};
  Quota sessions{"--max-sessions-of-a-job", 4096, "open loaders of one job", false,
                 "that loader keeps its own workers"};
  Quota workers{"--max-registered-workers", 20'000, "registered workers", false,
                "the worker ends with it"};
  Quota plan_bytes{"--max-plan-bytes", std::uint64_t{8} << 20, "bytes of a loader's plan", true,
                   "that loader keeps its own workers"};

  // All of them, for options and for the page of limits.
  [[nodiscard]] std::array<Quota*, 5> All() {
    return {&jobs, &jobs_of_a_tenant, &sessions, &workers, &plan_bytes};
  }
};

}  // namespace headrace::coordinator
