#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/core/pool_watch.h"
#include "coordinator/pool_report.h"
#include "coordinator/scaling/pool_choice.h"
#include "coordinator/scaling/pool_growth.h"
#include "coordinator/scaling/pool_size.h"
#include "coordinator/scaling/pool_trouble.h"
#include "coordinator/state/state.h"

namespace headrace::coordinator {

// Keeps a coordinator's pools as large as the jobs want them and in step with the state: asks them for
// members, says which worker is to be drained, ends members that are of no use, and says what people
// should know. Which of several pools it asks is PoolChoice's decision. Reactor thread only.
class PoolKeeper {
 public:
  struct NamedPool {
    std::string name = {};
    PoolRules rules = {};
  };
  struct Options {
    std::int32_t least = 0;   // members that they always have, all together
    std::int32_t most = 0;    // not above `least`: they do not grow
    Duration idle_after;      // a member that is not needed is drained after this time
    double member_cores = 1;  // where no pool says
    PoolPatience patience = {};
    std::vector<NamedPool> pools = std::vector<NamedPool>(1);  // in the order of preference
    std::int32_t on_demand_at_least = 0;                       // see PoolChoice
    Duration room_within = std::chrono::seconds(60);           // likewise
  };
  // Where there are several pools, one that cannot say what it has holds up the others for so long.
  static constexpr Duration kReadyWithin = std::chrono::seconds(30);

  PoolKeeper(net::Reactor& reactor, Options options);

  // What a pool is made with: the coordinator is told of ended workers by on_ended.
  [[nodiscard]] PoolEvents Events(std::function<void(WorkerId, double cpu_seconds)> on_ended,
                                  std::size_t pool = 0);
  // Takes the pools, as many as options.pools, tells them of the workers that are known, and asks for
  // the least number, if they can say by now how many they have. Errors of Pool::Grow, if no pool can.
  // kInvalidArgument: members of two pools have not the same cores.
  Status Begin(std::vector<std::unique_ptr<Pool>> pools, const State& state);

  // Nothing to keep before Begin. The update was applied to `state`.
  void Tell(const Update& update, const State& state);
  // The jobs were planned: starts members, or returns workers to be drained. `dearer`: what they ask
  // for at each of core_prices() but the first.
  [[nodiscard]] std::vector<WorkerId> Resize(const State& state, double demand_cores,
                                             const std::vector<double>& dearer = {});
  // How many workers the jobs ask for, within the options. For a pool that starts none itself, that
  // number is all that Resize finds out: whoever starts them reads it.
  [[nodiscard]] std::int32_t desired_workers() const { return sizer_.wanted(); }
  // What a core of a pool costs an hour: each price once, the lowest first.
  [[nodiscard]] const std::vector<double>& core_prices() const { return core_prices_; }
  // What a core of the next worker would cost, by the last Resize.
  [[nodiscard]] double next_core_price() const { return next_core_price_; }
  // To be called each control period.
  void Look();

  [[nodiscard]] PoolReport Describe() const;
  // As Pool's. Drain: Ok for a worker that is no pool's, too.
  Status Drain(WorkerId worker);
  [[nodiscard]] std::optional<bool> Alive(WorkerId worker) const;
  void Stop();

 private:
  struct Kept {
    NamedPool said;
    std::string label = {};  // in the log; empty: there is no other pool
    std::unique_ptr<Pool> pool = nullptr;
    PoolGrowth growth = {};
    PoolTrouble trouble = {};
    PoolWatch watch;
    std::string_view told = {};  // PoolChoice::StateOf, as the log has it
  };
  [[nodiscard]] bool several() const { return kept_.size() > 1; }
  [[nodiscard]] bool Ready() const;
  [[nodiscard]] std::vector<PoolSeen> See() const;
  [[nodiscard]] PoolView View(const State& state, double demand_cores,
                              const std::vector<double>& dearer, const std::vector<PoolSeen>& seen);
  // The pool that has the member, and the member's state.
  [[nodiscard]] std::optional<std::pair<std::size_t, PoolMember::State>> Find(
      WorkerId worker) const;
  void Register(const wire::WorkerInfo& info);
  void TakenAway(std::size_t pool);
  // Returns how many of a pool's new members it refuses.
  std::int32_t Obey(std::size_t pool, const PoolChoice::Orders& orders, const State& state,
                    std::vector<WorkerId>& drained);
  [[nodiscard]] SteadyTime Now() const { return reactor_.clock().Now(); }
  void TellStates();
  void Complain(std::size_t pool, const Status& why);
  void Kill(std::size_t pool, const std::string& handle, Duration grace);

  net::Reactor& reactor_;
  const Options options_;
  std::vector<Kept> kept_;
  std::vector<double> core_prices_;
  std::map<WorkerId, std::size_t>
      homes_;  // pools of members that run, and that nobody asked to leave
  double next_core_price_ = 0;
  SteadyTime begun_{};
  PoolSizer sizer_;
  PoolChoice choice_;
};

}  // namespace headrace::coordinator
