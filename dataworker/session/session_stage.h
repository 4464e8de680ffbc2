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
#include "dataworker/stage/stage_bases.h"
#include "dataworker/stage/stage_hosts.h"
#include "dataworker/stage/stage_runner.h"

namespace headrace::dataworker {

// The processes that run a session's Python plan, as long as they serve, and what they cost its
// job. They are forked here, or are those that the trainer gives (Attach says which).
//
//   none -Start-> starting -tell(ok)-> serving -tell(error)-> failed -End-> none
//                                  \--tell(error)-> failed
//
// Given processes serve at once, and nothing is told of them. Reactor thread.
class SessionStage {
 public:
  // A lane's process, at the other end of the socket.
  struct GivenLane {
    StageHosts::Lane lane;
    UniqueFd socket;
    std::int64_t pid = 0;
  };

  // `tell`: the code serves, or could not be loaded, or was lost. Never from inside Start; must not
  // End it. `environment` and `attachment` outlive it.
  SessionStage(SessionEnvironment& environment, const Attachment& attachment,
               std::function<void(const Status&)> tell)
      : environment_(environment), attachment_(attachment), tell_(std::move(tell)) {}

  // While the plan's code is on its way: what its processes will be forked from.
  void Warm();
  // kUnsupported: lost here too often, or the code is not among what was sent. Errors of
  // StageLosses::Check, StageRunner::Start.
  // REQUIRES: `blobs` has the bundle, where the plan has one and no lanes are given.
  Status Start(const std::map<BlobHash, BlobContent>& blobs);
  // From Start to End.
  [[nodiscard]] bool started() const { return runner_ != nullptr; }
  // Its batches are not answered any more.
  void End();

  // Also before Start: it is kept for then. Of a trainer that was not asked for lanes: dropped.
  void OnLane(GivenLane given);

  // Answers each request in the end. kInvalidArgument: it does not fit the plan, or its slot the
  // arena. REQUIRES: started().
  void Submit(wire::BatchRequest request, const std::shared_ptr<ArenaMap>& arena,
              SteadyTime received);
  // Requests for batches of older iterations.
  void Cancel(IterationId before);

  // Batches without an answer.
  [[nodiscard]] std::size_t outstanding() const { return runner_ ? runner_->outstanding() : 0; }
  // Of batches that have not begun.
  [[nodiscard]] std::int64_t queued_samples() const {
    return runner_ ? runner_->queued_samples() : 0;
  }
  // Of its processes.
  [[nodiscard]] std::vector<std::int64_t> pids() const;
  // Brings the job's account of their CPU time up to date.
  void CountCpu();

 private:
  [[nodiscard]] StageBases::Options BaseOptions() const;
  [[nodiscard]] StageRunner::Options RunnerOptions() const;
  [[nodiscard]] StageRunner::Events RunnerEvents();
  Status StartGiven();

  SessionEnvironment& environment_;
  const Attachment& attachment_;
  const std::function<void(const Status&)> tell_;
  std::unique_ptr<StageRunner> runner_;
  std::vector<GivenLane> early_lanes_;  // that came before Start
  double cpu_seconds_ = 0;              // of its processes, that are in the account
};

}  // namespace headrace::dataworker
