#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "coordinator/pool/core/pool.h"

namespace headrace::coordinator {

// How long a pool's member may stay in a state before it is ended.
struct PoolPatience {
  Duration queued = std::chrono::hours(1);       // the engine has not started it
  Duration starting = std::chrono::minutes(10);  // it has not registered
  Duration draining = std::chrono::seconds(60);  // a worker takes 30 s at most
  Duration lost = std::chrono::minutes(2);       // its worker is silent
  Duration told = std::chrono::seconds(30);      // queued members are spoken of after this time
};

// Looks after members of which the engine or the worker says nothing: which of them are to be ended,
// and what people are told. A member without a handle is left alone. Pure but for what it remembers;
// thread-compatible.
class PoolWatch {
 public:
  struct Verdict {
    std::vector<std::string> kill;  // handles; their end is asked for again each kAgain
    std::vector<Status> failures;   // of those that will not come, one of each cause
    std::string news;               // a line for people; empty: none
    Status waits;                   // what lets members wait, if their engine says it; else Ok
  };
  static constexpr Duration kAgain = std::chrono::seconds(60);

  explicit PoolWatch(PoolPatience patience) : patience_(patience) {}

  [[nodiscard]] Verdict Observe(const std::vector<PoolMember>& members, SteadyTime now);

 private:
  struct Seen {
    PoolMember::State state;
    SteadyTime since;
    SteadyTime killed = SteadyTime::min();
  };
  [[nodiscard]] Duration PatienceWith(PoolMember::State state) const;

  PoolPatience patience_;
  std::map<std::string, Seen> seen_;  // by handle
  std::string told_;                  // the last news
};

}  // namespace headrace::coordinator
