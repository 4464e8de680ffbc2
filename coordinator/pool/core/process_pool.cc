#include "coordinator/pool/core/process_pool.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/log.h"

namespace headrace::coordinator {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{100};
constexpr std::int32_t kSomeFailures = 3;  // in a row; fewer are no trouble of the pool's
constexpr milliseconds kLongestPause{10'000};
constexpr auto kHealthyAfter = std::chrono::seconds(30);  // a run this long resets the pauses

// Handles are "NAME.EPOCH.MEMBER.START".
bool IsHandleOf(const std::string& pool, std::string_view handle) {
  if (!handle.starts_with(pool + ".")) return false;
  handle.remove_prefix(pool.size());
  return std::ranges::count(handle, '.') == 3 &&
         handle.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

ProcessPool::ProcessPool(net::Reactor& reactor, PoolOptions options, PoolEvents events,
                         ProcessPoolRules rules)
    : reactor_(reactor),
      options_(std::move(options)),
      events_(std::move(events)),
      rules_(std::move(rules)),
      commands_(reactor) {}

Status ProcessPool::Grow(std::int32_t count) {
  if (stopped_) return Unavailable("the " + rules_.name + " pool has been stopped");
  const auto members = static_cast<std::int32_t>(members_.size());
  if (members + count > options_.most_members) {
    return ResourceExhausted("the " + rules_.name + " pool has " + std::to_string(members) +
                             " workers and may have " + std::to_string(options_.most_members) +
                             "; " + std::to_string(count) + " more do not fit");
  }
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int64_t key = next_key_++;
    if (Status s = Start(key, members_[key]); !s.ok()) {
      members_.erase(key);
      return s;
    }
  }
  return Status::Ok();
}

Status ProcessPool::Drain(WorkerId worker) {
  const auto found = Find(worker);
  if (found == members_.end()) {
    return NotFound("worker " + std::to_string(worker.value) + " is not in the " + rules_.name +
                    " pool");
  }
  if (found->second.shown.state == PoolMember::State::kWaiting) {
    Erase(found);
  } else {
    found->second.shown.state = PoolMember::State::kDraining;
  }
  return Status::Ok();
}

Status ProcessPool::Kill(const std::string& handle, Duration grace) {
  const auto found = Find(handle);
  if (found == members_.end()) return NotFound(handle + " is not in the " + rules_.name + " pool");
  auto& [key, member] = *found;
  if (member.shown.state == PoolMember::State::kWaiting) {
    Erase(found);
    return Status::Ok();
  }
  const std::vector<std::string> stop = StopCommand(member);
  if (stop.empty() && !member.child) {
    return Unavailable(handle + " was started by a coordinator before this one, and the " +
                       rules_.name + " pool has no command that ends it");
  }
  member.shown.state = PoolMember::State::kDraining;
  if (!stop.empty()) {
    commands_.Start({.words = stop, .patience = grace + rules_.stop_grace},
                    [handle](const EngineCommands::Ended& ended) {
                      if (ended.status.ok()) return;
                      LogWarning("pool: " + handle + " is not ended: " + ended.status.message());
                    });
  } else {
    Signal(member, grace > Duration::zero() ? SIGTERM : SIGKILL);
  }
  if (member.child && !member.restart) {
    member.restart = reactor_.AddOnce(grace, [this, key = key] {
      Member& late = members_.at(key);
      late.restart.reset();
      Signal(late, SIGKILL);
    });
  }
  return Status::Ok();
}

std::vector<PoolMember> ProcessPool::List() const {
  std::vector<PoolMember> list;
  for (const auto& [key, member] : members_) list.push_back(member.shown);
  return list;
}

void ProcessPool::Registered(const wire::WorkerInfo& info) {
  const auto found = Find(info.member);
  if (found == members_.end()) return Adopt(info);
  PoolMember& shown = found->second.shown;
  // Who was first keeps the place: a name is only a worker's word.
  if (shown.worker.valid() && shown.worker != info.worker) return;
  shown.worker = info.worker;
  if (shown.state == PoolMember::State::kStarting || shown.state == PoolMember::State::kLost) {
    shown.state = PoolMember::State::kRunning;
  }
}

void ProcessPool::Adopt(const wire::WorkerInfo& info) {
  // Only what this pool could have said: the name comes into commands of the user's.
  if (!rules_.elsewhere || stopped_ || !IsHandleOf(options_.name, info.member)) return;
  if (Find(info.worker) != members_.end()) return;
  if (static_cast<std::int32_t>(members_.size()) >= options_.most_members) return;
  members_[next_key_++].shown = {.state = PoolMember::State::kRunning,
                                 .handle = info.member,
                                 .note = "adopted",
                                 .worker = info.worker,
                                 .starts = 1};
}

void ProcessPool::Lost(WorkerId worker) {
  const auto found = Find(worker);
  if (!rules_.elsewhere || found == members_.end()) return;
  if (found->second.shown.state == PoolMember::State::kRunning) {
    found->second.shown.state = PoolMember::State::kLost;
  }
}

// A process that runs here has its end to say so. Its worker may come again, with another id.
void ProcessPool::Left(WorkerId worker) {
  const auto found = Find(worker);
  if (found == members_.end()) return;
  if (found->second.child || found->second.shown.state == PoolMember::State::kWaiting) {
    found->second.shown.worker = WorkerId();
  } else {
    Erase(found);
  }
}

std::optional<bool> ProcessPool::Alive(WorkerId worker) const {
  for (const auto& [key, member] : members_) {
    if (member.shown.worker != worker) continue;
    if (member.child) return member.child->running();
    if (member.shown.state == PoolMember::State::kWaiting) return false;
  }
  return std::nullopt;
}

void ProcessPool::Stop() {
  if (stopped_) return;
  stopped_ = true;
  std::vector<ChildProcess> stops;
  for (auto& [key, member] : members_) {
    if (member.restart) reactor_.CancelTimer(*member.restart);
    if (member.child) reactor_.UnwatchFd(member.child->pidfd());
    if (rules_.keep_at_stop || member.shown.state == PoolMember::State::kWaiting) continue;
    const std::vector<std::string> stop = StopCommand(member);
    if (stop.empty()) {
      Signal(member, SIGTERM);
    } else if (auto started =
                   ChildProcess::Start({.command = stop, .empty_input = true, .own_group = true});
               started.ok()) {
      stops.push_back(std::move(started).value());
    }
  }
  if (!rules_.keep_at_stop) {
    const SteadyTime deadline = reactor_.clock().Now() + rules_.stop_grace;
    const auto left = [&] {
      return std::chrono::duration_cast<milliseconds>(deadline - reactor_.clock().Now());
    };
    for (auto& [key, member] : members_) {
      if (member.child) (void)member.child->AwaitEnd(left());
    }
    for (ChildProcess& stop : stops) {
      (void)stop.AwaitEnd(left());
      stop.Kill();
    }
    for (auto& [key, member] : members_) {
      if (member.child) member.child->Kill();
    }
  }
  members_.clear();
}

ProcessPool::Members::iterator ProcessPool::Find(WorkerId worker) {
  return std::ranges::find_if(members_, [&](const auto& each) {
    return worker.valid() && each.second.shown.worker == worker;
  });
}

ProcessPool::Members::iterator ProcessPool::Find(const std::string& handle) {
  return std::ranges::find_if(members_, [&](const auto& each) {
    return !handle.empty() && each.second.shown.handle == handle;
  });
}

void ProcessPool::Erase(Members::iterator member) {
  if (member->second.restart) reactor_.CancelTimer(*member->second.restart);
  members_.erase(member);
}

Status ProcessPool::Start(std::int64_t key, Member& member) {
  member.shown.handle = options_.name + "." + std::to_string(options_.epoch) + "." +
                        std::to_string(key) + "." + std::to_string(member.shown.starts + 1);
  Result<ChildProcess> child = ChildProcess::Start({.command = rules_.command(member.shown.handle),
                                                    .empty_input = true,
                                                    .own_group = rules_.elsewhere});
  if (!child.ok()) {
    member.shown.note = child.status().message();
    member.shown.why = Detail::kUnreachable;
    return child.status().WithDetail(member.shown.why);
  }
  member.child.emplace(std::move(child).value());
  member.shown.note.clear();
  member.shown.why = Detail::kNone;
  member.started = reactor_.clock().Now();
  member.shown.state = PoolMember::State::kStarting;
  member.shown.pid = member.child->pid();
  member.shown.worker = WorkerId();
  ++member.shown.starts;
  reactor_.WatchFd(member.child->pidfd(), [this, key] { OnEnd(key); });
  return Status::Ok();
}

std::vector<std::string> ProcessPool::StopCommand(const Member& member) const {
  return rules_.stop_command ? rules_.stop_command(member.shown.handle)
                             : std::vector<std::string>();
}

void ProcessPool::Signal(Member& member, int number) const {
  if (!member.child) return;
  if (rules_.elsewhere) {
    member.child->SignalGroup(number);
  } else {
    member.child->Signal(number);
  }
}

void ProcessPool::OnEnd(std::int64_t key) {
  const auto it = members_.find(key);
  if (it == members_.end() || !it->second.child) return;
  Member& member = it->second;
  const int pidfd = member.child->pidfd();
  reactor_.UnwatchFd(pidfd);
  const auto ended = member.child->Reap();
  if (!ended) {
    reactor_.WatchFd(pidfd, [this, key] { OnEnd(key); });
    return;
  }
  member.child.reset();
  const WorkerId worker = member.shown.worker;
  if (member.shown.state == PoolMember::State::kDraining ||
      member.shown.state == PoolMember::State::kLost) {
    Erase(it);
  } else {
    LogWarning(rules_.name + " worker ended pid=" + std::to_string(member.shown.pid) +
               " worker=" + std::to_string(worker.value) + " how=\"" + ended->how + "\"");
    ScheduleRestart(key, member);
    member.shown.note = "it ended: " + ended->how;
    if (member.failures >= kSomeFailures) member.shown.why = Detail::kWorkersFail;
  }
  if (worker.valid() && events_.on_ended) events_.on_ended(worker, ended->cpu_seconds);
}

void ProcessPool::ScheduleRestart(std::int64_t key, Member& member) {
  if (reactor_.clock().Now() - member.started >= kHealthyAfter) member.failures = 0;
  const int doublings = std::min(member.failures++, 10);
  const milliseconds pause = std::min(kFirstPause * (1 << doublings), kLongestPause);
  // Up to half as much again, so that members do not start in step; a function of its inputs.
  const std::uint64_t mixed = MixBits(static_cast<std::uint64_t>(key) << 32 |
                                      static_cast<std::uint32_t>(member.shown.starts));
  const milliseconds jitter(mixed % static_cast<std::uint64_t>(pause.count() / 2 + 1));
  member.shown.state = PoolMember::State::kWaiting;
  member.shown.pid = 0;
  member.restart = reactor_.AddOnce(pause + jitter, [this, key] { Restart(key); });
}

void ProcessPool::Restart(std::int64_t key) {
  const auto it = members_.find(key);
  if (it == members_.end() || stopped_) return;
  it->second.restart.reset();
  if (Status s = Start(key, it->second); !s.ok()) {
    LogError(rules_.name + " worker does not start: " + s.message());
    it->second.started = reactor_.clock().Now();
    ScheduleRestart(key, it->second);
  }
}

}  // namespace headrace::coordinator
