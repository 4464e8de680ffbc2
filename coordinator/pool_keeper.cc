#include "coordinator/pool_keeper.h"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <variant>

#include "base/check.h"
#include "base/log.h"
#include "coordinator/drain_choice.h"
#include "coordinator/scaling/pool_remedy.h"

namespace headrace::coordinator {
namespace {

using MemberState = PoolMember::State;

// After a member was asked to end. A worker that is asked by its engine leaves within 10 s.
constexpr Duration kGrace = std::chrono::seconds(15);

std::vector<PoolRules> RulesOf(const std::vector<PoolKeeper::NamedPool>& pools) {
  std::vector<PoolRules> rules;
  for (const PoolKeeper::NamedPool& each : pools) rules.push_back(each.rules);
  return rules;
}

// Members of all pools count alike.
Status CheckCores(const std::vector<PoolKeeper::NamedPool>& said,
                  const std::vector<std::unique_ptr<Pool>>& pools) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const double cores = pools[i]->member_cores();
    if (cores <= 0) continue;
    if (!first) first = i;
    const double others = pools[*first]->member_cores();
    if (cores == others) continue;
    return InvalidArgument("pool " + said[i].name + " has workers of " +
                           std::to_string(std::lround(cores)) + " cores, and " + said[*first].name +
                           " of " + std::to_string(std::lround(others)) + ": give them the same");
  }
  return Status::Ok();
}

// What is said of one of several pools has its name.
std::string Named(const std::string& pool, std::string line) {
  constexpr std::string_view kPool = "pool";
  if (!pool.empty() && line.starts_with(kPool)) line.insert(kPool.size(), " " + pool);
  return line;
}

}  // namespace

PoolKeeper::PoolKeeper(net::Reactor& reactor, Options options)
    : reactor_(reactor),
      options_(std::move(options)),
      sizer_({options_.least, std::max(options_.least, options_.most), options_.idle_after}),
      choice_({.pools = RulesOf(options_.pools),
               .on_demand_at_least = options_.on_demand_at_least,
               .room_within = options_.room_within}) {
  for (const NamedPool& each : options_.pools) {
    kept_.push_back({.said = each,
                     .label = options_.pools.size() > 1 ? each.name : "",
                     .watch = PoolWatch(options_.patience)});
    core_prices_.push_back(each.rules.core_price);
  }
  next_core_price_ = core_prices_.front();
  std::ranges::sort(core_prices_);
  core_prices_.erase(std::ranges::unique(core_prices_).begin(), core_prices_.end());
}

PoolEvents PoolKeeper::Events(std::function<void(WorkerId, double)> on_ended, std::size_t pool) {
  return {.on_ended = std::move(on_ended),
          .on_failed = [this, pool](std::int32_t, const Status& why) { Complain(pool, why); }};
}

Status PoolKeeper::Begin(std::vector<std::unique_ptr<Pool>> pools, const State& state) {
  HR_CHECK(pools.size() == kept_.size());
  begun_ = Now();
  HR_RETURN_IF_ERROR(CheckCores(options_.pools, pools));
  for (std::size_t i = 0; i < kept_.size(); ++i) kept_[i].pool = std::move(pools[i]);
  for (const auto& [id, worker] : state.workers()) {
    Register(worker.info);
    if (worker.draining) (void)Drain(id);
    if (worker.phase != Worker::Phase::kLost) continue;
    for (const Kept& each : kept_) each.pool->Lost(id);
  }
  if (!Ready()) return Status::Ok();
  std::int32_t members = 0;
  for (const Kept& each : kept_) members += static_cast<std::int32_t>(each.pool->List().size());
  Status last;
  for (std::int32_t need = std::max(options_.least - members, 0); need > 0;) {
    const std::vector<PoolChoice::Orders> orders = choice_.Choose(need, options_.least, See());
    std::int32_t refused = 0;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (orders[i].grow == 0) continue;
      if (Status grown = kept_[i].pool->Grow(orders[i].grow); !grown.ok()) {
        if (several()) Complain(i, grown);
        last = std::move(grown);
        refused += orders[i].grow;
      }
    }
    if (refused == 0) return Status::Ok();
    const bool others =
        several() && std::ranges::any_of(See(), [](const PoolSeen& each) { return each.open; });
    if (!others) return last;
    need = refused;
  }
  return Status::Ok();
}

