#pragma once

#include <cstdint>

#include "base/clock.h"

// How many workers an elastic pool should have. It grows at once to what the jobs ask for. It gives
// members back when they were not needed for a while.
namespace headrace::coordinator {

struct PoolView {
  double demand_cores = 0;   // demand of all jobs, as measured
  double other_cores = 0;    // cores of workers outside the pool
  double member_cores = 1;   // cores of one member
  std::int32_t members = 0;  // members that run or start
};

// Thread-compatible; a value.
class PoolSizer {
 public:
  struct Options {
    std::int32_t least = 0;
    std::int32_t most = 0;
    Duration idle_after;  // an unneeded member is drained after this time
  };
  explicit PoolSizer(Options options) : options_(options), wanted_(options.least) {}

  // Returns the members to start (> 0), or to drain (< 0) now.
  std::int32_t Observe(const PoolView& view, SteadyTime now);
  // What the jobs ask for now, by the last view; the least number before there was one.
  [[nodiscard]] std::int32_t wanted() const { return wanted_; }

 private:
  Options options_;
  std::int32_t wanted_;
  bool idle_ = false;
  SteadyTime idle_since_{};
  std::int32_t most_wanted_ = 0;  // since then
};

}  // namespace headrace::coordinator
