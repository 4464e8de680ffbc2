#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "gtest/gtest.h"
#include "net/test_util.h"
#include "trainer_client/session/worker_set.h"

namespace headrace::client {

inline SteadyTime AtSecond(int s) { return SteadyTime(std::chrono::seconds(s)); }

inline wire::WorkerInfo Worker(int id, const std::string& host) {
  wire::WorkerInfo worker;
  worker.worker = WorkerId(id);
  worker.host = {.hostname = host, .boot_id = host};
  worker.endpoints = {"inproc://" + host};
  return worker;
}
// No address of it can be reached.
inline wire::WorkerInfo Unreachable(int id, const std::string& host) {
  wire::WorkerInfo worker = Worker(id, host);
  worker.endpoints.clear();
  return worker;
}

class WorkerSetTest : public testing::Test {
 protected:
  explicit WorkerSetTest(bool compares = false) : reactor_(*net::Reactor::Make("test")) {
    context_.session = SessionId(1);
    context_.host = {.hostname = "here", .boot_id = "here"};
    context_.arena = *Arena::Make(std::uint64_t{1} << 20);
    workers_ = std::make_unique<WorkerSet>(
        *reactor_, context_, compares,
        WorkerSet::Events{.on_state =
                              [this](WorkerId worker, WorkerLink::State state) {
                                if (state == WorkerLink::State::kGone) gone_.push_back(worker);
                              },
                          .on_message = [](auto...) {},
                          .on_loaded = [] {}});
    EXPECT_TRUE(reactor_->Start().ok());
  }
  ~WorkerSetTest() override {
    net::testing::RunOn(*reactor_, [this] { workers_.reset(); });
    reactor_->Stop();
  }
  // Runs on the reactor, as all of the set does.
  template <typename Task>
  void Run(Task task) {
    net::testing::RunOn(*reactor_, [&] { task(*workers_); });
  }
  static std::vector<WorkerId> Removed(WorkerSet& workers, bool owes) {
    std::vector<WorkerId> removed;
    workers.RemoveEnded(
        false, [&](WorkerId) { return owes; }, [&](WorkerId worker) { removed.push_back(worker); });
    return removed;
  }

  std::shared_ptr<net::Reactor> reactor_;
  LinkContext context_;
  std::unique_ptr<WorkerSet> workers_;
  std::vector<WorkerId> gone_;
};

}  // namespace headrace::client