void PoolKeeper::Tell(const Update& update, const State& state) {
  const auto each = [this](auto&& what) {
    for (const Kept& one : kept_) what(*one.pool);
  };
  if (const auto* added = std::get_if<AddWorker>(&update)) {
    Register(added->info);
    const auto found = Find(added->info.worker);
    if (!found) return;
    kept_[found->first].trouble.Came();
    std::string news = kept_[found->first].growth.Came(Now());
    if (!news.empty()) LogInfo(Named(kept_[found->first].label, std::move(news)));
  } else if (const auto* removed = std::get_if<RemoveWorker>(&update)) {
    // Nobody has asked it to leave.
    if (const auto home = homes_.find(removed->worker); home != homes_.end()) {
      TakenAway(home->second);
      homes_.erase(home);
    }
    each([&](Pool& pool) { pool.Left(removed->worker); });
  } else if (const auto* lost = std::get_if<MarkWorkerLost>(&update)) {
    const auto home = homes_.find(lost->worker);
    each([&](Pool& pool) { pool.Lost(lost->worker); });
    const auto found = Find(lost->worker);
    if (home == homes_.end() || !found || found->second != MemberState::kLost) return;
    TakenAway(home->second);
    homes_.erase(home);
  } else if (const auto* revived = std::get_if<ReviveWorker>(&update)) {
    if (const Worker* worker = state.FindWorker(revived->worker)) Register(worker->info);
  } else if (const auto* drained = std::get_if<DrainWorker>(&update)) {
    homes_.erase(drained->worker);
    const auto found = Find(drained->worker);
    each([&](Pool& pool) { pool.Leaving(drained->worker); });
    // By a notice: neither a person nor this coordinator has asked it to leave.
    if (!found || found->second == MemberState::kDraining || !drained->reason.empty()) return;
    TakenAway(found->first);
    // Its successor comes from another pool, if that is better. So this one starts none by itself.
    if (several()) (void)kept_[found->first].pool->Drain(drained->worker);
  }
}

std::vector<WorkerId> PoolKeeper::Resize(const State& state, double demand_cores,
                                         const std::vector<double>& dearer) {
  if (std::max(options_.least, options_.most) <= 0 || !Ready()) return {};
  std::vector<PoolSeen> seen = See();
  choice_.Observe(seen, Now());
  std::int32_t change = sizer_.Observe(View(state, demand_cores, dearer, seen), Now());
  if (!kept_.front().pool->starts_workers()) return {};
  std::vector<WorkerId> drained;
  for (std::size_t tries = 0; tries <= kept_.size(); ++tries) {
    const std::vector<PoolChoice::Orders> orders = choice_.Choose(change, sizer_.wanted(), seen);
    std::int32_t refused = 0;
    for (std::size_t i = 0; i < kept_.size(); ++i) refused += Obey(i, orders[i], state, drained);
    if (change <= 0 || refused == 0) break;
    change = refused;  // from the next pool, now
    seen = See();
  }
  if (several()) next_core_price_ = kept_[choice_.Next(See())].said.rules.core_price;
  return drained;
}

std::int32_t PoolKeeper::Obey(std::size_t pool, const PoolChoice::Orders& orders,
                              const State& state, std::vector<WorkerId>& drained) {
  Pool& engine = *kept_[pool].pool;
  std::int32_t refused = 0;
  if (orders.grow > 0) {
    if (Status taken_on = engine.Grow(orders.grow); !taken_on.ok()) {
      choice_.Refused(pool, orders);
      Complain(pool, taken_on);
      refused = orders.grow;
    }
  }
  if (orders.give_up == 0 && orders.drain == 0) return refused;
  // What has not come yet costs nobody anything: the last ones first.
  std::int32_t give_up = orders.give_up;
  std::set<WorkerId> members;
  for (const PoolMember& member : std::views::reverse(engine.List())) {
    if (member.worker.valid()) members.insert(member.worker);
    if (give_up == 0 || member.state != MemberState::kQueued || member.handle.empty()) continue;
    Kill(pool, member.handle, Duration::zero());
    --give_up;
  }
  for (std::int32_t drain = orders.drain; drain > 0; --drain) {
    const WorkerId id = LeastUsed(state, members);
    if (!id.valid()) break;
    members.erase(id);
    drained.push_back(id);
  }
  return refused;
}

