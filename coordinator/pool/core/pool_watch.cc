#include "coordinator/pool/core/pool_watch.h"

#include <algorithm>
#include <chrono>
#include <set>

namespace headrace::coordinator {
namespace {

using State = PoolMember::State;

std::string WholeSeconds(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

// What lets a member wait, of several: what needs a person comes before a want of room.
void AddWait(const PoolMember& member, Status& waits) {
  if (member.why == Detail::kNone) return;
  const bool first =
      waits.ok() || (waits.detail() == Detail::kNoRoom && waits.detail() != member.why);
  if (!first) return;
  waits = Unavailable(member.note).WithDetail(member.why);
}

// Why a member in this state is of no use.
Status Failure(const PoolMember& member, Duration waited) {
  const std::string note = member.note.empty() ? "" : " (" + member.note + ")";
  if (member.state == State::kQueued) {
    const Detail why = member.why == Detail::kNone ? Detail::kNoRoom : member.why;
    return ResourceExhausted("the engine started no worker within " + WholeSeconds(waited) + note)
        .WithDetail(why);
  }
  return DeadlineExceeded("a worker has started" + note + " and did not register within " +
                          WholeSeconds(waited) + "; does it reach the coordinator? See its output")
      .WithDetail(Detail::kWorkersFail);
}

}  // namespace

Duration PoolWatch::PatienceWith(State state) const {
  switch (state) {
    case State::kQueued:
      return patience_.queued;
    case State::kStarting:
      return patience_.starting;
    case State::kDraining:
      return patience_.draining;
    case State::kLost:
      return patience_.lost;
    case State::kRunning:
    case State::kWaiting:
      break;
  }
  return Duration::max();
}

PoolWatch::Verdict PoolWatch::Observe(const std::vector<PoolMember>& members, SteadyTime now) {
  Verdict verdict;
  std::map<std::string, Seen> seen;
  std::set<std::string> failed;
  std::map<std::string, int> queued;  // by the engine's word
  for (const PoolMember& member : members) {
    if (member.handle.empty()) continue;
    const auto before = seen_.find(member.handle);
    const bool same = before != seen_.end() && before->second.state == member.state;
    Seen& at = seen[member.handle];
    at = same ? before->second : Seen{member.state, now};
    const Duration waited = now - at.since;
    const bool late = member.state == State::kQueued && waited >= patience_.told;
    if (late) ++queued[member.note];
    if (late || member.state == State::kWaiting) AddWait(member, verdict.waits);
    if (waited < PatienceWith(member.state)) continue;
    if (at.killed != SteadyTime::min() && now - at.killed < kAgain) continue;
    at.killed = now;
    verdict.kill.push_back(member.handle);
    if (member.state != State::kQueued && member.state != State::kStarting) continue;
    Status failure = Failure(member, PatienceWith(member.state));
    if (failed.insert(failure.message()).second) verdict.failures.push_back(std::move(failure));
  }
  seen_ = std::move(seen);
  std::string news;
  for (const auto& [note, count] : queued) {
    news += (news.empty() ? "pool: " : ", ") + std::to_string(count) + " queued" +
            (note.empty() ? "" : ": " + note);
  }
  if (news != told_) {
    told_ = news;
    verdict.news = news;
  }
  return verdict;
}

}  // namespace headrace::coordinator
