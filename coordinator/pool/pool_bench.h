#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/pool/core/fake_reactor.h"
#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/kubernetes/fake_kubernetes.h"
#include "coordinator/pool/ray/fake_ray.h"
#include "coordinator/pool/slurm/fake_slurm.h"

namespace headrace::coordinator {

// A pool of any kind for a test: made with an engine that the test plays, with "workers" that note
// who they are in a folder. Time is the reactor's; only processes take real time.
class PoolBench {
 public:
  explicit PoolBench(std::string kind) : kind_(std::move(kind)) {
    RegisterPools(registry_);
    std::string name = (std::filesystem::temp_directory_path() / "pool-bench-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    if (kind_ == "kubernetes") kubernetes_.emplace();
    if (kind_ == "ray") ray_.emplace();
  }
  PoolBench(const PoolBench&) = delete;
  PoolBench& operator=(const PoolBench&) = delete;
  ~PoolBench() {
    for (const Process& each : Workers()) (void)::kill(each.pid, SIGKILL);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] bool starts_workers() const { return kind_ != "static"; }
  [[nodiscard]] bool restarts_workers() const { return kind_ == "local" || kind_ == "exec"; }
  [[nodiscard]] bool elsewhere() const { return kind_ == "exec" || answers_later(); }
  // The engine takes a request on, and says only then that it has no room or forbids it.
  [[nodiscard]] bool answers_later() const {
    return kind_ == "slurm" || kind_ == "kubernetes" || kind_ == "ray";
  }
  // It refuses nobody for want of room: such members wait, and say why.
  [[nodiscard]] bool queues_without_room() const { return kind_ == "ray"; }
  // What the engine says after Refuse.
  [[nodiscard]] std::string refusal() const {
    if (kind_ == "ray") return "Invalid label selector";
    return kind_ == "kubernetes" ? "cannot create resource" : "Invalid account";
  }

  // Its kind of trouble, as far as the engine tells it.
  [[nodiscard]] Detail refusal_kind() const {
    if (kind_ == "exec" || kind_ == "local") return Detail::kUnreachable;  // no such command
    return kind_ == "slurm" || kind_ == "kubernetes" ? Detail::kForbidden : Detail::kNone;
  }

  // `worker`: what the worker's shell runs in the end.
  [[nodiscard]] std::unique_ptr<Pool> Make(PoolEvents events, std::int64_t epoch = 1,
                                           const std::string& name = "headrace-test",
                                           const std::string& worker = "exec sleep 1000") {
    PoolOptions options;
    options.most_members = 3;
    options.name = name;
    options.epoch = epoch;
    options.worker_command = {"sh", "-c", "echo \"$*\" > " + folder_ + "/$$; " + worker, "worker"};
    GivenSettings given;
    if (kind_ == "exec") {
      given = {{"command", refuses_ ? "/no/such/engine {args}" : "{program} {args}"},
               {"at-stop", keep_at_stop_ ? "keep" : "end"}};
    } else if (kind_ == "slurm") {
      given = {{"commands", slurm_.folder()},
               {"poll-s", "1"},
               {"command-timeout-s", "1000"},
               {"at-stop", keep_at_stop_ ? "keep" : "end"}};
    } else if (kind_ == "kubernetes") {
      given = kubernetes_->Settings();
      given.emplace_back("program", "sh");
      given.emplace_back("at-stop", keep_at_stop_ ? "keep" : "end");
    } else if (kind_ == "ray") {
      given = {{"python", ray_->python()}, {"at-stop", keep_at_stop_ ? "keep" : "end"}};
    } else if (kind_ == "local" && refuses_) {
      options.worker_command = {"/no/such/worker"};
    }
    auto made = registry_.Make(kind_, given, reactor_, std::move(options), std::move(events));
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    std::unique_ptr<Pool> pool = std::move(made).value();
    EXPECT_TRUE(Until([&] { return pool->ready(); }));
    return pool;
  }
  // From now on the engine lets nobody start anything; or only so many at once.
  void Refuse() {
    refuses_ = true;
    slurm_.Behave("forbid");
    if (ray_) ray_->Behave("forbid");
    if (kubernetes_) kubernetes_->Allow({"list", "watch", "delete"});
  }
  void Limit(int count) {
    slurm_.Behave("limit " + std::to_string(count));
    if (ray_) ray_->Behave("limit " + std::to_string(count));
    if (kubernetes_) kubernetes_->Do("quota", {{"pods", count}});
  }
  // A pool that ends leaves its members alone, as where its process is killed.
  void KeepAtStop(bool keep) { keep_at_stop_ = keep; }

  struct Process {
    pid_t pid = 0;
    std::string member;
  };
  // Those that have begun, and still run.
  [[nodiscard]] std::vector<Process> Workers() const {
    std::vector<Process> workers;
    for (const auto& each : std::filesystem::directory_iterator(folder_)) {
      std::ifstream file(each.path());
      Process found{std::atoi(each.path().filename().c_str()), ""};
      for (std::string word, before; file >> word; before = word) {
        if (before == "--pool-member") found.member = word;
      }
      if (!found.member.empty() && Runs(found.pid)) workers.push_back(found);
    }
    return workers;
  }
  [[nodiscard]] static bool Runs(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t end = text.rfind(')');
    return end != std::string::npos && text.substr(end + 2, 1) != "Z";
  }

  // Runs what is ready, and moves the clock while nothing is. False: not within 20 s.
  [[nodiscard]] bool Until(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      if (!reactor_.RunOneFd(20)) reactor_.Advance(std::chrono::milliseconds(100));
    }
    return true;
  }

  FakeReactor reactor_;
  FakeSlurm slurm_;
  std::optional<FakeKubernetes> kubernetes_;  // of that pool alone
  std::optional<FakeRay> ray_;                // likewise

 private:
  const std::string kind_;
  PoolRegistry registry_;
  std::string folder_;
  bool refuses_ = false;
  bool keep_at_stop_ = false;
};

}  // namespace headrace::coordinator
