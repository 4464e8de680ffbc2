#include "coordinator/policy/core/divide.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "base/check.h"
#include "coordinator/policy/core/explain.h"
#include "coordinator/policy/core/fill_cache.h"

namespace headrace::coordinator {
namespace {

// Of bytes that are cached already, in the choice of what is cached.
constexpr double kKeepBonus = 1.25;

// Gives away cores that nobody needs, up to kHeadroom of each job's.
void SpreadCores(const Snapshot& snapshot, std::vector<Grant>& grants) {
  std::vector<double> used(snapshot.tenants.size(), 0);
  double all = 0;
  for (std::size_t i = 0; i < grants.size(); ++i) {
    used[static_cast<std::size_t>(snapshot.jobs[i].tenant)] += grants[i].cores;
    all += grants[i].cores;
  }
  if (all <= 0) return;
  const double more = std::clamp(snapshot.supply.cores / all, 1.0, 1 + kHeadroom);
  for (std::size_t i = 0; i < grants.size(); ++i) {
    const auto t = static_cast<std::size_t>(snapshot.jobs[i].tenant);
    if (used[t] <= 0) continue;
    const double quota = std::max(1.0, snapshot.tenants[t].quota.cores / used[t]);
    const double cores =
        std::min(grants[i].cores * std::min(more, quota), snapshot.jobs[i].most_cores);
    grants[i].cores = std::max(grants[i].cores, cores);
  }
}

// Spreads what nobody needs, in proportion to need: a limit should not bind if there is enough.
void SpreadSource(const Snapshot& snapshot, std::vector<Grant>& grants) {
  if (std::isinf(snapshot.supply.source_rate)) {
    for (std::size_t i = 0; i < grants.size(); ++i) {
      const Tenant& tenant = snapshot.tenants[static_cast<std::size_t>(snapshot.jobs[i].tenant)];
      if (grants[i].admitted && std::isinf(tenant.quota.source_rate)) {
        grants[i].source_rate = kUnlimited;
      }
    }
    return;
  }
  std::vector<double> used(snapshot.tenants.size(), 0);
  double all = 0;
  for (std::size_t i = 0; i < grants.size(); ++i) {
    used[static_cast<std::size_t>(snapshot.jobs[i].tenant)] += grants[i].source_rate;
    all += grants[i].source_rate;
  }
  if (all <= 0) return;
  const double more = std::max(1.0, snapshot.supply.source_rate / all);
  for (std::size_t i = 0; i < grants.size(); ++i) {
    const auto t = static_cast<std::size_t>(snapshot.jobs[i].tenant);
    const double quota = snapshot.tenants[t].quota.source_rate;
    if (used[t] > 0) grants[i].source_rate *= std::max(1.0, std::min(more, quota / used[t]));
  }
}

}  // namespace

Scarcity ScarcityOf(const Snapshot& snapshot, std::span<const double> hits) {
  Scarcity scarce;
  for (const Need& need : NeedsOf(snapshot, hits)) {
    if (need.cores > need.limit.cores) scarce.cores = true;
    if (need.source > need.limit.source_rate) scarce.source = true;
  }
  return scarce;
}

std::vector<std::size_t> Order(const Snapshot& snapshot,
                               const std::function<bool(const JobView&, const JobView&)>& before) {
  std::vector<std::size_t> order(snapshot.jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const JobView &x = snapshot.jobs[a], &y = snapshot.jobs[b];
    return x.priority != y.priority ? x.priority > y.priority : before(x, y);
  });
  return order;
}

std::vector<std::size_t> SharedFirst(const Snapshot& snapshot, std::span<const std::size_t> order) {
  std::vector<bool> shared(snapshot.datasets.size(), false);
  for (std::size_t d = 0; d < shared.size(); ++d) {
    const Dataset& dataset = snapshot.datasets[d];
    shared[d] = dataset.bytes > 0 && dataset.cached_bytes >= dataset.bytes / 2;
  }
  double oldest = kUnlimited;
  for (const JobView& job : snapshot.jobs) {
    if (!job.running) oldest = std::min(oldest, job.arrival_s);
    if (job.running && job.dataset >= 0) shared[static_cast<std::size_t>(job.dataset)] = true;
  }
  std::vector<std::size_t> first(order.begin(), order.end());
  std::ranges::stable_sort(first, [&](std::size_t a, std::size_t b) {
    const auto goes_first = [&](const JobView& job) {
      return !job.running && job.dataset >= 0 && shared[static_cast<std::size_t>(job.dataset)] &&
             job.arrival_s - oldest <= kMostAhead;
    };
    const JobView &x = snapshot.jobs[a], &y = snapshot.jobs[b];
    return x.priority != y.priority ? x.priority > y.priority : goes_first(x) && !goes_first(y);
  });
  return first;
}

