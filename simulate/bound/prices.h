#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "simulate/bound/job_need.h"

// A price for each resource at each time, and what the best schedule is worth at these prices. Any prices
// that are not negative give a lower bound of the completion times of all schedules:
//
//   Take a schedule. Job j runs at y_j(t) of its greatest speed, 0..1, from its arrival to its completion C_j,
//   and the integral of y_j is full_s (it is more where its trainer has slower phases). No resource m is used
//   beyond its supply: sum_j share_jm y_j(t) <= 1 at all times. So for all prices v_m(t) >= 0
//
//     sum_j C_j  >=  sum_j [ C_j + integral of sum_m v_m share_jm y_j ]  -  integral of sum_m v_m
//
//   Each bracket is at least the least that it can be for this job alone: for whatever completion time, and
//   for y_j at the cheapest times before it. That least is LeastCost. Pre-emption, parts of GPUs and cores,
//   and the knowledge of all jobs to come are allowed, so the schedules of all policies count.
//
// The best prices give the optimum of a linear program: to mix, for each job, ways to run it, so that no
// resource is used beyond its supply. Its other name is the Lagrangian dual. Worse prices give less, and
// nothing that is wrong. Source: Held and Karp, 1971, for the method; Sousa and Wolsey, 1992, for the
// program, which is time-indexed.
namespace headrace::simulate {

// Prices that are constant within intervals, and 0 after the last of them. A price is for all of a resource,
// in seconds of completion time for each second of it.
struct Prices {
  std::vector<double>
      begins;  // of the intervals, rising; the last entry is the end of the last interval
  std::array<std::vector<double>, kResourceCount> of;  // [resource][interval], >= 0

  [[nodiscard]] std::size_t size() const { return begins.empty() ? 0 : begins.size() - 1; }
  [[nodiscard]] double length(std::size_t k) const { return begins[k + 1] - begins[k]; }
  [[nodiscard]] static Prices Zero(std::vector<double> begins);
};

// What one second at the greatest speed costs a job in an interval; it takes the cheaper one of source and
// cache.
[[nodiscard]] double PriceOf(const JobNeed& need, const Prices& prices, std::size_t interval);

// The least of completion time + price of a job, in seconds of the trace's clock. Adds the seconds of each
// resource that it then uses to `used`, [resource][interval], if that is given. O(n log n) for the n
// intervals from its arrival to its completion.
[[nodiscard]] double LeastCost(const JobNeed& need, const Prices& prices,
                               std::array<std::vector<double>, kResourceCount>* used = nullptr);

// The bound: the sum of completion times is at least this. `used`: of all jobs, overwritten.
[[nodiscard]] double SumOfCompletions(
    std::span<const JobNeed> needs, const Prices& prices,
    std::array<std::vector<double>, kResourceCount>* used = nullptr);

}  // namespace headrace::simulate
