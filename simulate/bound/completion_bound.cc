#include "simulate/bound/completion_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "simulate/bound/fluid.h"
#include "simulate/bound/prices.h"

namespace headrace::simulate {
namespace {

using Uses = std::array<std::vector<double>, kResourceCount>;

// Half of the intervals are of equal length. The others have equal numbers of arrivals and completions.
std::vector<double> Intervals(std::span<const JobNeed> needs, const Fluid& fluid,
                              std::size_t count) {
  std::vector<double> events(fluid.completions);
  for (const JobNeed& need : needs) events.push_back(need.arrival_s);
  std::sort(events.begin(), events.end());
  const double begin = events.front(), end = std::max(fluid.end_s, begin + 1);
  std::vector<double> begins;
  const std::size_t half = std::max<std::size_t>(1, count / 2);
  for (std::size_t k = 0; k <= half; ++k) {
    const double part = static_cast<double>(k) / static_cast<double>(half);
    begins.push_back(k == half ? end : begin + part * (end - begin));
    const auto at = static_cast<std::size_t>(part * static_cast<double>(events.size() - 1));
    begins.push_back(events[at]);
  }
  std::sort(begins.begin(), begins.end());
  const double least = 1e-9 * (end - begin);
  std::vector<double> apart;
  for (const double each : begins) {
    if (apart.empty() || each > apart.back() + least) apart.push_back(each);
  }
  return apart;
}

// What a second of everything is worth in the fluid schedule: the jobs that it would bring forward, which are
// those that are still to be done before nobody waits. `weights` says how much of it each resource has.
Prices PricesOf(const Fluid& fluid, std::vector<double> begins,
                const std::array<double, kResourceCount>& weights) {
  Prices prices = Prices::Zero(std::move(begins));
  std::vector<double> worth(prices.size(), 0);
  double value = 0;
  double end = fluid.end_s;
  std::size_t k = prices.size();
  for (std::size_t s = fluid.steps.size(); s-- > 0;) {
    const Fluid::Step& step = fluid.steps[s];
    const auto at = [&](double time) { return step.full ? value + step.done * (end - time) : 0.0; };
    // Intervals whose middle is in this step.
    while (k > 0 && (prices.begins[k - 1] + prices.begins[k]) / 2 >= step.begin_s) {
      --k;
      worth[k] = at((prices.begins[k] + prices.begins[k + 1]) / 2);
    }
    value = at(step.begin_s);
    end = step.begin_s;
  }
  for (std::size_t m = 0; m < kResourceCount; ++m) {
    for (std::size_t i = 0; i < worth.size(); ++i) prices.of[m][i] = weights[m] * worth[i];
  }
  return prices;
}

// The same prices over other intervals.
Prices Resampled(const Prices& from, std::vector<double> begins) {
  Prices prices = Prices::Zero(std::move(begins));
  std::size_t at = 0;
  for (std::size_t k = 0; k < prices.size(); ++k) {
    const double middle = (prices.begins[k] + prices.begins[k + 1]) / 2;
    while (at + 1 < from.size() && from.begins[at + 1] <= middle) ++at;
    for (std::size_t m = 0; m < kResourceCount; ++m) prices.of[m][k] = from.of[m][at];
  }
  return prices;
}

// Moves prices towards what is used more than there is of it.
class Search {
 public:
  Search(std::span<const JobNeed> needs, double least, double most)
      : needs_(needs), least_(least), most_(most) {}

  // Starts at these prices.
  void Begin(Prices prices) {
    best_ = std::move(prices);
    bound_ = SumOfCompletions(needs_, best_, &mean_);
  }
  [[nodiscard]] const Prices& best() const { return best_; }
  [[nodiscard]] double bound() const { return bound_; }

