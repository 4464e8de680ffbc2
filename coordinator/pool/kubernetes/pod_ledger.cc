#include "coordinator/pool/kubernetes/pod_ledger.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "coordinator/pool/kubernetes/kube_access.h"

namespace headrace::coordinator {
namespace {

using MemberState = PoolMember::State;
using Phase = PodSeen::Phase;

constexpr std::size_t kMostPodClaims = 4096;  // a worker's word; whoever has a worker's key may lie

}  // namespace

void PodLedger::Outcome::Add(Outcome more) {
  std::ranges::move(more.ended, std::back_inserter(ended));
  std::ranges::move(more.failed, std::back_inserter(failed));
  std::ranges::move(more.remove, std::back_inserter(remove));
}

std::int32_t PodLedger::size() const {
  return asked_ + static_cast<std::int32_t>(on_their_way_.size() + pods_.size());
}

bool PodLedger::in_doubt() const {
  return std::ranges::any_of(on_their_way_,
                             [](const auto& each) { return each.second.doubt.has_value(); });
}

std::vector<PoolMember> PodLedger::List() const {
  std::vector<const Pod*> pods;
  for (const auto& [name, pod] : pods_) pods.push_back(&pod);
  std::ranges::sort(pods, {}, [](const Pod* pod) { return pod->order; });
  std::vector<PoolMember> list;
  for (const Pod* pod : pods) list.push_back(pod->shown);
  list.resize(static_cast<std::size_t>(size()), PoolMember{.state = MemberState::kQueued});
  return list;
}

Status PodLedger::Ask(std::int32_t count) {
  if (!ready_) return Unavailable("Kubernetes has not told yet which Pods of this pool there are");
  if (size() + count > most_) {
    return ResourceExhausted("the kubernetes pool has " + std::to_string(size()) +
                             " workers and may have " + std::to_string(most_) + "; " +
                             std::to_string(count) + " more do not fit");
  }
  asked_ += std::max(count, 0);
  return Status::Ok();
}

std::optional<std::int64_t> PodLedger::NextStart() {
  if (asked_ == 0 || on_their_way_.size() >= kMostOnTheirWay) return std::nullopt;
  --asked_;
  on_their_way_[++starts_] = {};
  return starts_;
}

PodLedger::Outcome PodLedger::Created(std::int64_t start, const PodSeen& pod, SteadyTime now) {
  // Where the watch was faster, it has also told all that came later.
  if (!on_their_way_.contains(start)) return {};
  on_their_way_.erase(start);
  return Seen(pod, now);
}

void PodLedger::Again(std::int64_t start) {
  if (on_their_way_.erase(start) > 0) ++asked_;
}

PodLedger::Outcome PodLedger::Refused(std::int64_t start, const Status& why) {
  Outcome outcome;
  if (on_their_way_.erase(start) == 0) return outcome;
  outcome.failed.emplace_back(1 + asked_, why);
  asked_ = 0;
  return outcome;
}

void PodLedger::Unanswered(std::int64_t start) {
  if (const auto found = on_their_way_.find(start); found != on_their_way_.end()) {
    found->second.doubt = listings_;
  }
}

PodLedger::Outcome PodLedger::Listed(const std::vector<PodSeen>& pods, SteadyTime now) {
  Outcome outcome;
  std::set<std::string> listed;
  for (const PodSeen& seen : pods) {
    listed.insert(seen.name);
    outcome.Add(Seen(seen, now));
  }
  std::erase_if(pods_, [&](const auto& each) {
    // One that was made after the list had begun may be lacking there.
    if (listed.contains(each.first) || each.second.listings >= listings_) return false;
    Finish(each.second, "it is gone", now, outcome);
    return true;
  });
  std::int32_t lacking = 0;
  std::erase_if(on_their_way_, [&](const auto& each) {
    const bool is_none = each.second.doubt && *each.second.doubt < listings_;
    if (is_none) ++lacking;
    return is_none;
  });
  if (lacking > 0) {
    outcome.failed.emplace_back(
        lacking,
        Unavailable("Kubernetes did not answer, and made no Pod").WithDetail(Detail::kUnreachable));
  }
  ready_ = true;
  // Whoever made such a claim before the list had begun, this pool does not have it.
  std::erase_if(claims_, [&](const auto& each) { return each.second.listings < listings_; });
  return outcome;
}

PodLedger::Outcome PodLedger::Seen(const PodSeen& seen, SteadyTime now) {
  Outcome outcome;
  if (seen.epoch == epoch_) on_their_way_.erase(seen.start);
  const auto known = pods_.find(seen.name);
  if (seen.phase == Phase::kEnded) {
    if (known != pods_.end()) {
      See(known->second, seen);
      Finish(known->second, seen.reason, now, outcome);
      pods_.erase(known);
    }
    if (!seen.deleting) outcome.remove.push_back({seen.name, seen.uid});
    return outcome;
  }
  See(known == pods_.end() ? Add(seen) : known->second, seen);
  return outcome;
}

PodLedger::Outcome PodLedger::Gone(const PodSeen& seen, SteadyTime now) {
  Outcome outcome;
  if (seen.epoch == epoch_) on_their_way_.erase(seen.start);
  const auto known = pods_.find(seen.name);
  if (known == pods_.end()) return outcome;
  Finish(known->second, seen.reason.empty() ? "it was deleted" : seen.reason, now, outcome);
  pods_.erase(known);
  return outcome;
}

std::optional<PodName> PodLedger::End(const std::string& handle) {
  const auto found = pods_.find(handle);
  if (found == pods_.end()) return std::nullopt;
  found->second.shown.state = MemberState::kDraining;
  return PodName{handle, found->second.uid};
}

Status PodLedger::Drain(WorkerId worker) {
  if (Pod* pod = Find(worker)) {
    pod->shown.state = MemberState::kDraining;
    return Status::Ok();
  }
  for (auto& [name, claim] : claims_) {
    if (claim.worker != worker) continue;
    claim.draining = true;
    return Status::Ok();
  }
  return NotFound("worker " + std::to_string(worker.value) + " is not in the kubernetes pool");
}

void PodLedger::Registered(const wire::WorkerInfo& info, SteadyTime now) {
  if (!IsKubeName(info.member)) return;
  const auto found = pods_.find(info.member);
  if (found == pods_.end()) {
    // The word of a coordinator's journal, or it was faster than the API server's.
    if (claims_.size() < kMostPodClaims) {
      claims_.try_emplace(info.member, Claim{info.worker, listings_});
    }
    return;
  }
  Pod& pod = found->second;
  // Who was first keeps the place: a handle is only a worker's word.
  if (pod.shown.worker.valid() && pod.shown.worker != info.worker) return;
  pod.shown.worker = info.worker;
  if (!pod.registered) pod.registered = now;
  if (pod.shown.state != MemberState::kDraining) pod.shown.state = MemberState::kRunning;
}

void PodLedger::Leaving(WorkerId worker) {
  if (Pod* pod = Find(worker)) pod->shown.state = MemberState::kDraining;
}

void PodLedger::Lost(WorkerId worker) {
  Pod* pod = Find(worker);
  if (pod != nullptr && pod->shown.state == MemberState::kRunning) {
    pod->shown.state = MemberState::kLost;
  }
}

void PodLedger::Left(WorkerId worker) {
  std::erase_if(claims_, [&](const auto& each) { return each.second.worker == worker; });
  Pod* pod = Find(worker);
  if (pod == nullptr) return;
  pod->shown.worker = WorkerId();
  pod->shown.state = MemberState::kDraining;
}

PodLedger::Pod* PodLedger::Find(WorkerId worker) {
  const auto found = std::ranges::find_if(pods_, [&](const auto& each) {
    return worker.valid() && each.second.shown.worker == worker;
  });
  return found == pods_.end() ? nullptr : &found->second;
}

PodLedger::Pod& PodLedger::Add(const PodSeen& seen) {
  Pod& pod = pods_[seen.name];
  pod.shown.state = MemberState::kQueued;
  pod.shown.handle = seen.name;
  pod.shown.starts = 1;
  pod.uid = seen.uid;
  pod.order = ++orders_;
  pod.listings = listings_;
  const auto claim = claims_.find(seen.name);
  if (claim == claims_.end()) return pod;
  pod.shown.worker = claim->second.worker;
  pod.shown.state = claim->second.draining ? MemberState::kDraining : MemberState::kRunning;
  pod.proven = true;
  claims_.erase(claim);
  return pod;
}

void PodLedger::See(Pod& pod, const PodSeen& seen) {
  PoolMember& shown = pod.shown;
  shown.note = seen.node.empty() ? seen.reason : seen.name + " on " + seen.node;
  shown.why = seen.why;
  if (seen.phase == Phase::kPending && !seen.node.empty() && !seen.reason.empty()) {
    shown.note += ": " + seen.reason;
  }
  if (seen.deleting) {
    // A drained node, an eviction, pre-emption, an administrator: its worker has got SIGTERM.
    shown.state = MemberState::kDraining;
  } else if (seen.phase == Phase::kRunning && shown.state == MemberState::kQueued) {
    shown.state = MemberState::kStarting;
  }
}

// A member that was told to end has done so. Any other is of interest, and one that was of no use is
// a failure.
void PodLedger::Finish(const Pod& pod, const std::string& how, SteadyTime now,
                       Outcome& outcome) const {
  if (pod.shown.worker.valid()) outcome.ended.push_back(pod.shown.worker);
  if (pod.shown.state == MemberState::kDraining || pod.proven) return;
  if (pod.registered && now - *pod.registered >= kUseful) return;
  const std::string place = pod.shown.note.empty() ? pod.shown.handle : pod.shown.note;
  outcome.failed.emplace_back(1, Unavailable("the Pod " + place + " ended" +
                                             (pod.registered ? " soon after it had registered: "
                                                             : " before it registered: ") +
                                             (how.empty() ? "Kubernetes does not say why" : how))
                                     .WithDetail(Detail::kWorkersFail));
}

}  // namespace headrace::coordinator
