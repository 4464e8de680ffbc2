#include "coordinator/placement/link_ledger.h"

#include <algorithm>

namespace headrace::coordinator {

LinkLedger::LinkLedger(const std::vector<PlacementJob>& jobs,
                       const std::vector<PlacementWorker>& workers)
    : jobs_(jobs), workers_(workers) {
  const auto bound = [](const PlacementJob& job) {
    return job.bytes_per_millicore > 0 && (job.link != kNoLink || job.most_bytes != kNoLink);
  };
  limited_ = std::ranges::any_of(workers, [](const auto& each) { return each.link != kNoLink; }) ||
             std::ranges::any_of(jobs, bound);
  if (!limited_) return;
  amounts_.reserve(workers.size() + jobs.size());
  std::unordered_map<std::string, std::size_t> senders, receivers;
  const auto position = [&](auto& hosts, const std::string& host, std::int64_t link) {
    const auto [at, is_new] = hosts.try_emplace(host, amounts_.size());
    if (is_new) amounts_.push_back({link, link});
    return at->second;
  };
  for (const auto& worker : workers) {
    of_worker_.push_back(position(senders, worker.host, worker.link));
  }
  for (const auto& job : jobs) {
    of_job_.push_back(position(receivers, job.host, job.link));
    shares_.push_back({job.most_bytes, job.most_bytes});
  }
}

bool LinkLedger::Crosses(std::size_t j, std::size_t w) const {
  return limited_ && jobs_[j].bytes_per_millicore > 0 && jobs_[j].host != workers_[w].host;
}

std::int64_t LinkLedger::Most(std::size_t j, std::size_t w) const {
  if (!Crosses(j, w)) return kNoLink;
  const std::int64_t left =
      std::min({amounts_[of_worker_[w]].left, amounts_[of_job_[j]].left, shares_[j].left});
  return left == kNoLink ? kNoLink : std::max<std::int64_t>(0, left / jobs_[j].bytes_per_millicore);
}

void LinkLedger::Take(std::size_t j, std::size_t w, std::int64_t millicores) {
  if (!Crosses(j, w)) return;
  const std::int64_t bytes = millicores * jobs_[j].bytes_per_millicore;
  amounts_[of_worker_[w]].Take(bytes);
  amounts_[of_job_[j]].Take(bytes);
  shares_[j].Take(bytes);
}

bool LinkLedger::IsFull(std::size_t w) const { return limited_ && amounts_[of_worker_[w]].full(); }

bool LinkLedger::IsFullFor(std::size_t j) const {
  return limited_ && jobs_[j].bytes_per_millicore > 0 &&
         (amounts_[of_job_[j]].full() || shares_[j].full());
}

}  // namespace headrace::coordinator
