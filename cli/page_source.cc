#include "cli/page_source.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/plain_text.h"
#include "cli/show_status.h"
#include "web/metrics_text.h"

namespace headrace::cli {
namespace {

// Counts the member in all of its pool and of all pools.
template <typename Counts>
std::int32_t& CountOf(Counts& pool, coordinator::PoolMember::State state) {
  using State = coordinator::PoolMember::State;
  switch (state) {
    case State::kQueued:
      return pool.queued;
    case State::kStarting:
      return pool.starting;
    case State::kRunning:
      return pool.running;
    case State::kWaiting:
      return pool.waiting;
    case State::kDraining:
      return pool.draining;
    case State::kLost:
      break;
  }
  return pool.lost;
}

void AddReason(const coordinator::PoolMember& member, web::PoolState& pool) {
  const bool there = member.state == coordinator::PoolMember::State::kRunning ||
                     member.state == coordinator::PoolMember::State::kDraining;
  if (there || member.note.empty()) return;
  const std::string text = PlainText(member.note, kMostNameBytes);
  const auto known = std::ranges::find(pool.reasons, text, &web::PoolState::Reason::text);
  if (known != pool.reasons.end()) {
    ++known->members;
  } else if (pool.reasons.size() < web::PoolState::kMostReasons) {
    pool.reasons.push_back({text, 1});
  }
}

}  // namespace

web::PoolState PoolStateOf(const coordinator::PoolReport& report, const wire::ClusterStatus& now) {
  web::PoolState all;
  all.least = report.least;
  all.most = std::max(report.least, report.most);
  all.wanted = report.wanted;
  std::map<WorkerId, std::size_t> homes;
  for (const coordinator::PoolReport::Named& each : report.pools) {
    web::NamedPoolState pool{.name = each.name,
                             .kind = each.kind,
                             .state = each.state,
                             .preemptible = each.rules.preemptible,
                             .core_price = each.rules.core_price};
    if (each.rules.most != coordinator::PoolRules::kNoBound) pool.most = each.rules.most;
    all.name += (all.name.empty() ? "" : ", ") + each.name;
    for (const coordinator::PoolMember& member : each.members) {
      ++CountOf(all, member.state);
      ++CountOf(pool, member.state);
      if (member.worker.valid()) homes[member.worker] = all.pools.size();
      AddReason(member, all);
    }
    all.pools.push_back(std::move(pool));
  }
  for (const wire::WorkerStatus& worker : now.workers) {
    const auto home = homes.find(worker.info.worker);
    if (worker.state == "lost" || home == homes.end()) continue;
    all.pools[home->second].cores += worker.info.usable_cores();
  }
  double cost = 0;
  for (const web::NamedPoolState& pool : all.pools) {
    all.cores += pool.cores;
    cost += pool.cores * pool.core_price;
  }
  if (all.cores > 0) {
    all.core_price = cost / all.cores;
  } else if (!all.pools.empty()) {
    all.core_price = all.pools.front().core_price;
  }
  return all;
}

web::PageSource PageOf(coordinator::Coordinator& coordinator, PageSettings settings) {
  web::PageSource page;
  page.state = [&coordinator, policy = std::move(settings.policy)] {
    web::PageState state{coordinator.Describe(), {}, policy, {}};
    state.pool = PoolStateOf(coordinator.DescribePool(), state.cluster);
    return state;
  };
  page.status = &StatusJson;
  page.job = &JobObjectJson;
  page.worker = &WorkerObjectJson;
  page.order = [&coordinator](const wire::ClusterOrder& order,
                              std::function<void(wire::ClusterOrdered)> answer) {
    coordinator.Order(order, std::move(answer));
  };
  page.admin_token_file = std::move(settings.admin_token_file);
  return page;
}

Result<std::unique_ptr<web::StatusServer>> ServePage(net::Reactor& reactor,
                                                     coordinator::Coordinator& coordinator,
                                                     web::HttpOptions http, PageSettings settings) {
  web::StatusSource source;
  source.metrics = [&coordinator]() -> std::function<std::string()> {
    return [now = coordinator.Describe(), pools = coordinator.DescribePool()] {
      return web::MetricsText(now) + web::PoolMetricsText(PoolStateOf(pools, now));
    };
  };
  source.not_ready = [] { return std::string(); };  // it serves once it listens
  source.page = PageOf(coordinator, std::move(settings));
  HR_TRY(auto server, web::StatusServer::Start(reactor, std::move(http), std::move(source)));
  LogInfo("page, metrics and health at http://" + server->address());
  return server;
}

}  // namespace headrace::cli
