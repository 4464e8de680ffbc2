#include "coordinator/scaling/pool_size.h"

#include <algorithm>
#include <cmath>

namespace headrace::coordinator {

std::int32_t PoolSizer::Observe(const PoolView& view, SteadyTime now) {
  const double missing = std::max(0.0, view.demand_cores - view.other_cores);
  const double exact = std::ceil(missing / std::max(view.member_cores, 1e-3) - 1e-9);
  const auto wanted =
      std::clamp(static_cast<std::int32_t>(std::min(exact, static_cast<double>(options_.most))),
                 options_.least, options_.most);
  wanted_ = wanted;
  if (wanted >= view.members) {
    idle_ = false;
    return wanted - view.members;
  }
  if (!idle_) {
    idle_ = true;
    idle_since_ = now;
    most_wanted_ = wanted;
    return 0;
  }
  most_wanted_ = std::max(most_wanted_, wanted);
  if (now - idle_since_ < options_.idle_after) return 0;
  idle_ = false;
  return most_wanted_ - view.members;
}

}  // namespace headrace::coordinator
