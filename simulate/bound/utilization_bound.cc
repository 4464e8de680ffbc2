#include "simulate/bound/utilization_bound.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace headrace::simulate {
namespace {

// Seconds of all of a resource that the job needs.
double WorkOf(const JobNeed& need, Resource resource) {
  if (resource == kOfGpus) return need.shares[kOfGpus] * need.least_s;
  if (resource == kOfSource && std::isfinite(need.shares[kOfCache])) return 0;
  return need.shares[resource] * need.full_s;
}

double LeastMakespan(std::span<const JobNeed> needs) {
  const double first = needs.front().arrival_s;
  double least = 0;
  for (const JobNeed& need : needs) {
    least = std::max(least, need.arrival_s + need.least_s - first);
  }
  for (const Resource each : {kOfGpus, kOfCores, kOfSource}) {
    double work = 0;
    for (std::size_t i = needs.size(); i-- > 0;) {
      work += WorkOf(needs[i], each);
      least = std::max(least, needs[i].arrival_s - first + work);
    }
  }
  return least;
}

// The most useful GPU-seconds of each job until `end`.
std::vector<double> UsefulUntil(std::span<const JobNeed> needs, int gpus, double end) {
  std::vector<double> useful;
  useful.reserve(needs.size());
  for (const JobNeed& need : needs) {
    const double time = end - need.arrival_s;
    // With phases, the useful part of its time is not known.
    const double rate =
        need.full_s < need.least_s ? need.shares[kOfGpus] * gpus : need.useful_gpu_s / need.full_s;
    useful.push_back(std::min(need.useful_gpu_s, time * rate));
  }
  return useful;
}

// The most that GPUs do of it.
double MostOfGpus(std::span<const JobNeed> needs, std::span<const double> useful, int gpus,
                  double end) {
  double before = 0, most = gpus * (end - needs.front().arrival_s);
  for (std::size_t i = 0; i < needs.size(); ++i) {
    before += useful[i];
    const double next = i + 1 < needs.size() ? needs[i + 1].arrival_s : end;
    most = std::min(most, before + gpus * (end - next));
  }
  return most;
}

// The most that `seconds` of all cores feed: what needs least of them for a GPU-second comes first.
double MostOfCores(std::span<const JobNeed> needs, std::span<const double> useful, double seconds) {
  std::vector<double> each;  // seconds of all cores for a useful GPU-second
  for (const JobNeed& need : needs) {
    const bool known = need.full_s >= need.least_s && need.useful_gpu_s > 0;
    each.push_back(known ? WorkOf(need, kOfCores) / need.useful_gpu_s : 0);
  }
  std::vector<std::size_t> order(needs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return each[a] < each[b]; });
  double most = 0;
  for (const std::size_t i : order) {
    const double work = each[i] * useful[i];
    const double part = work > seconds ? std::max(0.0, seconds) / work : 1;
    most += part * useful[i];
    seconds -= part * work;
  }
  return most;
}

}  // namespace

UtilizationBound BoundUtilization(std::span<const JobNeed> needs, int gpus) {
  UtilizationBound bound;
  if (needs.empty()) return bound;
  double useful = 0, held = 0;
  for (const JobNeed& need : needs) {
    useful += need.useful_gpu_s;
    held += need.shares[kOfGpus] * gpus * need.least_s;
  }
  bound.makespan_s = LeastMakespan(needs);
  const auto share = [](double part, double whole) {
    return whole > 0 ? std::min(1.0, part / whole) : 0;
  };
  bound.gpu_util = share(useful, gpus * bound.makespan_s);
  bound.gpu_util_held = share(useful, held);
  const double end = needs.back().arrival_s, window = end - needs.front().arrival_s;
  const std::vector<double> until = UsefulUntil(needs, gpus, end);
  bound.gpu_util_window =
      share(std::min(MostOfGpus(needs, until, gpus, end), MostOfCores(needs, until, window)),
            gpus * window);
  return bound;
}

}  // namespace headrace::simulate
