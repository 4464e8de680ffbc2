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

// The index of DivideByWorth at these prices.
std::vector<double> WorthAt(const Snapshot& snapshot, const HitShares& hits, const Prices& prices) {
  const auto price = [&](const JobView& job, double hit) {
    return CostPerSample(job.terms, hit) * prices.cores +
           SourceBytesPerSample(job.terms, hit) * prices.source;
  };
  std::vector<double> index(snapshot.jobs.size(), 0);
  std::vector<bool> known(index.size(), false);
  double greatest = -kUnlimited, sum = 0, count = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const JobView& job = snapshot.jobs[i];
    const double each =
        (1 - kPresent) * price(job, hits.lasting[i]) + kPresent * price(job, hits.now[i]);
    if (std::isinf(job.remaining_samples)) continue;
    known[i] = true;
    index[i] = kUnlimited;
    if (each <= 0) continue;
    // At least those of a second: the last samples of a job are no reason to give it everything.
    const double left = std::max({job.remaining_samples, job.terms.ready_rate, 1.0});
    index[i] = std::log(job.gpus / each / left);
    greatest = std::max(greatest, index[i]);
    sum += index[i];
    ++count;
  }
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (!known[i]) index[i] = count > 0 ? sum / count : 0;
    // Who needs nothing that has a price is in nobody's way.
    if (std::isinf(index[i])) index[i] = count > 0 ? greatest : 0;
  }
  return index;
}

}  // namespace

Division DivideByIndex(const Snapshot& snapshot, std::span<const double> hits,
                       std::span<const double> index, double floor) {
  floor = snapshot.floor.value_or(floor);
  const auto rule = [&](std::span<const std::size_t> members, Budget& budget, Division& division) {
    const std::vector<FairShare> shares = FairShares(snapshot, hits, members, budget);
    double greatest = -kUnlimited;
    for (const std::size_t i : members) greatest = std::max(greatest, index[i]);
    std::vector<double> weights;
    weights.reserve(members.size());
    for (std::size_t k = 0; k < members.size(); ++k) {
      const std::size_t i = members[k];
      const JobView& job = snapshot.jobs[i];
      division.rates[i] = RateOfShare(job, hits[i], shares[k], floor);
      budget.Take(job, hits[i], division.rates[i]);
      const double apart = std::min(kMostApart, kSharpness * (greatest - index[i]));
      weights.push_back(MostOfShare(job, hits[i], shares[k]) * std::exp(-apart));
    }
    PourRates(snapshot, hits, members, weights, budget, division);
    return 0.0;
  };
  Division division = DivideByPriority(snapshot, hits, rule);
  division.objective = BusyGpus(snapshot, division.rates);
  division.preference.assign(index.begin(), index.end());
  division.floor = floor;
  return division;
}

Division DivideByWorth(const Snapshot& snapshot, const HitShares& hits) {
  const double cores = std::max(snapshot.supply.cores, 1e-9);
  const double source = snapshot.supply.source_rate;
  Scarcity scarce = ScarcityOf(snapshot, hits.now);
  if (std::isinf(source)) scarce.source = false;  // a tenant's quota alone makes no price
  constexpr std::array kCoresWeight = {1.0, 0.5, 0.0};
  Division best;
  for (const double weight : kCoresWeight) {
    if (weight < 1 && !scarce.source) break;
    if (weight > 0 && !scarce.cores && scarce.source) continue;
    const Prices prices{weight / cores, weight < 1 ? (1 - weight) / std::max(source, 1e-9) : 0};
    Division division =
        DivideByIndex(snapshot, hits.now, WorthAt(snapshot, hits, prices), kFloorOfWorth);
    if (best.rates.empty() || division.objective > best.objective * (1 + 1e-9)) {
      best = std::move(division);
    }
  }
  return best;
}

}  // namespace headrace::coordinator
