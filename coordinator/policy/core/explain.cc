#include "coordinator/policy/core/explain.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace headrace::coordinator {
namespace {

// Amounts that differ by less than this part are equal.
constexpr double kEqual = 1e-6;

// The best served of those that use a limit.
struct Best {
  double for_weight = 0;  // of what is limited, over WeightOf
  std::size_t job = std::numeric_limits<std::size_t>::max();
};

class Explainer {
 public:
  Explainer(const Snapshot& snapshot, std::span<const double> hits, const Division& division)
      : snapshot_(snapshot), hits_(hits), division_(division) {
    best_.resize(static_cast<std::size_t>(
        LimitOf(LimitOn::kCores, static_cast<std::int32_t>(snapshot.tenants.size()))));
    for (const JobView& job : snapshot.jobs) highest_ = std::max(highest_, job.priority);
    for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
      const JobView& job = snapshot.jobs[i];
      for (const LimitOn what : {LimitOn::kCores, LimitOn::kSource}) {
        // Of all jobs, the first class is the one that others wait for.
        if (job.priority == highest_) Count(LimitOf(what), what, i);
        Count(LimitOf(what, job.tenant), what, i);
      }
    }
    std::vector<std::size_t> members(snapshot.jobs.size());
    for (std::size_t i = 0; i < members.size(); ++i) members[i] = i;
    fair_ = FairShares(snapshot, hits, members, Budget(snapshot));
  }

  [[nodiscard]] GrantWhy Why(std::size_t i, const std::vector<Grant>& grants) const {
    const JobView& job = snapshot_.jobs[i];
    GrantWhy why;
    why.cores = grants[i].cores;
    why.wanted = std::max(why.cores, CoresFor(job.terms, AskedRate(job, hits_[i]), hits_[i]));
    why.fair = fair_[i].cores;
    why.floor = division_.floor;
    const std::int32_t limit = division_.stopped[i];
    if (limit < 0) return why;
    const LimitOn what = limit % 2 == 0 ? LimitOn::kCores : LimitOn::kSource;
    if (limit >= LimitOf(LimitOn::kCores, 0)) {
      why.limit = GrantLimit::kQuota;
    } else if (job.priority < highest_) {
      why.limit = GrantLimit::kPriority;
    } else {
      why.limit = what == LimitOn::kCores ? GrantLimit::kCores : GrantLimit::kSource;
    }
    const Best& best = best_[static_cast<std::size_t>(limit)];
    if (best.job >= grants.size() || best.job == i) return why;
    // Who has as much for its weight is no rival.
    if (best.for_weight <= ForWeight(what, i) * (1 + kEqual)) return why;
    why.rival = snapshot_.jobs[best.job].job;
    why.rival_cores = grants[best.job].cores;
    why.preferred = division_.preference.empty() ||
                    division_.preference[best.job] > division_.preference[i] + kEqual;
    return why;
  }

 private:
  [[nodiscard]] double ForWeight(LimitOn what, std::size_t i) const {
    const JobView& job = snapshot_.jobs[i];
    const double each = what == LimitOn::kCores ? CostPerSample(job.terms, hits_[i])
                                                : SourceBytesPerSample(job.terms, hits_[i]);
    return division_.rates[i] * each / WeightOf(snapshot_, job);
  }
  void Count(std::int32_t limit, LimitOn what, std::size_t i) {
    const double amount = ForWeight(what, i);
    Best& best = best_[static_cast<std::size_t>(limit)];
    if (amount > best.for_weight) best = {amount, i};
  }

  const Snapshot& snapshot_;
  std::span<const double> hits_;
  const Division& division_;
  std::int32_t highest_ = std::numeric_limits<std::int32_t>::min();
  std::vector<Best> best_;  // by limit
  std::vector<FairShare> fair_;
};

}  // namespace

void Explain(const Snapshot& snapshot, std::span<const double> hits, const Division& division,
             std::vector<Grant>& grants) {
  const Explainer explainer(snapshot, hits, division);
  for (std::size_t i = 0; i < grants.size(); ++i) grants[i].why = explainer.Why(i, grants);
}

}  // namespace headrace::coordinator
