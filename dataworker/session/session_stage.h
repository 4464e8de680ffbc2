#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/session/attachment.h"
#include "dataworker/session/session_environment.h"
#include "dataworker/session/stage_objects.h"
#include "dataworker/stage/cpu_account.h"
#include "dataworker/stage/stage_bases.h"
#include "dataworker/stage/stage_hosts.h"
#include "dataworker/stage/stage_runner.h"

namespace headrace::dataworker {

// The processes that run a session's Python plan while they serve, and what they cost its job. They
// are forked here, or the trainer gives them (Attach says which).
//
//   none -Start-> starting -tell(ok)-> serving -tell(error)-> failed -End-> none
//                                  \--tell(error)-> failed
//
// Given processes serve at once, and `tell` is not called for them. Reactor thread.
class SessionStage {
 public:
  // The most lanes that are kept before the session starts: two sets of as many as it can have.
  static constexpr std::size_t kMostEarlyLanes = 2048;

  // A lane's process serves at the other end of the socket.
  struct GivenLane {
    StageHosts::Lane lane;
    UniqueFd socket;
    std::int64_t pid = 0;
  };

  // `tell`: the code serves, could not be loaded, or was lost. It is never called inside Start, and
  // must not call End. `environment` and `attachment` outlive this.
  SessionStage(SessionEnvironment& environment, const Attachment& attachment,
               std::function<void(const Status&)> tell)
      : environment_(environment), attachment_(attachment), tell_(std::move(tell)) {}

  // Prepares what the processes will be forked from, while the plan's code is on its way.
  void Warm();
  // Starts. kUnsupported: lost here too often, or the code was not sent. Errors of
  // StageLosses::Check, StageRunner::Start, StageObjects::Open.
  // REQUIRES: `blobs` has the bundle, where the plan has one and no lanes are given.
  Status Start(const std::map<BlobHash, BlobContent>& blobs);
  // From Start to End.
  [[nodiscard]] bool started() const { return runner_ != nullptr; }
  // Ends the processes. Their batches are not answered any more.
  void End();

  // Gives a lane's process. Before Start, it is kept until then. From a trainer that was not asked
  // for lanes, it is dropped.
  void OnLane(GivenLane given);

  // Makes a batch; each request is answered in the end. kInvalidArgument: it does not fit the plan,
  // or its slot the arena. REQUIRES: started().
  void Submit(wire::BatchRequest request, const std::shared_ptr<ArenaMap>& arena,
              SteadyTime received);
  // Cancels requests for batches of older iterations.
  void Cancel(IterationId before);

  // The number of batches without an answer.
  [[nodiscard]] std::size_t outstanding() const { return runner_ ? runner_->outstanding() : 0; }
  // The number of samples of batches that have not begun.
  [[nodiscard]] std::int64_t queued_samples() const {
    return runner_ ? runner_->queued_samples() : 0;
  }
  // The ids of its processes, without those that the trainer has started.
  [[nodiscard]] std::vector<std::int64_t> pids() const;
  // Brings the job's account of their CPU time up to date.
  void CountCpu();

 private:
  [[nodiscard]] StageBases::Options BaseOptions() const;
  [[nodiscard]] StageRunner::Options RunnerOptions() const;
  [[nodiscard]] StageRunner::Events RunnerEvents();
  Status StartGiven();
  // Adds what a host has used since it was last counted.
  void CountHost(std::int64_t pid);
  void AddCpu(std::uint64_t nanos);

  SessionEnvironment& environment_;
  const Attachment& attachment_;
  const std::function<void(const Status&)> tell_;
  std::shared_ptr<StageObjects> objects_;  // from Start to End
  std::unique_ptr<StageRunner> runner_;
  std::vector<GivenLane> early_lanes_;  // came before Start
  CpuAccount cpu_;
};

}  // namespace headrace::dataworker