  void Run(int rounds) {
    double boldness = 0.5;
    int failures = 0;
    Uses used;
    for (int round = 0; round < rounds && !Done(); ++round) {
      const Prices next = Step(boldness);
      const double bound = SumOfCompletions(needs_, next, &used);
      // The mean of what was used is nearer to a schedule than the last use alone.
      for (std::size_t m = 0; m < kResourceCount; ++m) {
        for (std::size_t k = 0; k < best_.size(); ++k) {
          mean_[m][k] += kNewest * (used[m][k] - mean_[m][k]);
        }
      }
      if (bound > bound_) {
        best_ = next;
        bound_ = bound;
        boldness = std::min(2.0, boldness * 1.1);
        failures = 0;
      } else if (++failures == kPatience) {
        boldness *= 0.66;
        failures = 0;
      }
    }
  }

 private:
  static constexpr double kNewest = 0.2;
  static constexpr int kPatience = 4;
  // Of what is between the trivial bound and a schedule; the rest is not worth the time.
  static constexpr double kNear = 0.002;

  [[nodiscard]] bool Done() const { return most_ - bound_ <= kNear * (most_ - least_); }

  [[nodiscard]] double ExcessOf(std::size_t m, std::size_t k) const {
    const double excess = mean_[m][k] / best_.length(k) - 1;
    return best_.of[m][k] <= 0 && excess < 0 ? 0 : excess;
  }

  // Polyak's step: as long as would reach the goal if the bound grew as steeply all the way.
  [[nodiscard]] Prices Step(double boldness) const {
    double square = 0;
    for (std::size_t m = 0; m < kResourceCount; ++m) {
      for (std::size_t k = 0; k < best_.size(); ++k) {
        square += ExcessOf(m, k) * ExcessOf(m, k) * best_.length(k);
      }
    }
    const double goal = std::min(most_, bound_ + 0.1 * (bound_ - least_) + 0.02 * (most_ - least_));
    const double step = square > 0 ? boldness * (goal - bound_) / square : 0;
    Prices next = best_;
    for (std::size_t m = 0; m < kResourceCount; ++m) {
      for (std::size_t k = 0; k < best_.size(); ++k) {
        next.of[m][k] = std::max(0.0, best_.of[m][k] + step * ExcessOf(m, k));
      }
    }
    return next;
  }

  std::span<const JobNeed> needs_;
  double least_, most_;
  Prices best_;
  double bound_ = 0;
  Uses mean_;
};

}  // namespace

CompletionBound BoundCompletion(std::span<const JobNeed> needs, const BoundOptions& options) {
  if (needs.empty()) return {};
  const Fluid fluid = RunFluid(needs);
  double arrivals = 0, least = 0, most = 0;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const double earliest = needs[i].arrival_s + needs[i].least_s;
    arrivals += needs[i].arrival_s;
    least += earliest;
    most += std::max(earliest, fluid.completions[i]);
  }
  Search search(needs, least, most);
  std::size_t count = std::min<std::size_t>(64, options.intervals);
  Prices best = Prices::Zero(Intervals(needs, fluid, count));
  double bound = SumOfCompletions(needs, best);
  for (const std::array<double, kResourceCount>& weights :
       {std::array{1.0, 0.0, 0.0, 0.0}, std::array{0.0, 1.0, 0.0, 0.0},
        std::array{0.5, 0.5, 0.0, 0.0}, std::array{0.0, 0.0, 0.5, 0.5},
        std::array{0.33, 0.33, 0.17, 0.17}}) {
    for (const double part : {0.25, 0.5, 0.75, 1.0}) {
      std::array<double, kResourceCount> scaled = weights;
      for (double& each : scaled) each *= part;
      Prices prices = PricesOf(fluid, best.begins, scaled);
      const double found = SumOfCompletions(needs, prices);
      if (found <= bound) continue;
      bound = found;
      best = std::move(prices);
    }
  }
  for (;;) {
    search.Begin(std::move(best));
    search.Run(options.rounds);
    bound = std::max(bound, search.bound());
    if (count * 2 > options.intervals) break;
    count *= 2;
    best = Resampled(search.best(), Intervals(needs, fluid, count));
  }
  const auto n = static_cast<double>(needs.size());
  return {(std::max(bound, least) - arrivals) / n, (most - arrivals) / n};
}

}  // namespace headrace::simulate
