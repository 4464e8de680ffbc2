#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/reference.h"
#include "tests/simulation/schedule.h"

namespace headrace::simulation {

// One schedule, from start to end. It checks at every step what must hold then, and in the end what must
// hold when the network has been good for a while. One thread.
class ScheduleRun {
 public:
  // After `healed`, programs get a batch at least every so often, on average over what they lack; and
  // this long in addition.
  static constexpr Duration kPatience = std::chrono::seconds(90);
  static constexpr Duration kPatienceForBatch = std::chrono::milliseconds(500);
  // So long after the last program's end nothing of it is left anywhere.
  static constexpr Duration kForgotten = std::chrono::seconds(30);
  // Most bytes under way in the whole network.
  static constexpr std::size_t kMostUnderWay = std::size_t{8} << 20;

  struct Outcome {
    std::string failure;  // empty: all is well
    std::uint64_t trace = 0;
    std::uint64_t events = 0;
    std::int64_t batches = 0;
    std::int64_t missing = 0;
    Duration recovered{};  // from `healed` to the end of the last program
  };

  ScheduleRun(const Schedule& schedule, Reference& reference);
  // Once.
  [[nodiscard]] Outcome Run();

 private:
  void Begin(const Fault& fault);
  void Heal();
  void StartWorkers(std::int64_t count);
  void Stop(SimProcess& process, Duration lasts);
  [[nodiscard]] bool programs_done() const;
  void CheckStep();
  // What the coordinator knows contradicts neither itself nor what it has told.
  void CheckLeases(const coordinator::State& state);
  // An id means one job or worker for ever, whatever becomes of the coordinator. A generation of a
  // job's leases is one set of workers.
  void Witness(const SimProcess& receiver, const wire::Body& body);
  // Of the coordinator and the workers, when nobody uses them any more.
  void CheckRest();
  void OnStatus(const wire::ClusterStatus& status);
  void Fail(const std::string& what);

  const Schedule schedule_;
  Reference& reference_;
  SimWorld world_;
  Dice dice_;
  const SteadyTime start_;
  std::vector<std::unique_ptr<SimProgram>> programs_;
  std::size_t next_place_ = 0;
  std::map<JobId, std::uint64_t> jobs_;  // whose they are, by the numbers of processes
  std::map<WorkerId, std::uint64_t> known_workers_;
  std::map<std::pair<JobId, std::uint64_t>, std::set<WorkerId>> told_leases_;  // by generation
  std::shared_ptr<SimReactor> observer_;
  std::unique_ptr<net::Socket> question_;
  bool answered_ = false;
  bool healed_ = false;
  std::string failure_;
};

[[nodiscard]] ScheduleRun::Outcome RunSchedule(Schedule schedule, Reference& reference,
                                               bool aloud = false);

}  // namespace headrace::simulation
