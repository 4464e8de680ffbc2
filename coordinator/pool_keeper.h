#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/core/pool_watch.h"
#include "coordinator/pool_report.h"
#include "coordinator/scaling/pool_growth.h"
#include "coordinator/scaling/pool_size.h"
#include "coordinator/state/state.h"

namespace headrace::coordinator {

// Keeps a pool as large as the jobs want it and in step with the state: asks it for members, says
// which worker is to be drained, ends members that are of no use, and says what people should know.
// Reactor thread only.
class PoolKeeper {
 public:
  struct Options {
    std::int32_t least = 0;   // members that it always has
    std::int32_t most = 0;    // not above `least`: it does not grow
    Duration idle_after;      // a member that is not needed is drained after this time
    double member_cores = 1;  // where the pool does not say
    PoolPatience patience = {};
  };
  PoolKeeper(net::Reactor& reactor, Options options);

  // What the pool is made with: the coordinator is told of ended workers by on_ended.
  [[nodiscard]] PoolEvents Events(std::function<void(WorkerId, double cpu_seconds)> on_ended);
  // Takes the pool, tells it of the workers that are known, and asks for the least number, if it
  // can say by now how many it has. Errors of Pool::Grow.
  Status Begin(std::unique_ptr<Pool> pool, const State& state);

  // Nothing to keep before Begin. The update was applied to `state`.
  void Tell(const Update& update, const State& state);
  // The jobs were planned: starts members, or returns workers to be drained.
  [[nodiscard]] std::vector<WorkerId> Resize(const State& state, double demand_cores);
  // How many workers the jobs ask for, within the options. For a pool that starts none itself, that
  // number is all that Resize finds out: whoever starts them reads it.
  [[nodiscard]] std::int32_t desired_workers() const { return sizer_.wanted(); }
  // To be called each control period.
  void Look();

  [[nodiscard]] PoolReport Describe() const;
  // As Pool's. Drain: Ok for a worker that is not the pool's, too.
  Status Drain(WorkerId worker);
  [[nodiscard]] std::optional<bool> Alive(WorkerId worker) const;
  void Stop();

 private:
  [[nodiscard]] PoolView View(const State& state, double demand_cores,
                              std::set<WorkerId>& members) const;
  [[nodiscard]] bool IsMember(WorkerId worker) const;
  [[nodiscard]] SteadyTime Now() const { return reactor_.clock().Now(); }
  void Complain(const Status& why);
  void Kill(const std::string& handle, Duration grace);

  net::Reactor& reactor_;
  const Options options_;
  std::unique_ptr<Pool> pool_;
  PoolSizer sizer_;
  PoolGrowth growth_;
  PoolWatch watch_;
};

}  // namespace headrace::coordinator
