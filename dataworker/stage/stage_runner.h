#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/graph.h"
#include "base/result.h"
#include "dataworker/memory/memory_map.h"
#include "dataworker/stage/frame_socket.h"
#include "dataworker/stage/lane_hosts.h"
#include "dataworker/stage/stage_answers.h"
#include "dataworker/stage/stage_gate.h"
#include "dataworker/stage/stage_host.h"
#include "dataworker/stage/stage_hosts.h"
#include "dataworker/stage/stage_job.h"
#include "dataworker/stage/zygote.h"
#include "net/reactor.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// Runs the batches of one session's Python plan in subprocesses. Reactor thread.
//
//   starting -READY-> serving -zygote or interpreter lost-> failed
//
// Hosts are forked here, by a zygote, or are processes that the trainer has started (StartGiven):
// those make whatever their lane is asked for, each batch once. Of the zygote's:
//
// A lane's batches run one after the other in the lane's own host; a request without a lane state
// begins the lane, and then its host is a fresh one, as the stock loader's workers are. With
// RngMode::kSample the state is in the seeds: hosts stay, and with one lane any of several may run
// any batch.
class StageRunner {
 public:
  struct Options {
    StageBases::Options zygote;
    RngMode rng = RngMode::kTorch;
    std::int32_t lanes = 1;
    int threads = 1;  // hosts of RngMode::kSample with one lane
    // Cores that its hosts may keep busy now (StageGate); infinite: as many as there are lanes.
    std::function<double()> cores = [] { return std::numeric_limits<double>::infinity(); };
    // Whether the job's source limit lets a batch begin.
    std::function<bool()> may_read = [] { return true; };
  };
  using Made = StageAnswers::Made;
  // What a host used for a batch.
  struct Used {
    Duration cpu{};
    std::uint64_t read_bytes = 0;  // ProcessReadBytes since the one before, without the request
  };
  struct Events {
    std::function<void(const Status&)> on_ready;                    // once
    std::function<void(Made)> on_done;                              // once an attempt
    std::function<void(const Used&)> on_used = [](const Used&) {};  // once a batch that has run
    // The zygote has ended, `how` as a sentence: what to answer its batches, and to say in on_ready
    // when that is still to come. Once.
    std::function<Status(const std::string& how)> on_lost;
  };

  // Errors of Zygote::Start. Callbacks never come from inside Start, and must not end the runner.
  // `bases` outlives it.
  static Result<std::unique_ptr<StageRunner>> Start(net::Reactor& reactor, StageBases& bases,
                                                    Options options, const BlobContent& bundle,
                                                    Events events);
  // A runner whose hosts are given to it; ready at once. `zygote` of the options is not used.
  // kInvalidArgument as Start.
  static Result<std::unique_ptr<StageRunner>> StartGiven(net::Reactor& reactor, Options options,
                                                         Events events);
  // Lets go of the hosts, which ends the zygote's; nothing is answered any more.
  ~StageRunner();

  // A lane's process, at the other end of `socket`. Errors of LaneHosts::Give. REQUIRES:
  // StartGiven.
  Status GiveLane(const StageHosts::Lane& lane, UniqueFd socket, std::int64_t pid);

  // `arena`: where the slot is; nullptr: the batch goes into memory of its own. A batch that is
  // queued or running already is not made a second time.
  // REQUIRES: CheckRequest is ok; the slot lies inside of the arena.
  void Submit(wire::BatchRequest request, std::shared_ptr<ArenaMap> arena, SteadyTime received);
  [[nodiscard]] Status CheckRequest(const wire::BatchRequest& request) const;
  // Answers what has not begun with kCancelled; what runs ends first.
  void Cancel(IterationId before);
  [[nodiscard]] std::size_t outstanding() const;
  // Of batches that have not begun.
  [[nodiscard]] std::int64_t queued_samples() const;
  // Of zygote and hosts, for the account of CPU time.
  [[nodiscard]] std::vector<std::int64_t> pids() const;

 private:
  StageRunner(net::Reactor& reactor, Options options, Events events)
      : reactor_(reactor),
        options_(std::move(options)),
        events_(std::move(events)),
        answers_(reactor.clock(), events_.on_done) {}
  [[nodiscard]] bool AnyHost() const {
    return options_.rng == RngMode::kSample && options_.lanes == 1 && lanes_ == nullptr;
  }
  void Pump();
  [[nodiscard]] std::vector<StageGate::Running> RunningNow() const;
  // Looks again soon for as long as batches are held back.
  void HoldBack(bool held);
  // The host for the job, begun if need be; nullptr: none is free now. kUnavailable: no more
  // hosts.
  Result<StageHost*> HostFor(const StageJob& job);
  Result<StageHost*> BeginHost(const StageHosts::Lane& lane);
  void Begin(StageHost& host, std::unique_ptr<StageJob> job);
  void OnReadable(std::uint64_t host);
  void OnDone(StageHost& host, StageFrame frame);
  void OnEnded(std::uint64_t host, const std::string& how);
  void OnLost(const std::string& how);
  void EndHost(std::uint64_t host);
  // The batch's job that is queued or running; nullptr: none.
  [[nodiscard]] StageJob* Find(const wire::BatchRequest& request);

  net::Reactor& reactor_;
  const Options options_;
  const Events events_;
  StageAnswers answers_;
  std::unique_ptr<StageHosts> source_;
  LaneHosts* lanes_ = nullptr;  // the same, where hosts are given
  bool ready_ = false;
  Status failure_;
  std::deque<std::unique_ptr<StageJob>> queue_;
  std::map<std::uint64_t, StageHost> hosts_;
  std::uint64_t next_host_ = 1;
  StageGate gate_;
  net::TimerId held_timer_ = 0;  // 0: nothing is held back
};

}  // namespace headrace::dataworker
