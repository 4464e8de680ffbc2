#include "coordinator/state/known_datasets.h"

#include <algorithm>

namespace headrace::coordinator {

void KnownDatasets::Begin(std::uint64_t dataset, const std::string& name, const std::string& tenant,
                          std::int64_t rows, JobId job, bool leaves) {
  if (!datasets_.contains(dataset) && datasets_.size() >= kMost) {
    auto oldest = datasets_.end();
    for (auto at = datasets_.begin(); at != datasets_.end(); ++at) {
      if (at->second.pinned) continue;
      if (oldest == datasets_.end() || at->second.last < oldest->second.last) oldest = at;
    }
    std::erase_if(ended_, [&](const Ended& each) { return each.second == oldest->first; });
    datasets_.erase(oldest);
  }
  KnownDataset& known = datasets_[dataset];
  if (known.last.valid() && job < known.last) return;
  known.name = name;
  known.tenant = tenant;
  known.rows = rows;
  known.last = job;
  known.leaves = leaves;
}

void KnownDatasets::End(std::uint64_t dataset, JobId job) {
  if (!datasets_.contains(dataset)) return;
  const Ended ended{job, dataset};
  const auto at = std::ranges::lower_bound(ended_, ended);
  if (at != ended_.end() && *at == ended) return;
  ended_.insert(at, ended);
  if (ended_.size() > kMostEnded) ended_.erase(ended_.begin());
}

Status KnownDatasets::Pin(std::uint64_t dataset, std::uint64_t bytes) {
  const auto at = datasets_.find(dataset);
  if (at == datasets_.end()) return DataLoss("a data set that is pinned is unknown");
  if (!at->second.pinned && pinned_ >= kMostPinned)
    return DataLoss("too many data sets are pinned");
  pinned_ += at->second.pinned ? 0 : 1;
  at->second.pinned = true;
  at->second.pinned_bytes = bytes;
  return Status::Ok();
}

Status KnownDatasets::Unpin(std::uint64_t dataset) {
  const auto at = datasets_.find(dataset);
  if (at == datasets_.end()) return DataLoss("a data set that is unpinned is unknown");
  pinned_ -= at->second.pinned ? 1 : 0;
  at->second.pinned = false;
  at->second.pinned_bytes = 0;
  return Status::Ok();
}

void KnownDatasets::SetWarm(std::uint64_t dataset, bool warm) {
  if (const auto at = datasets_.find(dataset); at != datasets_.end()) at->second.warm = warm;
}

void KnownDatasets::AddDrop(PendingDrop drop) {
  last_drop_ = std::max(last_drop_, drop.number);
  if (drop.waiting.empty()) return;
  if (drops_.size() >= kMostDrops) drops_.erase(drops_.begin());
  drops_.push_back(std::move(drop));
}

void KnownDatasets::Dropped(WorkerId worker, std::uint64_t number) {
  if (drops_.empty()) return;
  for (PendingDrop& drop : drops_) {
    if (drop.number <= number) drop.waiting.erase(worker);
  }
  std::erase_if(drops_, [](const PendingDrop& drop) { return drop.waiting.empty(); });
}

void KnownDatasets::Forget(WorkerId worker) { Dropped(worker, ~std::uint64_t{0}); }

const KnownDataset* KnownDatasets::Find(std::uint64_t dataset) const {
  const auto at = datasets_.find(dataset);
  return at == datasets_.end() ? nullptr : &at->second;
}

std::span<const KnownDatasets::Ended> KnownDatasets::OfEnded(JobId job) const {
  const auto of_job = [](const Ended& each) { return each.first; };
  const auto found = std::ranges::equal_range(ended_, job, {}, of_job);
  return {found.begin(), found.end()};
}

std::vector<JobId> KnownDatasets::EndedOf(std::uint64_t dataset) const {
  std::vector<JobId> jobs;
  for (const auto& [job, of] : ended_) {
    if (of == dataset) jobs.push_back(job);
  }
  return jobs;
}

std::uint64_t KnownDatasets::LargestOf(const std::set<std::uint64_t>& datasets) const {
  std::uint64_t largest = 0;
  std::int64_t rows = -1;
  for (const std::uint64_t each : datasets) {
    const KnownDataset* known = Find(each);
    if (known == nullptr || known->rows <= rows) continue;
    largest = each;
    rows = known->rows;
  }
  return largest;
}

std::vector<std::uint64_t> KnownDatasets::SurplusOf(const std::set<std::uint64_t>& datasets,
                                                    const std::set<std::uint64_t>& open) const {
  if (datasets.size() <= kMostOfJob) return {};
  std::vector<std::pair<std::int64_t, std::uint64_t>> closed;
  for (const std::uint64_t each : datasets) {
    const KnownDataset* known = Find(each);
    if (open.contains(each) || (known != nullptr && known->leaves)) continue;
    closed.emplace_back(known == nullptr ? -1 : known->rows, ~each);  // LargestOf takes the first
  }
  std::ranges::sort(closed);
  closed.resize(std::min(closed.size(), datasets.size() - kMostOfJob));
  std::vector<std::uint64_t> surplus;
  for (const auto& [rows, number] : closed) surplus.push_back(~number);
  return surplus;
}

std::uint64_t KnownDatasets::NextDrop(std::int64_t wall_ms) const {
  return std::max(last_drop_ + 1, static_cast<std::uint64_t>(std::max<std::int64_t>(wall_ms, 1)));
}

}  // namespace headrace::coordinator
