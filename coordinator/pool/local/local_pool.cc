#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/log.h"
#include "base/process/child_process.h"
#include "coordinator/pool/core/pool.h"

namespace headrace {
namespace coordinator {
namespace {

using std::chrono::milliseconds;

constexpr char kStopGrace[] = "stop-grace-ms";
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{10'000};
constexpr auto kHealthyAfter = std::chrono::seconds(30);  // a run this long resets the pauses

// Worker processes on the coordinator's own host. A worker that dies is started again. All end with
// the pool. If there is no time to end them, they end with the parent process that their command
// line names.
class LocalPool final : public Pool {
 public:
  LocalPool(net::Reactor& reactor, PoolOptions options, PoolEvents events)
      : reactor_(reactor), options_(std::move(options)), events_(std::move(events)) {}
  ~LocalPool() override { Stop(); }

  [[nodiscard]] std::string_view name() const override { return "local"; }

  Status Grow(std::int32_t count) override {
    if (stopped_) return Unavailable("the local pool has been stopped");
    const auto members = static_cast<std::int32_t>(members_.size());
    if (members + count > options_.most_members) {
      return ResourceExhausted("the local pool has " + std::to_string(members) +
                               " workers and may have " + std::to_string(options_.most_members) +
                               "; " + std::to_string(count) + " more do not fit");
    }
    for (std::int32_t i = 0; i < count; ++i) {
      const std::int64_t key = next_key_++;
      Member& member = members_[key];
      if (Status s = Start(key, member); !s.ok()) {
        members_.erase(key);
        return s;
      }
    }
    return Status::Ok();
  }

  Status Drain(WorkerId worker) override {
    Member* member = Find(worker);
    if (!member) {
      return NotFound("worker " + std::to_string(worker.value) + " is not in the local pool");
    }
    if (!member->child) {  // it has ended, and waits for its next start
      if (member->restart) reactor_.CancelTimer(*member->restart);
      std::erase_if(members_, [&](const auto& each) { return &each.second == member; });
      return Status::Ok();
    }
    member->shown.state = PoolMember::State::kDraining;
    return Status::Ok();
  }

  [[nodiscard]] std::vector<PoolMember> List() const override {
    std::vector<PoolMember> list;
    for (const auto& [key, member] : members_) list.push_back(member.shown);
    return list;
  }

  void Registered(const wire::WorkerInfo& info) override {
    for (auto& [key, member] : members_) {
      if (!member.child || member.shown.pid != info.host.pid) continue;
      member.shown.worker = info.worker;
      if (member.shown.state == PoolMember::State::kStarting) {
        member.shown.state = PoolMember::State::kRunning;
      }
    }
  }
  // The end of its process says the same.
  void Left(WorkerId) override {}

  [[nodiscard]] std::optional<bool> Alive(WorkerId worker) const override {
    for (const auto& [key, member] : members_) {
      if (member.shown.worker != worker) continue;
      if (!member.child) return false;
      return member.child->running();
    }
    return std::nullopt;
  }

  void Stop() override {
    if (stopped_) return;
    stopped_ = true;
    for (auto& [key, member] : members_) {
      if (member.restart) reactor_.CancelTimer(*member.restart);
      if (!member.child) continue;
      reactor_.UnwatchFd(member.child->pidfd());
      member.child->Signal(SIGTERM);
    }
    const SteadyTime deadline =
        reactor_.clock().Now() + milliseconds(options_.settings.Count(kStopGrace));
    for (auto& [key, member] : members_) {
      if (!member.child) continue;
      const auto left = std::chrono::duration_cast<milliseconds>(deadline - reactor_.clock().Now());
      (void)member.child->AwaitEnd(left);
    }
    for (auto& [key, member] : members_) {
      if (member.child) member.child->Kill();
    }
    members_.clear();
  }

 private:
  struct Member {
    PoolMember shown;
    std::optional<ChildProcess> child;
    SteadyTime started;
    std::int32_t failures = 0;  // in a row
    std::optional<net::TimerId> restart;
  };

  Member* Find(WorkerId worker) {
    for (auto& [key, member] : members_) {
      if (member.shown.worker == worker && worker.valid()) return &member;
    }
    return nullptr;
  }

  Status Start(std::int64_t key, Member& member) {
    HR_TRY(ChildProcess child,
           ChildProcess::Start({.command = options_.worker_command, .empty_input = true}));
    member.child.emplace(std::move(child));
    member.started = reactor_.clock().Now();
    member.shown.state = PoolMember::State::kStarting;
    member.shown.pid = member.child->pid();
    member.shown.worker = WorkerId();
    ++member.shown.starts;
    reactor_.WatchFd(member.child->pidfd(), [this, key] { OnEnd(key); });
    return Status::Ok();
  }

  void OnEnd(std::int64_t key) {
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
    if (member.shown.state == PoolMember::State::kDraining) {
      members_.erase(it);
    } else {
      LogWarning("local worker ended pid=" + std::to_string(member.shown.pid) +
                 " worker=" + std::to_string(worker.value) + " how=\"" + ended->how + "\"");
      ScheduleRestart(key, member);
    }
    if (worker.valid() && events_.on_ended) events_.on_ended(worker, ended->cpu_seconds);
  }

  void ScheduleRestart(std::int64_t key, Member& member) {
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

  void Restart(std::int64_t key) {
    const auto it = members_.find(key);
    if (it == members_.end() || stopped_) return;
    it->second.restart.reset();
    if (Status s = Start(key, it->second); !s.ok()) {
      LogError("local worker does not start: " + s.message());
      it->second.started = reactor_.clock().Now();
      ScheduleRestart(key, it->second);
    }
  }

  net::Reactor& reactor_;
  const PoolOptions options_;
  const PoolEvents events_;
  std::map<std::int64_t, Member> members_;
  std::int64_t next_key_ = 0;
  bool stopped_ = false;
};

Result<std::unique_ptr<Pool>> MakeLocalPool(net::Reactor& reactor, PoolOptions options,
                                            PoolEvents events) {
  if (options.worker_command.empty()) {
    return InvalidArgument("the local pool needs the command line of a worker");
  }
  return std::unique_ptr<Pool>(
      std::make_unique<LocalPool>(reactor, std::move(options), std::move(events)));
}

}  // namespace
}  // namespace coordinator

void RegisterPoolLocal(coordinator::PoolRegistry& registry) {
  registry.Register({.name = "local",
                     .summary = "worker processes on the coordinator's host",
                     .settings = {{.name = coordinator::kStopGrace,
                                   .kind = Setting::Kind::kCount,
                                   .value = "2000",
                                   .help = "how long workers may take to end"}},
                     .make = coordinator::MakeLocalPool});
}

}  // namespace headrace
