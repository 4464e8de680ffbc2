#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headrace/client.h"
#include "tests/simulation/sim_lane.h"
#include "tests/simulation/sim_world.h"
#include "trainer_client/client/job_link.h"
#include "trainer_client/client/session_plan.h"
#include "trainer_client/session/trainer_session.h"

namespace headrace::simulation {

// A training program of one loader: the client's code below it is the product's, from TrainerSession
// down. It checks each batch: once, in order, with the right rows, and unchanged for as long as it keeps
// it. Its turns are events. One thread.
class SimProgram {
 public:
  struct Options {
    std::string host;
    int kind = 0;  // of sim_plans.h
    std::uint64_t base_seed = 1;
    std::int64_t batches = 30;  // an iteration
    int iterations = 1;
    std::int64_t end_early =
        -1;  // batches after which it ends the first iteration; -1: it does not
    std::int64_t max_outstanding = 4;
    std::size_t keeps = 1;  // batches that it still uses
    bool in_order = true;
    bool share_memory = true;  // with workers of its host
    NoWorkers no_workers = NoWorkers::kWait;
    // Of plans that run in lanes: the time for a batch, and how much longer one of them takes.
    Duration lane_most = std::chrono::milliseconds(5);
    std::uint64_t slow_lane = 1;
    std::int32_t lane_window = 1;  // see IterationOptions
    client::SlowWorkers::Rules slow = {};
    Duration step_least = std::chrono::milliseconds(1), step_most = std::chrono::milliseconds(20);
  };
  // RowsOf a batch of the iteration: what it must be.
  using Expected =
      std::function<const std::vector<std::uint64_t>&(std::uint64_t base_seed, std::int64_t batch)>;
  // Gets each batch in place of the comparison, if set.
  using Recorder = std::function<void(std::int64_t batch, const std::vector<std::uint64_t>& rows)>;

  // Its process starts at once, and opens its job after `begins`.
  SimProgram(SimWorld& world, const Options& options, Expected expected, Duration begins = {},
             Recorder recorder = {});
  ~SimProgram();
  SimProgram(const SimProgram&) = delete;
  SimProgram& operator=(const SimProgram&) = delete;

  // All iterations are over, the session and the job are closed; or it was killed.
  [[nodiscard]] bool done() const { return done_; }
  // What went wrong first; empty: nothing.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  // Batches that came, and those that can still come.
  [[nodiscard]] std::int64_t delivered() const { return delivered_; }
  [[nodiscard]] std::int64_t left() const;
  [[nodiscard]] std::int64_t missing() const { return missing_; }  // samples that no worker made
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] SimProcess& process() { return *reactor_->process(); }
  // The lanes' processes of this iteration.
  [[nodiscard]] std::vector<SimProcess*> lanes();
  void Kill(Death how);
  // Checks what must hold at any time.
  void Check();
  // Where it stands, for people.
  [[nodiscard]] std::string Describe() const;

 private:
  struct Kept {
    Batch batch;
    std::vector<std::uint64_t> rows;
  };
  void Open();
  Status StartLanes();
  void OnSplit(const wire::Split& split);
  void After(Duration delay, void (SimProgram::*what)());
  void Turn();
  // Makes a sample that decides what is drawn after it.
  void Make(const SampleNeeded& sample);
  // Returns whether the program goes on.
  bool Take(Batch batch);
  void LetGo();
  void EndIteration();
  void Close();
  void Settle();
  void Fail(const std::string& what);

  SimWorld& world_;
  const Options options_;
  const Expected expected_;
  const Recorder recorder_;
  Dice dice_;
  const std::shared_ptr<SimReactor> reactor_;
  std::shared_ptr<client::Runtime> runtime_ = std::make_shared<client::Runtime>();
  std::shared_ptr<client::JobLink> job_;
  client::KnownSizes sizes_;
  std::unique_ptr<client::SessionPlan> plan_;
  std::shared_ptr<client::Arena> arena_;
  std::unique_ptr<Session> session_;
  SessionId id_;
  int iteration_ = -1;
  std::uint64_t base_seed_ = 0;
  std::int64_t submitted_ = 0;
  std::int64_t taken_ = 0;  // in this iteration
  std::set<std::int64_t> seen_;
  std::int64_t delivered_ = 0;
  std::int64_t missing_ = 0;
  Duration poll_{};
  std::deque<Kept> kept_;
  std::vector<std::unique_ptr<SimLane>> lanes_;  // of all iterations
  std::string failure_;
  bool done_ = false;
};

}  // namespace headrace::simulation