bool PoolKeeper::Ready() const {
  const auto ready = [](const Kept& each) { return each.pool->ready(); };
  if (std::ranges::all_of(kept_, ready)) return true;
  return Now() >= begun_ + kReadyWithin && std::ranges::any_of(kept_, ready) && several();
}

std::vector<PoolSeen> PoolKeeper::See() const {
  std::vector<PoolSeen> seen;
  for (const Kept& each : kept_) {
    PoolSeen one{.open = each.growth.MayTry(Now()) && each.pool->ready()};
    for (const PoolMember& member : each.pool->List()) {
      switch (member.state) {
        case MemberState::kQueued:
          ++(member.handle.empty() ? one.starting : one.queued);
          break;
        case MemberState::kStarting:
        case MemberState::kWaiting:
          ++one.starting;
          break;
        case MemberState::kRunning:
          ++one.there;
          break;
        case MemberState::kDraining:
        case MemberState::kLost:
          break;
      }
    }
    seen.push_back(one);
  }
  return seen;
}

PoolView PoolKeeper::View(const State& state, double demand_cores,
                          const std::vector<double>& dearer, const std::vector<PoolSeen>& seen) {
  PoolView view;
  view.members = choice_.Counted(seen);
  view.member_cores = options_.member_cores;
  std::set<WorkerId> members;
  homes_.clear();
  for (std::size_t i = kept_.size(); i-- > 0;) {
    const Pool& pool = *kept_[i].pool;
    if (pool.member_cores() > 0) view.member_cores = pool.member_cores();
    for (const PoolMember& member : pool.List()) {
      if (!member.worker.valid()) continue;
      members.insert(member.worker);
      if (member.state == MemberState::kRunning) homes_[member.worker] = i;
    }
  }
  double cores_of_members = 0, speeds = 0;
  std::int32_t known = 0;
  for (const auto& [id, worker] : state.workers()) {
    if (worker.info.local) continue;
    if (members.contains(id)) {
      cores_of_members += worker.info.usable_cores() * state.speeds().Of(id);
      speeds += state.speeds().Of(id);
      ++known;
    } else if (worker.leasable()) {
      view.other_cores += worker.info.usable_cores() * state.speeds().Of(id);
    }
  }
  // Others have started them, as they like.
  if (!kept_.front().pool->starts_workers() && known > 0) {
    view.member_cores = cores_of_members / known;
  } else if (known > 0) {  // those to come will be as fast as those that are here
    view.member_cores *= speeds / known;
  }
  // At each price, as much as the jobs ask for at that price, of what pools give for it.
  view.demand_cores = demand_cores;
  for (std::size_t k = 0; k < dearer.size() && k + 1 < core_prices_.size(); ++k) {
    const auto within = static_cast<double>(choice_.Within(core_prices_[k], seen));
    const double cheaper = std::min(k == 0 ? demand_cores : dearer[k - 1],
                                    view.other_cores + within * view.member_cores);
    view.demand_cores = std::max(k == 0 ? 0.0 : view.demand_cores, cheaper);
  }
  if (!dearer.empty()) view.demand_cores = std::max(view.demand_cores, dearer.back());
  return view;
}

