#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/slurm/slurm_text.h"

namespace headrace::coordinator {

// What a Slurm pool knows of its members, from three sources that come in any order: what sbatch
// answered, what squeue lists, and which workers have registered. Decides what to submit; runs
// nothing. Pure; thread-compatible.
//
//   asked -> on its way (one sbatch) -> task, queued -> starting -> running -> draining -> gone
//                 \ no answer: in doubt, until squeue has shown its tasks, or none
class SlurmLedger {
 public:
  // Members that ended, for PoolEvents.
  struct Outcome {
    std::vector<WorkerId> ended;
    std::vector<std::pair<std::int32_t, Status>> failed;
  };
  // More jobs than this are no array of one sbatch: Slurm's own limit (MaxArraySize) is 1000.
  static constexpr std::int32_t kMostOfABatch = 500;
  // One that has registered and ends this soon was of no use.
  static constexpr Duration kUseful = std::chrono::seconds(30);

  SlurmLedger(SlurmOrigin origin, std::int32_t most) : origin_(std::move(origin)), most_(most) {}

  // False until squeue has answered once.
  [[nodiscard]] bool ready() const { return ready_; }
  // Whether squeue could tell something new.
  [[nodiscard]] bool curious() const { return !ready_ || !tasks_.empty() || in_doubt_; }
  [[nodiscard]] std::vector<PoolMember> List() const;

  // As Pool's.
  [[nodiscard]] Status Ask(std::int32_t count);
  [[nodiscard]] Status Drain(WorkerId worker);
  void Registered(const wire::WorkerInfo& info, SteadyTime now);
  void Leaving(WorkerId worker);
  void Lost(WorkerId worker);
  void Left(WorkerId worker);

  // What sbatch is to be given now; nothing while it is at work, or while a batch is in doubt.
  [[nodiscard]] std::optional<SlurmBatch> NextBatch();
  // Its answer: the id of the array, or why Slurm has refused. Where a limit was in the way, half of
  // the members are asked for again.
  void Taken(const std::string& id);
  [[nodiscard]] Outcome Refused(const Status& why);
  // No answer: Slurm may have taken it.
  void Unanswered() {
    in_doubt_ = true;
    doubt_since_ = listings_;
  }

  // squeue begins now; what it then answers.
  void ListingBegins() { ++listings_; }
  [[nodiscard]] Outcome Listed(const std::vector<SlurmRow>& rows, SteadyTime now);

  // The member is being ended. Nothing: there is none. Else whether Slurm has started it.
  [[nodiscard]] std::optional<bool> End(const std::string& handle);

 private:
  struct Task {
    PoolMember shown;
    std::int64_t listings = 0;             // that had begun before it was known
    std::optional<SteadyTime> registered;  // here
    bool proven = false;                   // it was a worker before this coordinator knew of it
  };
  struct Claim {
    WorkerId worker;
    std::int64_t listings = 0;  // as Task::listings
    bool draining = false;
  };

  Task* Find(WorkerId worker);
  Task& Add(const std::string& handle);
  void See(Task& task, const SlurmRow& row);
  void Finish(const Task& task, const std::string& how, SteadyTime now, Outcome& outcome) const;
  [[nodiscard]] std::int32_t size() const;

  const SlurmOrigin origin_;
  const std::int32_t most_;
  bool ready_ = false;
  std::int32_t asked_ = 0;
  std::optional<SlurmBatch> on_its_way_;
  bool in_doubt_ = false;
  std::int64_t doubt_since_ = 0;
  std::int64_t batches_ = 0;
  std::int64_t listings_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, Task> tasks_;  // by array and index
  std::map<std::string, Claim> claims_;  // by handle: registered, of tasks not known yet
};

}  // namespace headrace::coordinator
