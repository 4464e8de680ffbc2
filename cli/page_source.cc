#include "cli/page_source.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/plain_text.h"
#include "cli/show_status.h"

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

web::PoolState PoolStateOf(const coordinator::PoolReport& report) {
  web::PoolState pool;
  pool.name = report.name;
  pool.least = report.least;
  pool.most = std::max(report.least, report.most);
  pool.wanted = report.wanted;
  for (const coordinator::PoolMember& member : report.members) {
    ++CountOf(pool, member.state);
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
  return pool;
}

web::PageSource PageOf(coordinator::Coordinator& coordinator, std::string policy,
                       std::string admin_token_file) {
  web::PageSource page;
  page.state = [&coordinator, policy = std::move(policy)] {
    return web::PageState{
        coordinator.Describe(), PoolStateOf(coordinator.DescribePool()), policy, {}};
  };
  page.status = &StatusJson;
  page.job = &JobObjectJson;
  page.worker = &WorkerObjectJson;
  page.order = [&coordinator](const wire::ClusterOrder& order,
                              std::function<void(wire::ClusterOrdered)> answer) {
    coordinator.Order(order, std::move(answer));
  };
  page.admin_token_file = std::move(admin_token_file);
  return page;
}

}  // namespace headrace::cli