void PoolKeeper::Look() {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    PoolWatch::Verdict verdict = kept_[i].watch.Observe(kept_[i].pool->List(), Now());
    if (!verdict.news.empty()) LogInfo(Named(kept_[i].label, std::move(verdict.news)));
    if (!verdict.waits.ok()) kept_[i].trouble.Met(verdict.waits, Now());
    for (const Status& failure : verdict.failures) Complain(i, failure);
    for (const std::string& handle : verdict.kill) Kill(i, handle, kGrace);
  }
  if (several()) TellStates();
}

// Says once why a pool is passed over, and when it is not any more.
void PoolKeeper::TellStates() {
  const std::vector<PoolSeen> seen = See();
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const std::string_view now = choice_.StateOf(i, seen[i]);
    const std::string_view before = std::exchange(kept_[i].told, now);
    if (now == before || now == "closed") continue;  // PoolGrowth speaks of its failures
    if (now == "held") {
      LogInfo("pool " + kept_[i].said.name +
              ": workers were taken away; others are asked first for a while");
    } else if (now == "late") {
      LogInfo("pool " + kept_[i].said.name + ": no worker comes; others are asked");
    } else if (before == "held" || before == "late") {
      LogInfo("pool " + kept_[i].said.name + ": it is asked again");
    }
  }
}

PoolReport PoolKeeper::Describe() const {
  PoolReport report{.least = options_.least, .most = options_.most, .wanted = sizer_.wanted()};
  if (kept_.front().pool == nullptr) return report;
  const std::vector<PoolSeen> seen = See();
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const Kept& each = kept_[i];
    std::optional<SteadyTime> until = choice_.PassedOverUntil(i);
    if (each.growth.next() > Now()) until = std::max(until.value_or(Now()), each.growth.next());
    report.pools.push_back({.name = each.said.name,
                            .kind = std::string(each.pool->name()),
                            .rules = each.said.rules,
                            .state = std::string(choice_.StateOf(i, seen[i])),
                            .trouble = each.trouble.Tell(Now()),
                            .members = each.pool->List()});
    PoolReport::Named& told = report.pools.back();
    if (until && *until > Now()) told.passed_over = *until - Now();
    if (told.trouble.why.ok()) continue;
    const Detail trouble = told.trouble.why.detail();
    told.remedy = each.pool->Remedy(trouble);
    if (told.remedy.empty()) told.remedy = GeneralRemedy(trouble);
  }
  return report;
}

Status PoolKeeper::Drain(WorkerId worker) {
  for (const Kept& each : kept_) {
    const Status drained = each.pool->Drain(worker);
    if (drained.code() != Code::kNotFound) return drained;
  }
  return Status::Ok();
}

std::optional<bool> PoolKeeper::Alive(WorkerId worker) const {
  for (const Kept& each : kept_) {
    if (const std::optional<bool> alive = each.pool->Alive(worker)) return alive;
  }
  return std::nullopt;
}

void PoolKeeper::Stop() {
  for (const Kept& each : kept_) {
    if (each.pool) each.pool->Stop();
  }
}

void PoolKeeper::Register(const wire::WorkerInfo& info) {
  for (const Kept& each : kept_) each.pool->Registered(info);
}

std::optional<std::pair<std::size_t, MemberState>> PoolKeeper::Find(WorkerId worker) const {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    for (const PoolMember& member : kept_[i].pool->List()) {
      if (member.worker == worker) return std::pair(i, member.state);
    }
  }
  return std::nullopt;
}

void PoolKeeper::TakenAway(std::size_t pool) {
  if (kept_[pool].said.rules.preemptible) choice_.TakenAway(pool, Now());
}

// Each cause is said once.
void PoolKeeper::Complain(std::size_t pool, const Status& why) {
  kept_[pool].trouble.Met(why, Now());
  std::string line = kept_[pool].growth.Failed(why, Now());
  if (!line.empty()) LogWarning(Named(kept_[pool].label, std::move(line)));
}

void PoolKeeper::Kill(std::size_t pool, const std::string& handle, Duration grace) {
  if (Status s = kept_[pool].pool->Kill(handle, grace); !s.ok()) {
    LogWarning(Named(kept_[pool].label, "pool: " + s.message()));
  }
}

}  // namespace headrace::coordinator
