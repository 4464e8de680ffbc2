#include "coordinator/describe_pools.h"

#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "base/plain_text.h"
#include "coordinator/scaling/pool_remedy.h"

namespace headrace::coordinator {
namespace {

constexpr std::size_t kMostTroubleBytes = 500;

void CountMember(const PoolMember& member, wire::PoolStatus& pool) {
  switch (member.state) {
    case PoolMember::State::kQueued:
      ++pool.queued;
      break;
    case PoolMember::State::kStarting:
      ++pool.starting;
      break;
    case PoolMember::State::kRunning:
      ++pool.running;
      break;
    case PoolMember::State::kWaiting:
      ++pool.waiting;
      break;
    case PoolMember::State::kDraining:
      ++pool.draining;
      break;
    case PoolMember::State::kLost:
      ++pool.lost;
      break;
  }
}

}  // namespace

std::vector<wire::PoolStatus> DescribePools(const PoolReport& report,
                                            const std::vector<wire::WorkerStatus>& workers) {
  std::vector<wire::PoolStatus> pools;
  std::map<WorkerId, std::size_t> homes;
  for (const PoolReport::Named& each : report.pools) {
    wire::PoolStatus pool{.name = each.name,
                          .kind = each.kind,
                          .state = each.state,
                          .preemptible = each.rules.preemptible,
                          .trouble = each.trouble.why};
    if (each.rules.most != PoolRules::kNoBound) {
      pool.most = static_cast<std::uint32_t>(each.rules.most);
    }
    if (!pool.trouble.ok()) {
      pool.trouble =
          Status(pool.trouble.code(), PlainText(pool.trouble.message(), kMostTroubleBytes),
                 pool.trouble.detail());
      pool.trouble_ms =
          std::chrono::duration_cast<std::chrono::milliseconds>(each.trouble.age).count();
      pool.trouble_stands = each.trouble.stands;
      pool.what = TroubleText(pool.trouble.detail());
      pool.remedy = each.remedy;
    }
    pool.troubled = pool.trouble_stands && pool.trouble.detail() != Detail::kNoRoom ? 1 : 0;
    pool.usable = each.state == "usable" ? 1 : 0;
    if (each.passed_over) {
      pool.passed_over_seconds = std::chrono::duration<double>(*each.passed_over).count();
    }
    pool.core_price = each.rules.core_price;
    for (const PoolMember& member : each.members) {
      CountMember(member, pool);
      if (member.worker.valid()) homes[member.worker] = pools.size();
    }
    pool.wanted_workers = pool.running + pool.coming();
    pools.push_back(std::move(pool));
  }
  for (const wire::WorkerStatus& worker : workers) {
    const auto home = homes.find(worker.info.worker);
    if (worker.state == "lost" || home == homes.end()) continue;
    pools[home->second].cores += worker.info.usable_cores();
  }
  for (wire::PoolStatus& pool : pools) pool.cost_per_hour = pool.cores * pool.core_price;
  return pools;
}

}  // namespace headrace::coordinator
