#include "coordinator/policy/core/index.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace headrace::coordinator {
namespace {

// Weights that differ by more than e to this count as equally small: beyond e^-700 there are no doubles.
constexpr double kMostApart = 600;
// How much of a job's price is the present one.
constexpr double kPresent = 0.05;

// The logarithm of the seconds that each job has left at full speed.
std::vector<double> LnSecondsLeft(const Snapshot& snapshot) {
  std::vector<double> left(snapshot.jobs.size(), kUnlimited);
  double sum = 0, known = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const JobView& job = snapshot.jobs[i];
    if (std::isinf(job.remaining_samples) || job.terms.ready_rate <= 0) continue;
    // At least a second: the last samples of a job are no reason to give it everything.
    left[i] = std::log(std::max(1.0, job.remaining_samples / job.terms.ready_rate));
    sum += left[i];
    ++known;
  }
  for (double& each : left) {
    if (std::isinf(each)) each = known > 0 ? sum / known : 0;
  }
  return left;
}

// The index of DivideByWorth at these prices. `ln_left`: LnSecondsLeft.
std::vector<double> WorthAt(const Snapshot& snapshot, const HitShares& hits,
                            std::span<const double> ln_left, const Prices& prices) {
  const auto price = [&](const JobView& job, double hit) {
    return CostPerSample(job.terms, hit) * prices.cores +
           SourceBytesPerSample(job.terms, hit) * prices.source;
  };
  std::vector<double> index(snapshot.jobs.size(), kUnlimited);
  double greatest = -kUnlimited;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const JobView& job = snapshot.jobs[i];
    const double each =
        (1 - kPresent) * price(job, hits.lasting[i]) + kPresent * price(job, hits.now[i]);
    if (job.terms.ready_rate <= 0 || each <= 0) continue;
    index[i] = std::log(job.gpus / job.terms.ready_rate / each) - ln_left[i];
    greatest = std::max(greatest, index[i]);
  }
  // Who needs nothing that has a price is in nobody's way.
  for (double& each : index) {
    if (std::isinf(each)) each = std::isinf(greatest) ? 0 : greatest;
  }
  return index;
}

}  // namespace

Division DivideByIndex(const Snapshot& snapshot, std::span<const double> hits,
                       std::span<const double> index, double floor) {
  floor = snapshot.floor.value_or(floor);
  const auto rule = [&](std::span<const std::size_t> members, Budget& budget, Rates& rates) {
    const std::vector<FairShare> shares = FairShares(snapshot, hits, members, budget);
    double greatest = -kUnlimited;
    for (const std::size_t i : members) greatest = std::max(greatest, index[i]);
    std::vector<double> weights;
    weights.reserve(members.size());
    for (std::size_t k = 0; k < members.size(); ++k) {
      const std::size_t i = members[k];
      const JobView& job = snapshot.jobs[i];
      rates[i] = RateOfShare(job, hits[i], shares[k], floor);
      budget.Take(job, hits[i], rates[i]);
      const double apart = std::min(kMostApart, kSharpness * (greatest - index[i]));
      weights.push_back(MostOfShare(job, hits[i], shares[k]) * std::exp(-apart));
    }
    PourRates(snapshot, hits, members, weights, budget, rates);
    return 0.0;
  };
  Division division = DivideByPriority(snapshot, hits, rule);
  division.objective = BusyGpus(snapshot, division.rates);
  return division;
}

Division DivideByWorth(const Snapshot& snapshot, const HitShares& hits) {
  const double cores = std::max(snapshot.supply.cores, 1e-9);
  const double source = snapshot.supply.source_rate;
  Scarcity scarce = ScarcityOf(snapshot, hits.now);
  if (std::isinf(source)) scarce.source = false;  // a tenant's quota alone makes no price
  const std::vector<double> left = LnSecondsLeft(snapshot);
  constexpr std::array kCoresWeight = {1.0, 0.5, 0.0};
  Division best;
  for (const double weight : kCoresWeight) {
    if (weight < 1 && !scarce.source) break;
    if (weight > 0 && !scarce.cores && scarce.source) continue;
    const Prices prices{weight / cores, weight < 1 ? (1 - weight) / std::max(source, 1e-9) : 0};
    Division division =
        DivideByIndex(snapshot, hits.now, WorthAt(snapshot, hits, left, prices), kFloorOfWorth);
    if (best.rates.empty() || division.objective > best.objective * (1 + 1e-9)) {
      best = std::move(division);
    }
  }
  return best;
}

}  // namespace headrace::coordinator
