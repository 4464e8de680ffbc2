#include "coordinator/scaling/pool_growth.h"

#include <algorithm>
#include <utility>

namespace headrace::coordinator {

std::string PoolGrowth::Came(SteadyTime now) {
  if (failures_ == 0) return "";
  failures_before_ = failures_;
  said_before_ = std::move(said_);
  failures_ = 0;
  said_.clear();
  came_ = now;
  next_ = SteadyTime::min();
  return "pool: it grows again";
}

std::string PoolGrowth::Failed(const Status& why, SteadyTime now) {
  constexpr int kMostDoublings = 10;
  if (failures_ == 0 && failures_before_ > 0 && now < came_ + kHealthyAfter) {
    failures_ = failures_before_;
    said_ = said_before_;
  }
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
