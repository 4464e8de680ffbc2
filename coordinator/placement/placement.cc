#include "coordinator/placement/placement.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "coordinator/placement/free_workers.h"
#include "coordinator/placement/link_ledger.h"

namespace headrace::coordinator {
namespace {

// Workers that are passed over for one job, because no millicore of it fits their links.
constexpr std::size_t kMostPassed = 64;

class Placer {
 public:
  Placer(const std::vector<PlacementJob>& jobs, const std::vector<PlacementWorker>& workers)
      : jobs_(jobs),
        workers_(workers),
        placed_(jobs.size()),
        need_(jobs.size()),
        guess_(jobs.size(), 0),
        links_(jobs, workers),
        free_(workers) {
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      by_id_[workers_[w].worker] = w;
      by_host_[workers_[w].host].push_back(w);
      left_.push_back(workers_[w].millicores);
      if (left_[w] > 0 && InPool(w)) free_.Add(w, left_[w]);
    }
    users_.assign(workers_.size(), 0);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      need_[j] = jobs_[j].millicores;
      const auto& held = jobs_[j].held;
      const bool forgotten =
          std::ranges::all_of(held, [](const auto& lease) { return lease.second.millicores == 0; });
      if (forgotten && !held.empty()) {
        guess_[j] = std::max<std::int64_t>(jobs_[j].millicores / std::ssize(held), 1);
      }
    }
  }

  std::vector<Leases> Run() {
    const auto each = [this](auto step) {
      for (std::size_t j = 0; j < jobs_.size(); ++j) step(j);
    };
    each([this](std::size_t j) { KeepLanes(j); });
    each([this](std::size_t j) { Keep(j, Where::kLocal); });
    each([this](std::size_t j) { GrowAtHome(j, true); });
    each([this](std::size_t j) { FillLocal(j); });
    each([this](std::size_t j) { Keep(j, Where::kHome); });
    each([this](std::size_t j) { GrowAtHome(j, false); });
    each([this](std::size_t j) { Keep(j, Where::kElsewhere); });
    each([this](std::size_t j) { GrowInPool(j); });
    each([this](std::size_t j) { KeepLeast(j); });
    each([this](std::size_t j) { ShareIfNone(j); });
    return std::move(placed_);
  }

 private:
  enum class Where : std::uint8_t { kLocal, kHome, kElsewhere };
  [[nodiscard]] Where WhereIs(std::size_t j, std::size_t w) const {
    if (workers_[w].local) return Where::kLocal;
    return workers_[w].host == jobs_[j].host ? Where::kHome : Where::kElsewhere;
  }

  // Takes at most what the job needs and the worker has. Leaves out a remainder that is too small
  // for a lease.
  void Take(std::size_t j, std::size_t w, std::int64_t most) {
    if (left_[w] <= 0 || need_[j] <= 0) return;
    const WorkerId id = workers_[w].worker;
    const bool is_new = !placed_[j].contains(id);
    const std::int64_t wanted = std::min({need_[j], std::int64_t{left_[w]}, most});
    const std::int64_t carried = links_.Most(j, w);
    const auto amount = static_cast<std::int32_t>(std::min(wanted, carried));
    if (amount <= 0 || (is_new && !MayBegin(j, w, amount, carried))) return;
    const bool was_full = links_.IsFull(w);
    if (!was_full && InPool(w)) free_.Remove(w, left_[w]);
    left_[w] -= amount;
    need_[j] -= amount;
    links_.Take(j, w, amount);
    if (left_[w] > 0 && InPool(w) && !was_full) free_.Add(w, left_[w]);
    if (!was_full && links_.IsFull(w)) LeaveOut(workers_[w].host);
    if (is_new) ++users_[w];
    placed_[j][id] += amount;
  }
  // `carried`: by the links, of which `amount` is a part.
  [[nodiscard]] bool MayBegin(std::size_t j, std::size_t w, std::int32_t amount,
                              std::int64_t carried) const {
    if (!MayHoldMore(j)) return false;
    if (amount >= std::min<std::int64_t>(kLeastMillicores, jobs_[j].millicores)) return true;
    if (carried < kLeastMillicores) return !links_.IsFull(w) && !links_.IsFullFor(j);
    const auto held = jobs_[j].held.find(workers_[w].worker);
    return held != jobs_[j].held.end() && held->second.millicores > 0 &&
           amount >= held->second.millicores;
  }
  // Jobs of other hosts begin no lease there any more.
  void LeaveOut(const std::string& host) {
    for (const std::size_t w : by_host_.at(host)) {
      if (left_[w] > 0 && InPool(w)) free_.Remove(w, left_[w]);
    }
  }
  [[nodiscard]] bool MayHoldMore(std::size_t j) const {
    const std::int32_t most = jobs_[j].most_workers;
    return most == 0 || placed_[j].size() < static_cast<std::size_t>(most);
  }

