#include "coordinator/source_limits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "coordinator/divide_source.h"
#include "coordinator/policy/core/divide.h"

namespace headrace::coordinator {
namespace {

// Part of an equal share of the source for a job that, as measured, needs none of it. Its cache may
// shrink, or its code may read something else. Then it must be able to show its need.
constexpr double kLeastOfSource = 0.1;

}  // namespace

double SourceWithRoom(const JobView& view, const Grant& grant, double share, std::size_t leases,
                      double equal) {
  const bool met = grant.rate >= AskedRate(view, view.effective_hit) * (1 - 1e-6);
  if (!met || !std::isfinite(grant.source_rate)) return 0;
  const auto workers = static_cast<double>(std::max<std::size_t>(1, leases));
  const double need = grant.source_rate * share;
  const double room = workers * RateWithRoom(need / workers, view.terms.miss_bytes);
  return std::max(RateWithRoom(need, 0), std::min(room, equal));
}

double LeastOfSource(double most, std::size_t ranks, bool known) {
  const double equal = most / static_cast<double>(ranks);
  return std::isfinite(equal) ? equal * (known ? kLeastOfSource : 1) : 0;
}

void LimitSource(const State& state, double total, double read_bytes, JobPlan& plan) {
  const auto& had = state.FindJob(plan.job)->grants;
  std::vector<std::optional<SourceUse>> uses;
  std::vector<double> held;
  for (const auto& [id, grant] : plan.grants) {
    const Worker& worker = *state.FindWorker(id);
    const auto use = worker.source_use.find(plan.job);
    uses.push_back(use == worker.source_use.end() ? std::nullopt : std::optional(use->second));
    const auto before = had.find(id);
    held.push_back(
        before == had.end() ? 0 : static_cast<double>(before->second.source_bytes_per_second));
  }
  const std::vector<double> parts = SteadyParts(DivideSource(total, uses, read_bytes), held);
  std::size_t k = 0;
  for (auto& [id, grant] : plan.grants) {
    grant.source_bytes_per_second = static_cast<std::uint64_t>(std::max(1.0, parts[k++]));
  }
}

}  // namespace headrace::coordinator
