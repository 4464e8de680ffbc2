#include "coordinator/scaling/pool_growth.h"

#include <algorithm>
#include <utility>

namespace headrace::coordinator {

std::string PoolGrowth::Came() {
  const bool failed = failures_ > 0;
  *this = PoolGrowth();
  return failed ? "pool: it grows again" : "";
}

std::string PoolGrowth::Failed(const Status& why, SteadyTime now) {
  constexpr int kMostDoublings = 10;
  next_ = now + std::min(kFirstPause * (1 << std::min(failures_, kMostDoublings)), kLongestPause);
  ++failures_;
  std::string cause = why.ToString();
  if (cause == said_) return "";
  said_ = std::move(cause);
  return "pool: " + said_ + "; it is tried again, at last every " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(kLongestPause).count()) +
         " s, and said once";
}

}  // namespace headrace::coordinator
