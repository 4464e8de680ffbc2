#include "coordinator/estimate/estimator.h"

#include <algorithm>
#include <cmath>

namespace headrace::coordinator {
namespace {

// If nothing is asked for, it takes nothing. Anything that costs nothing is unlimited.
double Quotient(double amount, double each) {
  if (amount <= 0) return 0;
  return each > 0 ? amount / each : kUnlimited;
}

}  // namespace

double CostPerSample(const Terms& terms, double hit) {
  return hit * terms.hit_cost + (1 - hit) * terms.miss_cost;
}

double SourceBytesPerSample(const Terms& terms, double hit) { return (1 - hit) * terms.miss_bytes; }

double NetworkThroughput(const Terms& terms, double hit, const NetworkShare& network) {
  if (terms.sent_bytes <= 0 || std::isinf(network.rate)) return kUnlimited;
  return Quotient(network.own_cores, CostPerSample(terms, hit)) +
         std::max(0.0, network.rate) / terms.sent_bytes;
}

double CoresOfUse(const Terms& terms, double hit, const NetworkShare& network) {
  if (terms.sent_bytes <= 0 || std::isinf(network.rate)) return kUnlimited;
  return network.own_cores +
         std::max(0.0, network.rate) / terms.sent_bytes * CostPerSample(terms, hit);
}

double NetworkRateFor(const Terms& terms, double rate, double hit, double own_cores) {
  const double own = Quotient(own_cores, CostPerSample(terms, hit));
  return rate > own ? (rate - own) * terms.sent_bytes : 0;
}

double Throughput(const Terms& terms, double cores, double hit, double source_rate,
                  const NetworkShare& network) {
  const double cost = CostPerSample(terms, hit);
  const double bytes = SourceBytesPerSample(terms, hit);
  double rate = std::min(terms.ready_rate, NetworkThroughput(terms, hit, network));
  if (cost > 0) rate = std::min(rate, Quotient(cores, cost));
  if (bytes > 0) rate = std::min(rate, Quotient(source_rate, bytes));
  return rate;
}

double CoresFor(const Terms& terms, double rate, double hit) {
  const double cost = CostPerSample(terms, hit);
  return cost > 0 ? rate * cost : 0;
}

double SourceRateFor(const Terms& terms, double rate, double hit) {
  const double bytes = SourceBytesPerSample(terms, hit);
  return bytes > 0 ? rate * bytes : 0;
}

double UniformHit(double cached, double total) {
  return total > 0 ? std::clamp(cached / total, 0.0, 1.0) : 0;
}

double LruHit(double cached, double total) {
  const double x = UniformHit(cached, total);
  return x < 1 ? x + (1 - x) * std::log1p(-x) : 1;
}

}  // namespace headrace::coordinator
