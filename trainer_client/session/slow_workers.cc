#include "trainer_client/session/slow_workers.h"

#include <algorithm>
#include <utility>

namespace headrace::client {
namespace {

constexpr std::int32_t kForgiven = 30;  // good windows after which earlier rests do not count
constexpr std::int32_t kMostDoublings = 16;

std::string Percent(std::uint64_t part, std::uint64_t all) {
  return std::to_string(all == 0 ? 0 : (100 * part + all / 2) / all) + "%";
}

}  // namespace

void SlowWorkers::Report(WorkerId worker, std::uint64_t made, std::uint64_t late) {
  Counts& counts = records_[worker].window;
  counts.made += made;
  counts.late += late;
}

bool SlowWorkers::IsLate(const Counts& counts, const Counts& peers) const {
  const auto share = [](const Counts& of) {
    return static_cast<double>(of.late) / static_cast<double>(std::max<std::uint64_t>(of.all(), 1));
  };
  // The last worker has no peers. Where they are late too, the disk or the network is slow.
  return counts.late >= rules_.least_late && share(counts) >= rules_.late_share && peers.made > 0 &&
         share(peers) <= rules_.peers_share;
}

void SlowWorkers::EndWindow(const std::set<WorkerId>& usable, SteadyTime now) {
  began_ = now;
  std::erase_if(records_, [&](const auto& entry) { return !usable.contains(entry.first); });
  std::erase_if(resting_, [&](const auto& entry) {
    return entry.second.until <= now || !usable.contains(entry.first);
  });
  Counts all;
  for (const auto& [id, record] : records_) {
    if (resting_.contains(id)) continue;
    all.made += record.window.made;
    all.late += record.window.late;
  }
  WorkerId slowest;
  Counts its, others;
  for (auto& [id, record] : records_) {
    const Counts counts = std::exchange(record.window, {});
    if (resting_.contains(id)) continue;  // what it was asked before
    const Counts peers{all.made - counts.made, all.late - counts.late};
    if (!IsLate(counts, peers)) {
      if (counts.all() == 0) continue;  // nothing is known of it
      record.late_windows = 0;
      if (++record.good_windows >= kForgiven) record.rests = 0;
      if (record.good_windows >= rules_.windows) record.slow.clear();
      continue;
    }
    record.good_windows = 0;
    if (++record.late_windows < rules_.windows || counts.late <= its.late) continue;
    slowest = id;
    its = counts;
    others = peers;
  }
  if (!slowest.valid()) return;
  Record& record = records_.at(slowest);
  record.late_windows = 0;
  const Duration rest = std::min<Duration>(
      rules_.longest_rest, rules_.first_rest * (1LL << std::min(record.rests, kMostDoublings)));
  ++record.rests;
  record.slow = "late for " + Percent(its.late, its.all()) + " of its batches, its peers for " +
                Percent(others.late, others.all()) + " of theirs";
  resting_.emplace(slowest, Rest{now + rest, record.slow});
}

std::map<WorkerId, std::string> SlowWorkers::slow() const {
  std::map<WorkerId, std::string> all;
  for (const auto& [id, record] : records_) {
    if (record.slow.empty()) continue;
    all.emplace(id, (resting_.contains(id) ? "rests: " : "is tried again: ") + record.slow);
  }
  return all;
}

}  // namespace headrace::client
