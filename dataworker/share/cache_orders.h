#pragma once

#include <cstdint>
#include <set>

#include "base/ids.h"
#include "dataworker/cache/sample_store.h"
#include "schemas/wire/control.h"

namespace headrace::dataworker {

// Does what the coordinator orders about this worker's cache beside quotas: what ended jobs have left and
// must stay (pinned data sets), and what is to go at once (drops). Reactor thread.
class CacheOrders {
 public:
  // `cache` outlives it.
  explicit CacheOrders(SampleStore& cache) : cache_(cache) {}

  // REQUIRES: the directive's quotas were applied. True: it has a drop that was not known.
  bool OnDirective(const wire::WorkerDirective& directive);
  // The number of the last drop that is done, for the heartbeat. Tries again what could not go yet.
  [[nodiscard]] std::uint64_t Dropped();

 private:
  SampleStore& cache_;
  std::set<JobId> kept_;
  std::uint64_t seen_ = 0, done_ = 0;
};

}  // namespace headrace::dataworker
