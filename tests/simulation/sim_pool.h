#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/pool/core/pool.h"
#include "net/reactor.h"

namespace headrace::simulation {

// A pool on the coordinator's host: it starts simulated workers, and starts them again after a pause
// that doubles. They end with it, as the processes of the local pool do. Reactor thread.
class SimPool final : public coordinator::Pool {
 public:
  // What the world does for it. A pid is the number of a process.
  struct Engine {
    std::function<std::int64_t()> start;
    std::function<void(std::int64_t pid)> kill;
  };
  static constexpr Duration kFirstPause = std::chrono::milliseconds(100);
  static constexpr Duration kLongestPause = std::chrono::seconds(10);

  SimPool(net::Reactor& reactor, coordinator::PoolEvents events, Engine engine)
      : reactor_(reactor), events_(std::move(events)), engine_(std::move(engine)) {}
  ~SimPool() override { Stop(); }

  [[nodiscard]] std::string_view name() const override { return "simulated"; }
  Status Grow(std::int32_t count) override {
    for (std::int32_t i = 0; i < count; ++i) {
      members_.emplace_back();
      Start(members_.back());
    }
    return Status::Ok();
  }
  Status Drain(WorkerId worker) override {
    for (Member& member : members_) {
      if (member.shown.worker != worker) continue;
      member.shown.state = coordinator::PoolMember::State::kDraining;
      return Status::Ok();
    }
    return NotFound("not a member");
  }
  // Members have no handles.
  Status Kill(const std::string&, Duration) override { return NotFound("not a member"); }
  [[nodiscard]] std::vector<coordinator::PoolMember> List() const override {
    std::vector<coordinator::PoolMember> shown;
    for (const Member& member : members_) shown.push_back(member.shown);
    return shown;
  }
  void Registered(const wire::WorkerInfo& info) override {
    for (Member& member : members_) {
      if (member.shown.pid != info.host.pid) continue;
      member.shown.worker = info.worker;
      member.shown.state = coordinator::PoolMember::State::kRunning;
      member.pause = kFirstPause;
    }
  }
  void Left(WorkerId /*worker*/) override {}
  [[nodiscard]] std::optional<bool> Alive(WorkerId worker) const override {
    for (const Member& member : members_) {
      if (member.shown.worker == worker) return member.shown.pid != 0;
    }
    return std::nullopt;
  }
  void Stop() override {
    stopped_ = true;
    for (Member& member : std::exchange(members_, {})) {
      if (member.shown.pid != 0) engine_.kill(member.shown.pid);
    }
  }

  // The process has ended; called in a turn of its own.
  void OnEnd(std::int64_t pid) {
    const auto at = std::ranges::find_if(
        members_, [&](const Member& member) { return member.shown.pid == pid; });
    if (at == members_.end() || stopped_) return;
    const WorkerId worker = std::exchange(at->shown.worker, WorkerId());
    at->shown.pid = 0;
    if (at->shown.state == coordinator::PoolMember::State::kDraining) {
      members_.erase(at);
    } else {
      at->shown.state = coordinator::PoolMember::State::kWaiting;
      const std::uint64_t number = at->number;
      reactor_.AddOnce(at->pause, [this, number] {
        for (Member& member : members_) {
          if (member.number == number && member.shown.pid == 0) Start(member);
        }
      });
      at->pause = std::min(at->pause * 2, kLongestPause);
    }
    if (worker.valid()) events_.on_ended(worker, 0);
  }

 private:
  struct Member {
    coordinator::PoolMember shown;
    std::uint64_t number = 0;
    Duration pause = kFirstPause;
  };
  void Start(Member& member) {
    if (member.number == 0) member.number = ++numbers_;
    member.shown.state = coordinator::PoolMember::State::kStarting;
    member.shown.pid = engine_.start();
    ++member.shown.starts;
  }

  net::Reactor& reactor_;
  const coordinator::PoolEvents events_;
  const Engine engine_;
  std::vector<Member> members_;
  std::uint64_t numbers_ = 0;
  bool stopped_ = false;
};

}  // namespace headrace::simulation
