#include "coordinator/placement/link_ledger.h"

#include <algorithm>

namespace headrace::coordinator {

LinkLedger::LinkLedger(const std::vector<PlacementJob>& jobs,
                       const std::vector<PlacementWorker>& workers)
    : jobs_(jobs), workers_(workers) {
  const auto bound = [](const PlacementJob& job) {
    return job.bytes_per_millicore > 0 &&
           std::min({job.link, job.said_link, job.most_bytes}) != kNoLink;
  };
  limited_ = std::ranges::any_of(workers, [](const auto& each) { return each.link != kNoLink; }) ||
             std::ranges::any_of(jobs, bound);
  if (!limited_) return;
  std::unordered_map<std::string, std::size_t> senders, receivers, tenants;
  const auto add = [&](std::int64_t all) {
    amounts_.push_back({all, all});
    return amounts_.size() - 1;
  };
  const auto of = [&](auto& known, const std::string& name, std::int64_t all) {
    const auto at = known.find(name);
    return at != known.end() ? at->second : known.emplace(name, add(all)).first->second;
  };
  for (const PlacementWorker& worker : workers) {
    of_worker_.push_back(of(senders, worker.host, worker.link));
  }
  for (const PlacementJob& job : jobs) {
    of_job_.push_back({of(receivers, job.host, job.link),
                       of(tenants, job.host + "\n" + job.tenant, job.said_link),
                       add(job.most_bytes)});
  }
}

bool LinkLedger::Crosses(std::size_t j, std::size_t w) const {
  return limited_ && jobs_[j].bytes_per_millicore > 0 && jobs_[j].host != workers_[w].host;
}

std::int64_t LinkLedger::Most(std::size_t j, std::size_t w) const {
  if (!Crosses(j, w)) return kNoLink;
  const auto& [host, tenant, own] = of_job_[j];
  const std::int64_t left = std::min({amounts_[of_worker_[w]].left, amounts_[host].left,
                                      amounts_[tenant].left, amounts_[own].left});
  return left == kNoLink ? kNoLink : std::max<std::int64_t>(0, left / jobs_[j].bytes_per_millicore);
}

void LinkLedger::Take(std::size_t j, std::size_t w, std::int64_t millicores) {
  if (!Crosses(j, w)) return;
  const std::int64_t bytes = millicores * jobs_[j].bytes_per_millicore;
  const auto& [host, tenant, own] = of_job_[j];
  for (const std::size_t each : {of_worker_[w], host, tenant, own}) amounts_[each].Take(bytes);
}

bool LinkLedger::IsFull(std::size_t w) const { return limited_ && amounts_[of_worker_[w]].full(); }

bool LinkLedger::IsSpent(std::size_t j) const {
  if (!IsFullFor(j)) return false;
  const auto& [host, tenant, own] = of_job_[j];
  return std::min({amounts_[host].left, amounts_[tenant].left, amounts_[own].left}) <
         kLeastMillicores * jobs_[j].bytes_per_millicore;
}

bool LinkLedger::IsFullFor(std::size_t j) const {
  if (!limited_ || jobs_[j].bytes_per_millicore <= 0) return false;
  const auto& [host, tenant, own] = of_job_[j];
  return amounts_[host].full() || amounts_[tenant].full() || amounts_[own].full();
}

}  // namespace headrace::coordinator
