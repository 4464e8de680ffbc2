#include "simulate/bound/prices.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

namespace headrace::simulate {
namespace {

using coordinator::kUnlimited;

// Seconds at one price, in which a job runs.
struct Part {
  double price = 0;
  double seconds = 0;
  std::size_t interval = 0;
  friend bool operator<(const Part& a, const Part& b) { return a.price < b.price; }
};

// The cheapest `wanted` seconds of what is offered, as time goes on.
class CheapestSeconds {
 public:
  explicit CheapestSeconds(double wanted) : missing_(wanted) {}

  [[nodiscard]] bool full() const { return missing_ <= 0; }
  [[nodiscard]] double cost() const { return cost_; }

  // Takes up to `part.seconds` as long as some are missing, or else in place of dearer ones. Goes on until one
  // of them is used up. Returns the seconds that went by; 0: no part of it is wanted.
  double Take(const Part& part) {
    double seconds = std::min(part.seconds, missing_);
    if (full()) {
      if (kept_.top().price <= part.price) return 0;
      Part dearest = kept_.top();
      kept_.pop();
      seconds = std::min(part.seconds, dearest.seconds);
      cost_ -= seconds * dearest.price;
      dearest.seconds -= seconds;
      if (dearest.seconds > 0) kept_.push(dearest);
    } else {
      missing_ = seconds < missing_ ? missing_ - seconds : 0;
    }
    cost_ += seconds * part.price;
    kept_.push({part.price, seconds, part.interval});
    return seconds;
  }

 private:
  double missing_;
  double cost_ = 0;
  std::priority_queue<Part> kept_;
};

// Completion time and its cost.
struct Completion {
  double at = kUnlimited;
  double cost = kUnlimited;
};

std::size_t FirstInterval(const Prices& prices, double time) {
  const auto after = std::upper_bound(prices.begins.begin(), prices.begins.end(), time);
  return after == prices.begins.begin()
             ? 0
             : static_cast<std::size_t>(after - prices.begins.begin()) - 1;
}

// Within an interval cost over completion time is convex and linear between the points at which Take returns:
// the dearest second that is replaced gets cheaper. So the least is at such a point.
Completion BestCompletion(const JobNeed& need, const Prices& prices) {
  CheapestSeconds chosen(need.full_s);
  Completion best;
  double now = need.arrival_s;
  const auto consider = [&] {
    if (chosen.full() && now + chosen.cost() < best.cost) best = {now, now + chosen.cost()};
  };
  consider();
  for (std::size_t k = FirstInterval(prices, now); now < best.cost; ++k) {
    const bool beyond = k >= prices.size();
    const double end = beyond ? kUnlimited : prices.begins[k + 1];
    const double price = beyond ? 0 : PriceOf(need, prices, k);
    while (now < end) {
      const double passed = chosen.Take({price, end - now, k});
      if (passed <= 0) break;
      now += passed;
      consider();
    }
    if (beyond) break;
    now = std::max(now, end);
  }
  return best;
}

// Writes when the job runs if it completes at `at`.
void AddUse(const JobNeed& need, const Prices& prices, double at,
            std::array<std::vector<double>, kResourceCount>& used) {
  std::vector<Part> parts;
  double now = need.arrival_s;
  for (std::size_t k = FirstInterval(prices, now); k < prices.size() && now < at; ++k) {
    const double end = std::min(at, prices.begins[k + 1]);
    parts.push_back({PriceOf(need, prices, k), end - now, k});
    now = end;
  }
  std::sort(parts.begin(), parts.end());
  double left = need.full_s - std::max(0.0, at - now);  // after the last interval all is free
  for (const Part& part : parts) {
    const double seconds = std::min(part.seconds, left);
    if (seconds <= 0) break;
    left -= seconds;
    const std::size_t k = part.interval;
    for (const Resource each : {kOfGpus, kOfCores}) used[each][k] += seconds * need.shares[each];
    const bool cached = std::isfinite(need.shares[kOfCache]) &&
                        prices.of[kOfCache][k] * need.shares[kOfCache] <
                            prices.of[kOfSource][k] * need.shares[kOfSource];
    const Resource from = cached ? kOfCache : kOfSource;
    used[from][k] += seconds * need.shares[from];
  }
}

}  // namespace

Prices Prices::Zero(std::vector<double> begins) {
  Prices prices;
  prices.begins = std::move(begins);
  for (std::vector<double>& each : prices.of) each.assign(prices.size(), 0);
  return prices;
}

double PriceOf(const JobNeed& need, const Prices& prices, std::size_t k) {
  double data = prices.of[kOfSource][k] * need.shares[kOfSource];
  if (std::isfinite(need.shares[kOfCache])) {
    data = std::min(data, prices.of[kOfCache][k] * need.shares[kOfCache]);
  }
  return prices.of[kOfGpus][k] * need.shares[kOfGpus] +
         prices.of[kOfCores][k] * need.shares[kOfCores] + data;
}

double LeastCost(const JobNeed& need, const Prices& prices,
                 std::array<std::vector<double>, kResourceCount>* used) {
  const Completion best = BestCompletion(need, prices);
  if (used != nullptr) AddUse(need, prices, best.at, *used);
  // With slower phases it needs more than full_s. Prices are not negative, so both are least costs.
  return std::max(best.cost, need.arrival_s + need.least_s);
}

double SumOfCompletions(std::span<const JobNeed> needs, const Prices& prices,
                        std::array<std::vector<double>, kResourceCount>* used) {
  if (used != nullptr) {
    for (std::vector<double>& each : *used) each.assign(prices.size(), 0);
  }
  double sum = 0;
  for (const JobNeed& need : needs) sum += LeastCost(need, prices, used);
  for (const std::vector<double>& each : prices.of) {
    for (std::size_t k = 0; k < each.size(); ++k) sum -= each[k] * prices.length(k);
  }
  return sum;
}

}  // namespace headrace::simulate
