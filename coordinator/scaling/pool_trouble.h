#pragma once

#include "base/clock.h"
#include "base/result.h"

namespace headrace::coordinator {

// Remembers what stands in the way of a pool's workers, for people. Thread-compatible; a value.
//
// What an engine refuses is met once a try, and tries are up to a minute apart (PoolGrowth). Why members
// wait can be seen all the time. So a trouble
//   stands  if it was met within kStands, and no member has come since
//   is over otherwise. It is still told, with its age.
// A want of room (Detail::kNoRoom) does not hide another trouble that stands: that one needs a person.
class PoolTrouble {
 public:
  static constexpr Duration kStands = std::chrono::minutes(3);

  struct Told {
    Status why;  // Ok: there was none
    Duration age{};
    bool stands = false;
  };

  // REQUIRES: an error.
  void Met(const Status& why, SteadyTime now);
  // A member has registered.
  void Came() { came_ = true; }
  [[nodiscard]] Told Tell(SteadyTime now) const;

 private:
  Status why_;
  SteadyTime met_{};
  bool came_ = false;  // since then
};

}  // namespace headrace::coordinator
