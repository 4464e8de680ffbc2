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
// A zygote forks the hosts here, or the trainer has started them (StartGiven). The trainer's make
// whatever their lane is asked for, each batch once. For the zygote's:
//
// A lane's batches run one after the other in the lane's own host. A request without a lane state
// begins the lane, and then its host is a fresh one, like the stock loader's workers. With
// RngMode::kSample the state is in the seeds, so hosts stay. With one lane, any of several hosts
// may run any batch.
class StageRunner {
 public:
  struct Options {
    StageBases::Options zygote;
    RngMode rng = RngMode::kTorch;
    std::int32_t lanes = 1;
    int threads = 1;  // hosts of RngMode::kSample with one lane
    // The cores that its hosts may keep busy now (StageGate); infinite: as many as there are lanes.
    std::function<double()> cores = [] { return std::numeric_limits<double>::infinity(); };
    // Where its processes ask for objects (ObjectDoor); -1: nowhere. It outlives the runner.
    int door = -1;
    // Whether the job's source limit lets a batch begin.
    std::function<bool()> may_read = [] { return true; };
    // Of bytes that its processes have read, those that count as the source's.
    std::function<std::uint64_t(std::uint64_t)> of_source = [](std::uint64_t bytes) {
      return bytes;
    };
  };
  using Made = StageAnswers::Made;
  // What a host used for a batch.
  struct Used {
    Duration cpu{};
    std::int64_t pid = 0;          // of the host; 0: not told yet
    std::uint64_t read_bytes = 0;  // ProcessReads since the batch before, without the request
  };
  struct Events {
    std::function<void(const Status&)> on_ready;                    // once
    std::function<void(Made)> on_done;                              // once an attempt
    std::function<void(const Used&)> on_used = [](const Used&) {};  // once a batch that has run
    // Called once when the zygote has ended; `how` is a sentence. Returns the answer for its
    // batches, and for on_ready if that is still to come.
    std::function<Status(const std::string& how)> on_lost;
  };

  // Starts. Callbacks never run inside Start, and must not end the runner. `bases` outlives it.
  // Errors of Zygote::Start.
  static Result<std::unique_ptr<StageRunner>> Start(net::Reactor& reactor, StageBases& bases,
                                                    Options options, const BlobContent& bundle,
                                                    Events events);
  // Starts a runner whose hosts are given to it; it is ready at once. `zygote` of the options is
  // not used. kInvalidArgument as Start.
  static Result<std::unique_ptr<StageRunner>> StartGiven(net::Reactor& reactor, Options options,
                                                         Events events);
  // Releases the hosts, which ends the zygote's. Nothing is answered any more.
  ~StageRunner();

  // Gives a lane's process, at the other end of `socket`. Errors of LaneHosts::Give. REQUIRES:
  // StartGiven.
  Status GiveLane(const StageHosts::Lane& lane, UniqueFd socket, std::int64_t pid);

  // Queues a batch. `arena`: where the slot is; nullptr: the batch goes into memory of its own. A
  // batch that is queued or running already is not made a second time.
  // REQUIRES: CheckRequest is ok; the slot lies inside of the arena.
  void Submit(wire::BatchRequest request, std::shared_ptr<ArenaMap> arena, SteadyTime received);
  [[nodiscard]] Status CheckRequest(const wire::BatchRequest& request) const;
  // Answers batches that have not begun with kCancelled. Running ones end first.
  void Cancel(IterationId before);
  [[nodiscard]] std::size_t outstanding() const;
  // The samples of batches that have not begun.
  [[nodiscard]] std::int64_t queued_samples() const;
  // The keys of a lane's batches that have not begun, in their order: kMostWaitingKeys at most.
  [[nodiscard]] std::vector<std::int64_t> WaitingKeys(LaneId lane) const;
  static constexpr std::size_t kMostWaitingKeys = 512;
  // The process that forks the hosts; 0: there is none.
  [[nodiscard]] std::int64_t zygote_pid() const { return source_->pid(); }
  // The processes of hosts, for the account of CPU time.
  [[nodiscard]] std::vector<std::int64_t> host_pids() const;

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
  // Looks again soon while batches are held back.
  void HoldBack(bool held);
  // Returns the host for the job, begun if need be; nullptr: none is free now. kUnavailable: no
  // more hosts. `alone`: no other job wants the cores, so a lane of the trainer's may have its next
  // batch while it makes one.
  Result<StageHost*> HostFor(const StageJob& job, bool alone);
  Result<StageHost*> BeginHost(const StageHosts::Lane& lane);
  void Begin(StageHost& host, std::unique_ptr<StageJob> job);
  void OnReadable(std::uint64_t host);
  void OnDone(StageHost& host, StageFrame frame);
  void OnEnded(std::uint64_t host, const std::string& how);
  void OnLost(const std::string& how);
  void EndHost(std::uint64_t host);

  net::Reactor& reactor_;
  const Options options_;
  const Events events_;
  StageAnswers answers_;
  std::unique_ptr<StageHosts> source_;
  LaneHosts* lanes_ = nullptr;  // the same, if hosts are given
  bool ready_ = false;
  Status failure_;
  std::deque<std::unique_ptr<StageJob>> queue_;
  std::map<std::uint64_t, StageHost> hosts_;
  std::uint64_t next_host_ = 1;
  StageGate gate_;
  net::TimerId held_timer_ = 0;  // 0: nothing is held back
};

}  // namespace headrace::dataworker
