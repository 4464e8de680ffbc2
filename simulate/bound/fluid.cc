#include "simulate/bound/fluid.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headrace::simulate {
namespace {

using coordinator::kUnlimited;

struct Live {
  std::size_t job = 0;
  double left_s = 0;  // at its greatest speed
  double share = 0;   // of all resources, at that speed
  double speed = 0;   // now
  [[nodiscard]] double work() const { return left_s * share; }
};

// The part of its greatest speed that is left for the job; takes what that needs.
double TakeSpeed(const JobNeed& need, std::array<double, kResourceCount>& left) {
  double speed = 1;
  const auto bound = [&](Resource each, double share) {
    if (share > 0) speed = std::min(speed, std::max(0.0, left[each]) / share);
  };
  bound(kOfGpus, need.shares[kOfGpus]);
  bound(kOfCores, need.shares[kOfCores]);
  double cached = 0;  // part of the speed
  if (need.shares[kOfSource] > 0) {
    if (std::isfinite(need.shares[kOfCache]) && need.shares[kOfCache] > 0) {
      cached = std::min(speed, std::max(0.0, left[kOfCache]) / need.shares[kOfCache]);
      left[kOfCache] -= cached * need.shares[kOfCache];
    }
    speed = std::min(speed, cached + std::max(0.0, left[kOfSource]) / need.shares[kOfSource]);
    left[kOfSource] -= std::max(0.0, speed - cached) * need.shares[kOfSource];
  }
  left[kOfGpus] -= speed * need.shares[kOfGpus];
  left[kOfCores] -= speed * need.shares[kOfCores];
  return speed;
}

}  // namespace

Fluid RunFluid(std::span<const JobNeed> needs) {
  Fluid fluid;
  fluid.completions.assign(needs.size(), 0);
  std::vector<Live> live;
  std::size_t next = 0;
  double now = needs.empty() ? 0 : needs[0].arrival_s;
  while (next < needs.size() || !live.empty()) {
    for (; next < needs.size() && needs[next].arrival_s <= now; ++next) {
      const JobNeed& need = needs[next];
      const double data = std::isfinite(need.shares[kOfCache])
                              ? std::min(need.shares[kOfSource], need.shares[kOfCache])
                              : need.shares[kOfSource];
      live.push_back({next, need.full_s, need.shares[kOfGpus] + need.shares[kOfCores] + data, 0});
    }
    std::sort(live.begin(), live.end(), [](const Live& a, const Live& b) {
      return a.work() != b.work() ? a.work() < b.work() : a.job < b.job;
    });
    std::array<double, kResourceCount> left{};
    left.fill(1);
    Fluid::Step step{now, 0, false};
    double until = next < needs.size() ? needs[next].arrival_s : kUnlimited;
    for (Live& each : live) {
      each.speed = TakeSpeed(needs[each.job], left);
      if (each.speed < 1) step.full = true;
      if (each.speed <= 0) continue;
      step.done += each.speed / needs[each.job].full_s;
      until = std::min(until, now + each.left_s / each.speed);
    }
    fluid.steps.push_back(step);
    for (Live& each : live) {
      each.left_s -= each.speed * (until - now);
      if (each.left_s > 1e-9 * needs[each.job].full_s) continue;
      each.left_s = 0;
      fluid.completions[each.job] = until;
    }
    std::erase_if(live, [](const Live& each) { return each.left_s <= 0; });
    now = until;
  }
  fluid.end_s = now;
  return fluid;
}

}  // namespace headrace::simulate
