#include "dataworker/share/cache_orders.h"

#include <algorithm>

namespace headrace::dataworker {

bool CacheOrders::OnDirective(const wire::WorkerDirective& directive) {
  std::set<JobId> kept;
  for (const wire::KeptJob& each : directive.kept) kept.insert(each.job);
  if (kept != kept_) {
    cache_.SetKept(kept);
    kept_.swap(kept);
  }
  const bool bounded = std::ranges::any_of(
      directive.kept, [](const wire::KeptJob& each) { return each.bytes != wire::kNoCacheBound; });
  if (bounded) {
    for (const StoreJobStats& has : cache_.JobStats()) {
      const auto each = std::ranges::find(directive.kept, has.all.job, &wire::KeptJob::job);
      // A job with a lease or with a grant of cache alone has its quota. What ended jobs of its data set
      // have left counts as its own.
      const auto grant = std::ranges::find(directive.grants, has.all.job, &wire::JobGrant::job);
      const bool has_quota =
          grant != directive.grants.end()
              ? !grant->idle
              : std::ranges::find(directive.jobs, has.all.job) != directive.jobs.end();
      if (each == directive.kept.end() || has_quota || has.all.bytes <= each->bytes) continue;
      cache_.SetQuota(has.all.job, StoreQuota{.bytes = each->bytes});
    }
  }
  const std::uint64_t before = seen_;
  for (const wire::DropOrder& drop : directive.drops) {
    if (drop.number <= seen_) continue;
    cache_.Doom({drop.jobs.begin(), drop.jobs.end()});
    seen_ = drop.number;
  }
  (void)Dropped();
  return seen_ != before;
}

std::uint64_t CacheOrders::Dropped() {
  if (done_ != seen_ && cache_.SweepDoomed()) done_ = seen_;
  return done_;
}

}  // namespace headrace::dataworker