  [[nodiscard]] bool MayUse(std::size_t j, std::size_t w) const {
    return headrace::coordinator::MayUse(jobs_[j], workers_[w]);
  }
  // True: jobs of any host may use it.
  [[nodiscard]] bool InPool(std::size_t w) const {
    return !workers_[w].local && !workers_[w].home_only;
  }

  // A worker with lanes: its position, the least of its lease, and the millicores above that.
  struct HeldLane {
    std::size_t worker;
    std::int64_t base, above;
  };
  // A link may have made a lease smaller than the least.
  static std::int32_t BaseOf(const HeldLease& lease) {
    return lease.millicores > 0 ? std::min(lease.millicores, kLeastMillicores) : kLeastMillicores;
  }
  // Makes all leases smaller, each by the same part of what it has above the least lease.
  void KeepLanes(std::size_t j) {
    if (!jobs_[j].lanes_stay) return;
    std::vector<HeldLane> held;
    std::int64_t bases = 0, all = 0, known = 0;
    for (const auto& [id, lease] : jobs_[j].held) {
      const auto at = by_id_.find(id);
      if (at == by_id_.end() || !MayUse(j, at->second)) continue;
      const std::int32_t base = BaseOf(lease);
      held.push_back({at->second, base, std::max(lease.millicores - base, 0)});
      bases += base;
      all += held.back().above;
      known += lease.millicores;
    }
    if (held.empty() || jobs_[j].millicores <= 0) return;
    const auto count = static_cast<std::int64_t>(held.size());
    const std::int64_t granted = std::max<std::int64_t>(need_[j] - bases, 0);
    if (known == 0) {  // a coordinator that has just begun
      for (HeldLane& each : held) each.above = granted / count;
      all = granted / count * count;
    }
    const std::int64_t kept = std::min(granted, all);
    std::int64_t seen = 0;
    for (const auto& [w, base, above] : held) {
      // Takes the difference of two rounded sums; all differences together are `kept`.
      const std::int64_t begin = all > 0 ? seen * kept / all : 0;
      seen += above;
      const std::int64_t end = all > 0 ? seen * kept / all : 0;
      Take(j, w, base + end - begin);
    }
  }

  // Keeps the largest leases first, so that small ones go.
  void Keep(std::size_t j, Where where) {
    if (jobs_[j].lanes_stay) return;
    std::vector<std::pair<std::int64_t, std::size_t>> held;  // millicores, position
    for (const auto& [id, lease] : jobs_[j].held) {
      const auto at = by_id_.find(id);
      const std::int64_t millicores = guess_[j] > 0 ? guess_[j] : lease.millicores;
      if (at == by_id_.end() || millicores <= 0 || !MayUse(j, at->second)) continue;
      if (WhereIs(j, at->second) != where) continue;
      held.emplace_back(-millicores, at->second);
    }
    std::sort(held.begin(), held.end());
    for (const auto& [millicores, w] : held) Take(j, w, -millicores);
  }

  void GrowAtHome(std::size_t j, bool local) {
    if (need_[j] <= 0) return;
    const auto home = by_host_.find(jobs_[j].host);
    if (home == by_host_.end()) return;
    for (const bool used : {true, false}) {
      for (const std::size_t w : home->second) {
        if (workers_[w].local != local || !MayUse(j, w)) continue;
        if (placed_[j].contains(workers_[w].worker) == used) Take(j, w, need_[j]);
      }
    }
  }