void Admit(const Snapshot& snapshot, std::span<const std::size_t> order, bool preempts,
           std::vector<Grant>& grants) {
  double free = snapshot.supply.gpus;
  std::vector<double> quota;
  for (const Tenant& tenant : snapshot.tenants) quota.push_back(tenant.quota.gpus);
  const auto tenant_of = [&](std::size_t i) {
    return static_cast<std::size_t>(snapshot.jobs[i].tenant);
  };
  const auto admit = [&](std::size_t i) {
    grants[i].admitted = true;
    free -= snapshot.jobs[i].gpus;
    quota[tenant_of(i)] -= snapshot.jobs[i].gpus;
  };
  const auto number = [](double value) {
    return std::to_string(static_cast<std::int64_t>(std::max(0.0, value)));
  };
  // The resource of which a tenant may have none; "": it may have jobs.
  const auto denied = [](const Tenant& tenant) -> std::string {
    if (tenant.quota.cores <= 0) return "cores";
    return tenant.quota.source_rate <= 0 ? "the source's bandwidth" : "";
  };
  if (!preempts) {
    for (const std::size_t i : order) {
      if (snapshot.jobs[i].running && denied(snapshot.tenants[tenant_of(i)]).empty()) admit(i);
    }
  }
  for (const std::size_t i : order) {
    if (grants[i].admitted) continue;
    const JobView& job = snapshot.jobs[i];
    const Tenant& tenant = snapshot.tenants[tenant_of(i)];
    const double gpus = job.gpus;
    if (const std::string what = denied(tenant); !what.empty()) {
      grants[i].reason = "tenant " + tenant.name + " has no quota of " + what;
    } else if (gpus > quota[tenant_of(i)]) {
      grants[i].reason = "needs " + number(gpus) + " GPUs, tenant " + tenant.name + " has " +
                         number(quota[tenant_of(i)]) + " of its quota of " +
                         number(tenant.quota.gpus) + " left";
    } else if (gpus > free) {
      grants[i].reason = "needs " + number(gpus) + " GPUs, " + number(free) + " are free";
    } else {
      admit(i);
    }
  }
}

double BusyGpus(const Snapshot& snapshot, const Rates& rates) {
  double busy = 0;
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
    const JobView& job = snapshot.jobs[i];
    if (job.terms.ready_rate > 0) busy += job.gpus * rates[i] / job.terms.ready_rate;
  }
  return busy;
}

Allocation AllocateJointly(const Snapshot& all, std::span<const std::size_t> order, bool preempts,
                           const Divide& divide) {
  HR_CHECK(!all.tenants.empty());
  Allocation result;
  result.jobs.resize(all.jobs.size());
  if (all.shared_cache_first && !preempts) {
    Admit(all, SharedFirst(all, order), preempts, result.jobs);
  } else {
    Admit(all, order, preempts, result.jobs);
  }
  // Thousands may wait, so the rest is about the admitted jobs alone.
  Snapshot snapshot{all.supply, all.tenants, all.datasets, {}, all.floor};
  std::vector<std::size_t> positions;                              // indices of these in `all`
  std::vector<std::size_t> places(all.jobs.size(), kNotAdmitted);  // the inverse
  for (std::size_t i = 0; i < all.jobs.size(); ++i) {
    if (!result.jobs[i].admitted) continue;
    places[i] = positions.size();
    positions.push_back(i);
    snapshot.jobs.push_back(all.jobs[i]);
    snapshot.supply.cores -= all.jobs[i].pinned_cores;
  }
  snapshot.supply.cores = std::max(0.0, snapshot.supply.cores);
  const bool caches = snapshot.supply.cache_bytes > 0 && !snapshot.datasets.empty();
  result.dataset_bytes.assign(snapshot.datasets.size(), 0);
  if (caches) {
    const std::vector<Reader> readers = ReadersOf(all, places);
    // Where jobs take turns, quotas would change with each turn, and a data set be read again in the next.
    const double keep_bonus = preempts ? kKeepBonus : 1;
    const double cores = std::max(snapshot.supply.cores, 1e-9);
    const double source =
        std::isinf(snapshot.supply.source_rate) ? 0 : std::max(snapshot.supply.source_rate, 1e-9);
    constexpr std::array kCoresWeight = {0.5, 0.0, 1.0, 0.25, 0.75};
    double best = -1;
    for (const double weight : kCoresWeight) {
      if (source == 0 && weight != 1.0) continue;  // a source without a limit has no price
      const Prices prices{weight / cores, source > 0 ? (1 - weight) / source : 0};
      Rates rates;
      // At its present hits: a job that is served from the cache has few cores, and would seem to read
      // slowly.
      for (const JobView& job : snapshot.jobs) rates.push_back(AskedRate(job, job.effective_hit));
      // The first pass is for what jobs ask for, the second for what they then get.
      for (int pass = 0; pass < 2; ++pass) {
        const auto quota = FillCache(snapshot, readers, rates, prices, keep_bonus);
        Division division = divide(snapshot, LastingHits(snapshot, quota));
        rates = std::move(division.rates);
        if (division.objective > best * (1 + 1e-9)) {
          best = division.objective;
          result.dataset_bytes = quota;
        }
      }
    }
    result.dataset_bytes = KeepNearby(snapshot, readers, std::move(result.dataset_bytes));
  }
  const HitShares hits = PresentHits(snapshot, result.dataset_bytes);
  const Division division = divide(snapshot, hits);
  const Rates& rates = division.rates;
  std::vector<Grant> grants(snapshot.jobs.size());
  for (std::size_t k = 0; k < grants.size(); ++k) {
    grants[k].admitted = true;
    grants[k].rate = rates[k];
    grants[k].cores = CoresFor(snapshot.jobs[k].terms, rates[k], hits.now[k]);
    grants[k].source_rate = SourceRateFor(snapshot.jobs[k].terms, rates[k], hits.now[k]);
  }
  SpreadCores(snapshot, grants);
  SpreadSource(snapshot, grants);
  Explain(snapshot, hits.now, division, grants);
  for (std::size_t k = 0; k < grants.size(); ++k) result.jobs[positions[k]] = std::move(grants[k]);
  return result;
}

}  // namespace headrace::coordinator
