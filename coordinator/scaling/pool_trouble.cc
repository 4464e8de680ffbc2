#include "coordinator/scaling/pool_trouble.h"

namespace headrace::coordinator {

void PoolTrouble::Met(const Status& why, SteadyTime now) {
  const bool hides = why.detail() == Detail::kNoRoom && why_.detail() != Detail::kNoRoom;
  if (hides && Tell(now).stands) return;
  why_ = why;
  met_ = now;
  came_ = false;
}

PoolTrouble::Told PoolTrouble::Tell(SteadyTime now) const {
  if (why_.ok()) return {};
  const Duration age = now - met_;
  return {.why = why_, .age = age, .stands = !came_ && age < kStands};
}

}  // namespace headrace::coordinator
