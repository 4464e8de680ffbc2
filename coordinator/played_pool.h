#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/pool/core/pool.h"

// A pool for tests of its keeper.
namespace headrace::coordinator {

// What the test plays, and what the pool was asked.
struct PlayedPool {
  bool ready = true;
  bool starts = true;
  double cores = 2;  // of a member
  std::vector<PoolMember> members;
  std::vector<std::int32_t> grown;
  std::vector<std::string> killed;
  std::vector<std::pair<std::string, std::int64_t>> heard;  // "lost", worker
  Status answer;
};

class FakePool final : public Pool {
 public:
  explicit FakePool(PlayedPool& played) : played_(played) {}
  [[nodiscard]] std::string_view name() const override { return "fake"; }
  [[nodiscard]] double member_cores() const override { return played_.starts ? played_.cores : 0; }
  [[nodiscard]] bool starts_workers() const override { return played_.starts; }
  [[nodiscard]] bool ready() const override { return played_.ready; }
  Status Grow(std::int32_t count) override {
    if (count > 0) played_.grown.push_back(count);
    if (!played_.answer.ok()) return played_.answer;
    played_.members.resize(played_.members.size() + static_cast<std::size_t>(count),
                           {.state = PoolMember::State::kQueued});
    return Status::Ok();
  }
  Status Drain(WorkerId worker) override { return Hear("drain", worker); }
  Status Kill(const std::string& handle, Duration) override {
    played_.killed.push_back(handle);
    return Status::Ok();
  }
  [[nodiscard]] std::vector<PoolMember> List() const override { return played_.members; }
  void Registered(const wire::WorkerInfo& info) override { (void)Hear("registered", info.worker); }
  void Leaving(WorkerId worker) override { (void)Hear("leaving", worker); }
  void Lost(WorkerId worker) override { (void)Hear("lost", worker); }
  void Left(WorkerId worker) override { (void)Hear("left", worker); }
  [[nodiscard]] std::optional<bool> Alive(WorkerId) const override { return std::nullopt; }
  void Stop() override {}

 private:
  Status Hear(const char* what, WorkerId worker) {
    played_.heard.emplace_back(what, worker.value);
    return Status::Ok();
  }
  PlayedPool& played_;
};

}  // namespace headrace::coordinator
