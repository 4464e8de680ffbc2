#include <memory>
#include <set>
#include <utility>

#include "coordinator/pool/core/pool.h"

namespace headrace {
namespace coordinator {
namespace {

// Workers that somebody else starts and that register themselves.
class StaticPool final : public Pool {
 public:
  [[nodiscard]] std::string_view name() const override { return "static"; }
  [[nodiscard]] bool starts_workers() const override { return false; }

  Status Grow(std::int32_t count) override {
    if (count <= 0) return Status::Ok();
    return Infeasible(
        "the static pool starts no workers; start `headrace worker --coordinator ADDRESS` where "
        "they should run");
  }

  Status Drain(WorkerId worker) override {
    const auto it = members_.find(worker);
    if (it == members_.end()) {
      return NotFound("worker " + std::to_string(worker.value) + " is not in the static pool");
    }
    it->second.state = PoolMember::State::kDraining;
    return Status::Ok();
  }

  Status Kill(const std::string& handle, Duration) override {
    return NotFound(handle + " is not of the static pool: its members have no handles");
  }
  [[nodiscard]] std::vector<PoolMember> List() const override {
    std::vector<PoolMember> members;
    for (const auto& [id, member] : members_) members.push_back(member);
    return members;
  }

  void Registered(const wire::WorkerInfo& info) override {
    if (stopped_) return;
    PoolMember& member = members_[info.worker];
    if (member.state == PoolMember::State::kStarting) member.state = PoolMember::State::kRunning;
    member.worker = info.worker;
    ++member.starts;
  }
  void Left(WorkerId worker) override { members_.erase(worker); }
  [[nodiscard]] std::optional<bool> Alive(WorkerId) const override { return std::nullopt; }

  void Stop() override {
    stopped_ = true;
    members_.clear();
  }

 private:
  std::map<WorkerId, PoolMember> members_;
  bool stopped_ = false;
};

Result<std::unique_ptr<Pool>> MakeStaticPool(net::Reactor&, PoolOptions, PoolEvents) {
  return std::unique_ptr<Pool>(std::make_unique<StaticPool>());
}

}  // namespace
}  // namespace coordinator

void RegisterPoolStatic(coordinator::PoolRegistry& registry) {
  registry.Register({.name = "static",
                     .summary = "workers that somebody else starts and that register themselves",
                     .settings = {},
                     .make = coordinator::MakeStaticPool});
}

}  // namespace headrace
