#include "coordinator/pool/ray/ray_ledger.h"

#include <algorithm>
#include <set>

namespace headrace::coordinator {
namespace {

using RayState = PoolMember::State;

constexpr std::size_t kMostRayClaims = 4096;  // a worker's word; whoever has its key may lie

}  // namespace

std::vector<PoolMember> RayLedger::List() const {
  std::vector<const Member*> members;
  for (const auto& [name, member] : members_) members.push_back(&member);
  std::ranges::sort(members, {}, &Member::order);
  std::vector<PoolMember> list;
  for (const Member* member : members) list.push_back(member->shown);
  return list;
}

Result<std::vector<std::string>> RayLedger::Ask(std::int32_t count) {
  if (!ready_) return Unavailable("Ray has not told yet which workers of this pool there are");
  const auto size = static_cast<std::int32_t>(members_.size());
  if (size + count > most_) {
    return ResourceExhausted("the ray pool has " + std::to_string(size) + " workers and may have " +
                             std::to_string(most_) + "; " + std::to_string(count) +
                             " more do not fit");
  }
  std::vector<std::string> names;
  for (std::int32_t i = 0; i < count; ++i) {
    names.push_back(RayMemberName(pool_, epoch_, ++starts_));
    Add(names.back());
  }
  return names;
}

RayLedger::Outcome RayLedger::Take(const RayEvent& event, SteadyTime now) {
  Outcome outcome;
  if (event.kind == RayEvent::Kind::kListed) return Listed(event.members, now);
  const auto found = members_.find(event.member);
  if (found == members_.end()) return outcome;
  PoolMember& shown = found->second.shown;
  switch (event.kind) {
    case RayEvent::Kind::kQueued:
      if (shown.state != RayState::kQueued) break;
      shown.note = event.text;
      shown.why = Detail::kNoRoom;  // Ray has no other reason
      break;
    case RayEvent::Kind::kRunning:
      shown.note = "on " + event.text;
      shown.why = Detail::kNone;
      if (shown.state == RayState::kQueued) shown.state = RayState::kStarting;
      break;
    case RayEvent::Kind::kLeaving:
      shown.note = event.text;
      shown.state = RayState::kDraining;
      break;
    case RayEvent::Kind::kEnded:
    case RayEvent::Kind::kRefused:
      Finish(found, event, now, outcome);
      break;
    case RayEvent::Kind::kListed:
    case RayEvent::Kind::kTrouble:
      break;
  }
  return outcome;
}

// After a helper was lost: what it did not start is asked for again, and what has ended is gone.
RayLedger::Outcome RayLedger::Listed(const std::vector<std::string>& names, SteadyTime now) {
  Outcome outcome;
  std::set<std::string> listed;
  for (const std::string& name : names) {
    if (!IsRayMemberOf(pool_, name)) continue;
    listed.insert(name);
    if (!members_.contains(name)) Add(name);
  }
  for (auto at = members_.begin(); at != members_.end();) {
    const auto each = at++;
    if (listed.contains(each->first)) continue;
    if (each->second.shown.state == RayState::kQueued) {
      outcome.start.push_back(each->first);
    } else {
      Finish(each, {.kind = RayEvent::Kind::kEnded, .text = "it is gone"}, now, outcome);
    }
  }
  ready_ = true;
  claims_.clear();  // one that runs is listed
  return outcome;
}

std::optional<bool> RayLedger::End(const std::string& handle) {
  const auto found = members_.find(handle);
  if (found == members_.end()) return std::nullopt;
  RayState& state = found->second.shown.state;
  const bool started = state != RayState::kQueued;
  state = RayState::kDraining;
  return started;
}

Status RayLedger::Drain(WorkerId worker) {
  if (Member* member = Find(worker)) {
    member->shown.state = RayState::kDraining;
    return Status::Ok();
  }
  for (auto& [name, claim] : claims_) {
    if (claim.worker != worker) continue;
    claim.draining = true;
    return Status::Ok();
  }
  return NotFound("worker " + std::to_string(worker.value) + " is not in the ray pool");
}

void RayLedger::Registered(const wire::WorkerInfo& info, SteadyTime now) {
  const auto found = members_.find(info.member);
  if (found == members_.end()) {
    // The word of a coordinator's journal.
    const bool may_be = !ready_ && IsRayMemberOf(pool_, info.member);
    if (may_be && claims_.size() < kMostRayClaims)
      claims_.try_emplace(info.member, Claim{info.worker});
    return;
  }
  Member& member = found->second;
  // Who was first keeps the place: a handle is only a worker's word.
  if (member.shown.worker.valid() && member.shown.worker != info.worker) return;
  member.shown.worker = info.worker;
  if (!member.registered) member.registered = now;
  if (member.shown.state != RayState::kDraining) member.shown.state = RayState::kRunning;
}

void RayLedger::Leaving(WorkerId worker) {
  if (Member* member = Find(worker)) member->shown.state = RayState::kDraining;
}

void RayLedger::Lost(WorkerId worker) {
  Member* member = Find(worker);
  if (member != nullptr && member->shown.state == RayState::kRunning) {
    member->shown.state = RayState::kLost;
  }
}

void RayLedger::Left(WorkerId worker) {
  std::erase_if(claims_, [&](const auto& each) { return each.second.worker == worker; });
  Member* member = Find(worker);
  if (member == nullptr) return;
  member->shown.worker = WorkerId();
  member->shown.state = RayState::kDraining;
}

RayLedger::Member* RayLedger::Find(WorkerId worker) {
  const auto found = std::ranges::find_if(members_, [&](const auto& each) {
    return worker.valid() && each.second.shown.worker == worker;
  });
  return found == members_.end() ? nullptr : &found->second;
}

RayLedger::Member& RayLedger::Add(const std::string& name) {
  Member& member = members_[name];
  member.shown.state = RayState::kQueued;
  member.shown.handle = name;
  member.shown.starts = 1;
  member.order = ++orders_;
  const auto claim = claims_.find(name);
  if (claim == claims_.end()) return member;
  member.shown.worker = claim->second.worker;
  member.shown.state = claim->second.draining ? RayState::kDraining : RayState::kRunning;
  member.proven = true;
  claims_.erase(claim);
  return member;
}

// A member that was told to end has done so. Any other is of interest, and one that was of no use is
// a failure.
void RayLedger::Finish(Members::iterator member, const RayEvent& end, SteadyTime now,
                       Outcome& outcome) {
  const Member gone = std::move(member->second);
  members_.erase(member);
  if (gone.shown.worker.valid()) outcome.ended.emplace_back(gone.shown.worker, end.cpu_seconds);
  if (end.kind == RayEvent::Kind::kRefused) {
    outcome.failed.emplace_back(1, Unavailable("Ray: " + end.text));
    return;
  }
  if (gone.shown.state == RayState::kDraining || gone.proven) return;
  if (gone.registered && now - *gone.registered >= kUseful) return;
  const std::string place = gone.shown.note.empty() ? "" : " " + gone.shown.note;
  outcome.failed.emplace_back(1, Unavailable("Ray's actor " + gone.shown.handle + place + " ended" +
                                             (gone.registered ? " soon after it had registered: "
                                                              : " before it registered: ") +
                                             end.text)
                                     .WithDetail(Detail::kWorkersFail));
}

}  // namespace headrace::coordinator
