#include "cli/page_source.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/plain_text.h"
#include "cli/show_status.h"
#include "web/metrics_text.h"

namespace headrace::cli {
namespace {

std::int32_t& CountOf(web::PoolState& pool, coordinator::PoolMember::State state) {
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

}  // namespace

web::PoolState PoolStateOf(const coordinator::PoolReport& report, const wire::ClusterStatus& now,
                           double core_price) {
  web::PoolState pool;
  pool.name = report.name;
  pool.least = report.least;
  pool.most = std::max(report.least, report.most);
  pool.wanted = report.wanted;
  pool.core_price = core_price;
  std::set<WorkerId> workers;
  for (const coordinator::PoolMember& member : report.members) {
    ++CountOf(pool, member.state);
    workers.insert(member.worker);
    const bool there = member.state == coordinator::PoolMember::State::kRunning ||
                       member.state == coordinator::PoolMember::State::kDraining;
    if (there || member.note.empty()) continue;
    const std::string text = PlainText(member.note, kMostNameBytes);
    const auto known = std::ranges::find(pool.reasons, text, &web::PoolState::Reason::text);
    if (known != pool.reasons.end()) {
      ++known->members;
    } else if (pool.reasons.size() < web::PoolState::kMostReasons) {
      pool.reasons.push_back({text, 1});
    }
  }
  for (const wire::WorkerStatus& worker : now.workers) {
    const bool counts = worker.state != "lost" && workers.contains(worker.info.worker);
    if (counts) pool.cores += worker.info.usable_cores();
  }
  return pool;
}

web::PageSource PageOf(coordinator::Coordinator& coordinator, PageSettings settings) {
  web::PageSource page;
  page.state = [&coordinator, policy = std::move(settings.policy), price = settings.core_price] {
    web::PageState state{coordinator.Describe(), {}, policy, {}};
    state.pool = PoolStateOf(coordinator.DescribePool(), state.cluster, price);
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
