#include "coordinator/pool/kubernetes/scale_ledger.h"

#include <algorithm>
#include <set>

#include "coordinator/pool/kubernetes/kube_access.h"

namespace headrace::coordinator {
namespace {

using Shown = PoolMember::State;

constexpr std::size_t kMostScaleClaims = 4096;

}  // namespace

std::int32_t ScaleLedger::lacking() const {
  const auto there = std::ranges::count_if(
      pods_, [](const auto& each) { return !each.second.deleting && !each.second.victim; });
  return std::max(wanted_ - static_cast<std::int32_t>(there), 0);
}

std::vector<PoolMember> ScaleLedger::List() const {
  std::vector<const Pod*> pods;
  for (const auto& [name, pod] : pods_) pods.push_back(&pod);
  std::ranges::sort(pods, {}, [](const Pod* pod) { return pod->order; });
  std::vector<PoolMember> list;
  for (const Pod* pod : pods) list.push_back(pod->shown);
  list.resize(list.size() + static_cast<std::size_t>(lacking()),
              PoolMember{.state = Shown::kQueued});
  return list;
}

Status ScaleLedger::Ask(std::int32_t count) {
  if (!ready()) return Unavailable("Kubernetes has not told yet how many Pods this pool has");
  if (wanted_ + count > most_) {
    return ResourceExhausted("the kubernetes pool has " + std::to_string(wanted_) +
                             " workers and may have " + std::to_string(most_) + "; " +
                             std::to_string(count) + " more do not fit");
  }
  wanted_ += std::max(count, 0);
  return Status::Ok();
}

void ScaleLedger::MakeVictim(Pod& pod) {
  pod.shown.state = Shown::kDraining;
  if (pod.victim || pod.deleting) return;
  pod.victim = true;
  wanted_ = std::max(wanted_ - 1, 0);
}

Status ScaleLedger::Drain(WorkerId worker) {
  Pod* const pod = Find(worker);
  if (pod == nullptr) {
    return NotFound("worker " + std::to_string(worker.value) + " is not in the kubernetes pool");
  }
  MakeVictim(*pod);
  return Status::Ok();
}

Status ScaleLedger::End(const std::string& handle) {
  const auto found = pods_.find(handle);
  if (found == pods_.end()) return NotFound(handle + " is not in the kubernetes pool");
  MakeVictim(found->second);
  return Status::Ok();
}

void ScaleLedger::Registered(const wire::WorkerInfo& info) {
  if (!IsKubeName(info.member)) return;
  const auto found = pods_.find(info.member);
  if (found == pods_.end()) {
    if (claims_.size() < kMostScaleClaims) claims_.try_emplace(info.member, info.worker);
    return;
  }
  PoolMember& shown = found->second.shown;
  // A container that was started again is another worker in the same Pod.
  const bool taken = shown.worker.valid() && shown.worker != info.worker &&
                     shown.state != Shown::kLost && shown.state != Shown::kDraining;
  if (taken) return;
  shown.worker = info.worker;
  ++shown.starts;
  if (!found->second.victim && !found->second.deleting) shown.state = Shown::kRunning;
}

void ScaleLedger::Leaving(WorkerId worker) {
  if (Pod* const pod = Find(worker)) pod->shown.state = Shown::kDraining;
}

void ScaleLedger::Lost(WorkerId worker) {
  Pod* const pod = Find(worker);
  if (pod != nullptr && pod->shown.state == Shown::kRunning) pod->shown.state = Shown::kLost;
}

void ScaleLedger::Left(WorkerId worker) {
  std::erase_if(claims_, [&](const auto& each) { return each.second == worker; });
  Pod* const pod = Find(worker);
  if (pod == nullptr) return;
  pod->shown.worker = WorkerId();
  if (!pod->victim && !pod->deleting) pod->shown.state = Shown::kStarting;
}

void ScaleLedger::Replicas(std::int32_t count) {
  told_ = count;
  if (!known_) wanted_ = count;
  known_ = true;
  Pardon();
}

std::optional<std::int32_t> ScaleLedger::Wanted() const {
  return known_ && wanted_ != told_ ? std::optional(wanted_) : std::nullopt;
}

std::vector<std::string> ScaleLedger::TakeVictims() {
  std::vector<std::string> victims;
  for (auto& [name, pod] : pods_) {
    if (pod.victim && !pod.marked) victims.push_back(name);
    pod.marked = pod.victim;
  }
  return victims;
}

std::int32_t ScaleLedger::Refused() {
  const std::int32_t count = std::max(wanted_ - told_, 0);
  wanted_ -= count;
  return count;
}

std::vector<WorkerId> ScaleLedger::Listed(const std::vector<PodSeen>& pods) {
  std::vector<WorkerId> ended;
  std::set<std::string> listed;
  const auto add = [&](const std::vector<WorkerId>& more) {
    ended.insert(ended.end(), more.begin(), more.end());
  };
  for (const PodSeen& seen : pods) {
    listed.insert(seen.name);
    add(Seen(seen));
  }
  std::vector<PodSeen> gone;
  for (const auto& [name, pod] : pods_) {
    if (!listed.contains(name)) gone.push_back({.name = name});
  }
  for (const PodSeen& each : gone) add(Gone(each));
  listed_ = true;
  return ended;
}

std::vector<WorkerId> ScaleLedger::Seen(const PodSeen& seen) {
  if (seen.phase == PodSeen::Phase::kEnded) return Gone(seen);
  const auto [at, made] = pods_.try_emplace(seen.name);
  Pod& pod = at->second;
  if (made) {
    pod.shown.handle = seen.name;
    pod.shown.state = Shown::kQueued;
    pod.order = ++orders_;
    if (const auto claim = claims_.find(seen.name); claim != claims_.end()) {
      pod.shown.worker = claim->second;
      pod.shown.state = Shown::kRunning;
      pod.shown.starts = 1;
      claims_.erase(claim);
    }
  }
  pod.shown.note = seen.node.empty() ? seen.reason : seen.name + " on " + seen.node;
  pod.deleting = seen.deleting;
  if (seen.deleting) {
    pod.shown.state = Shown::kDraining;
  } else if (seen.phase == PodSeen::Phase::kRunning && pod.shown.state == Shown::kQueued) {
    pod.shown.state = Shown::kStarting;
  }
  Pardon();
  return {};
}

std::vector<WorkerId> ScaleLedger::Gone(const PodSeen& seen) {
  const auto found = pods_.find(seen.name);
  if (found == pods_.end()) return {};
  const WorkerId worker = found->second.shown.worker;
  pods_.erase(found);
  Pardon();
  return worker.valid() ? std::vector{worker} : std::vector<WorkerId>();
}

ScaleLedger::Pod* ScaleLedger::Find(WorkerId worker) {
  const auto found = std::ranges::find_if(pods_, [&](const auto& each) {
    return worker.valid() && each.second.shown.worker == worker;
  });
  return found == pods_.end() ? nullptr : &found->second;
}

// The engine has as few as it was told, and has taken others: those that are left stay.
void ScaleLedger::Pardon() {
  if (!known_ || wanted_ != told_) return;
  const auto left =
      std::ranges::count_if(pods_, [](const auto& each) { return !each.second.deleting; });
  if (left > wanted_) return;
  for (auto& [name, pod] : pods_) {
    if (!pod.victim || pod.deleting) continue;
    pod.victim = pod.marked = false;
    if (!pod.shown.worker.valid()) pod.shown.state = Shown::kStarting;
  }
}

}  // namespace headrace::coordinator
