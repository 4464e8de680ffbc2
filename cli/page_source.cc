#include "cli/page_source.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/log.h"
#include "base/plain_text.h"
#include "cli/show_status.h"
#include "web/metrics_text.h"

namespace headrace::cli {
namespace {

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

web::PoolState PoolStateOf(const coordinator::PoolReport& report,
                           const std::vector<wire::PoolStatus>& pools) {
  web::PoolState all;
  all.least = report.least;
  all.most = std::max(report.least, report.most);
  all.wanted = report.wanted;
  for (const coordinator::PoolReport::Named& each : report.pools) {
    for (const coordinator::PoolMember& member : each.members) AddReason(member, all);
  }
  double cost = 0;
  for (const wire::PoolStatus& pool : pools) {
    all.name += (all.name.empty() ? "" : ", ") + pool.name;
    const auto add = [](std::int32_t& sum, std::uint32_t members) {
      sum += static_cast<std::int32_t>(members);
    };
    add(all.queued, pool.queued);
    add(all.starting, pool.starting);
    add(all.running, pool.running);
    add(all.waiting, pool.waiting);
    add(all.draining, pool.draining);
    add(all.lost, pool.lost);
    all.cores += pool.cores;
    cost += pool.cost_per_hour;
  }
  if (all.cores > 0) {
    all.core_price = cost / all.cores;
  } else if (!pools.empty()) {
    all.core_price = pools.front().core_price;
  }
  return all;
}

web::PageSource PageOf(coordinator::Coordinator& coordinator, PageSettings settings) {
  web::PageSource page;
  page.state = [&coordinator, policy = std::move(settings.policy)] {
    web::PageState state{coordinator.Describe(), {}, policy, {}};
    state.pool = PoolStateOf(coordinator.DescribePool(), state.cluster.pools);
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
    return [now = coordinator.Describe()] { return web::MetricsText(now); };
  };
  source.not_ready = [] { return std::string(); };  // it serves once it listens
  source.page = PageOf(coordinator, std::move(settings));
  HR_TRY(auto server, web::StatusServer::Start(reactor, std::move(http), std::move(source)));
  LogInfo("page, metrics and health at http://" + server->address());
  return server;
}

}  // namespace headrace::cli