  void GrowInPool(std::size_t j) {
    if (need_[j] <= 0) return;
    std::vector<std::size_t> used;
    for (const auto& [id, millicores] : placed_[j]) used.push_back(by_id_.at(id));
    for (const std::size_t w : used) Take(j, w, need_[j]);
    for (const std::size_t u : used) {
      if (!jobs_[j].caches || need_[j] <= 0) break;
      for (const std::size_t w : by_host_.at(workers_[u].host)) {
        if (InPool(w)) Take(j, w, need_[j]);
      }
    }
    std::function<bool(std::size_t)> carries;
    if (links_.limited()) {
      carries = [&](std::size_t w) { return links_.Most(j, w) >= need_[j]; };
    }
    std::vector<std::size_t> passed;  // their links carry none of its samples
    while (need_[j] > 0 && MayHoldMore(j) && !links_.IsSpent(j)) {
      const auto w = free_.Choose(need_[j], jobs_[j].rack, carries);
      if (!w) break;
      const std::int64_t before = need_[j];
      Take(j, *w, need_[j]);
      if (need_[j] != before) continue;
      if (links_.Most(j, *w) >= need_[j] || passed.size() >= kMostPassed) break;
      passed.push_back(*w);
      free_.Remove(*w, left_[*w]);
    }
    for (const std::size_t w : passed) {
      if (!links_.IsFull(w)) free_.Add(w, left_[w]);
    }
  }

  // Starts with the workers that it held already, so that nothing moves between two workers.
  void FillLocal(std::size_t j) {
    const auto home = by_host_.find(jobs_[j].host);
    if (home == by_host_.end() || jobs_[j].millicores <= 0) return;
    const std::int64_t extra =
        jobs_[j].lanes_stay ? 0 : std::max<std::int64_t>(0, jobs_[j].wanted - jobs_[j].millicores);
    need_[j] += extra;
    for (const bool again : {true, false}) {
      for (const std::size_t w : home->second) {
        if (!workers_[w].local || !MayUse(j, w)) continue;
        const auto held = jobs_[j].held.find(workers_[w].worker);
        if (!again) {
          Take(j, w, need_[j]);
        } else if (held != jobs_[j].held.end()) {
          const auto placed = placed_[j].find(workers_[w].worker);
          Take(j, w, held->second.millicores - (placed == placed_[j].end() ? 0 : placed->second));
        }
      }
    }
    need_[j] = std::max<std::int64_t>(0, need_[j] - extra);
  }

  void KeepLeast(std::size_t j) {
    if (jobs_[j].millicores <= 0) return;
    for (const auto& [id, lease] : jobs_[j].held) {
      const auto at = by_id_.find(id);
      // If the shares are unknown, it is also unknown whose cache holds what.
      const bool of_use = lease.holds_cache || jobs_[j].lanes_stay || guess_[j] > 0;
      if (of_use && at != by_id_.end() && MayUse(j, at->second) && !placed_[j].contains(id) &&
          MayHoldMore(j)) {
        placed_[j][id] = kLeastMillicores;
        ++users_[at->second];
      }
    }
  }

  void ShareIfNone(std::size_t j) {
    if (jobs_[j].millicores <= 0 || !placed_[j].empty()) return;
    const auto rank = [&](std::size_t w) {
      const bool held = jobs_[j].held.contains(workers_[w].worker);
      const bool elsewhere = workers_[w].host != jobs_[j].host;
      const bool other_rack = elsewhere && workers_[w].rack != jobs_[j].rack;
      return std::tuple(!held, elsewhere, elsewhere && links_.IsFull(w), other_rack, users_[w], w);
    };
    std::optional<std::size_t> best;
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      if (MayUse(j, w) && (!best || rank(w) < rank(*best))) best = w;
    }
    if (!best) return;
    placed_[j][workers_[*best].worker] = kLeastMillicores;
    ++users_[*best];
  }

  const std::vector<PlacementJob>& jobs_;
  const std::vector<PlacementWorker>& workers_;
  std::vector<Leases> placed_;
  std::vector<std::int64_t> need_;   // by job, not placed yet
  std::vector<std::int64_t> guess_;  // by job, of each lease; 0: they are known
  LinkLedger links_;
  std::vector<std::int32_t> left_;   // by worker
  std::vector<std::int32_t> users_;  // leases by worker
  FreeWorkers free_;  // those of the pool with something left, and a link that is not full
  std::unordered_map<WorkerId, std::size_t> by_id_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_host_;
};

}  // namespace

bool MayUse(const PlacementJob& job, const PlacementWorker& worker) {
  if (!worker.local && !worker.home_only) return true;
  return worker.host == job.host && (!worker.local || worker.uid == job.uid);
}

std::vector<Leases> Place(const std::vector<PlacementJob>& jobs,
                          const std::vector<PlacementWorker>& workers) {
  return Placer(jobs, workers).Run();
}

}  // namespace headrace::coordinator
