#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/graph.h"
#include "base/result.h"
#include "net/reactor.h"
#include "schemas/wire/message.h"
#include "trainer_client/arena.h"
#include "trainer_client/batch_result.h"
#include "trainer_client/dispatcher.h"
#include "trainer_client/planner.h"
#include "trainer_client/session_shared.h"
#include "trainer_client/worker_link.h"

namespace headrace::client {

// The reactor side of a session: planner -> dispatcher -> slots -> workers -> reorder buffer.
// Reactor thread, except the constructor. Owned by the client's reactor side and by the Session;
// after Shutdown it holds no socket and every call does nothing.
class SessionCore : public std::enable_shared_from_this<SessionCore> {
 public:
  struct Setup {
    LinkContext context;
    SessionOptions options;
    Planner::Options planner;
    // What the chain makes, where the planner does not draw and so does not know; height 0:
    // unknown.
    ops::ImageSpec output;
    // A request without an answer for so long went lost.
    Duration resend_floor = Dispatcher::Options().resend_floor;
    // Without any ready worker for so long, Next says so.
    Duration worker_timeout = std::chrono::seconds(10);
    // What the trainer can do then.
    std::string no_worker_remedy;
  };
  SessionCore(std::shared_ptr<net::Reactor> reactor, Setup setup,
              std::shared_ptr<SessionShared> shared);
  ~SessionCore();

  // Before any other call on the reactor.
  void Start();
  void Shutdown();

  Status Begin(const IterationOptions& iteration);
  void Skip(std::span<const std::int64_t> keys);
  // `now`: when the trainer gave the keys.
  void Submit(std::vector<std::int64_t> keys, std::int32_t lane, SteadyTime now);
  Status ResolveSample(std::int64_t batch, std::int32_t position, ByteSpan state_after,
                       bool failed);
  Status ReplanLane(std::int64_t batch, ByteSpan state_after);
  Result<std::vector<std::uint64_t>> LaneDraws();
  using OnStates = std::function<void(Result<std::vector<Bytes>>)>;
  void LaneStates(bool end, OnStates done);

  // The whole set of workers that serve the job now.
  void SetLeases(const std::vector<wire::WorkerInfo>& workers);
  void SetJob(JobId job) { context_.job = job; }
  [[nodiscard]] SessionId id() const { return context_.session; }
  [[nodiscard]] const Plan& plan() const { return context_.plan; }
  [[nodiscard]] wire::SessionLoad Load();
  void AddSuspects(std::vector<WorkerId>& suspects) const;

 private:
  struct Lent {
    Slot slot;
    WorkerId worker;
    std::int64_t ticket;
    bool arena;  // the worker writes into the slot itself
    SteadyTime sent;
    bool forgotten = false;  // no answer will come, but the worker may still write
  };
  struct Describing {
    WorkerId worker;
    std::vector<std::int64_t> keys;
    SteadyTime sent;
  };

  // Batch and iteration as one number that grows: what the dispatcher knows a batch by.
  static constexpr int kBatchBits = 40;
  [[nodiscard]] std::int64_t Ticket(std::int64_t batch) const {
    return iteration_ << kBatchBits | batch;
  }
  [[nodiscard]] static std::int64_t BatchOf(std::int64_t ticket) {
    return ticket & ((std::int64_t{1} << kBatchBits) - 1);
  }
  [[nodiscard]] bool Current(std::int64_t ticket) const {
    return ticket >> kBatchBits == iteration_;
  }
  [[nodiscard]] bool PythonLanes() const {
    return context_.plan.has_python_stage && context_.plan.rng == RngMode::kTorch;
  }

  // Moves everything on that can be moved on. Every event ends here.
  void Pump();
  void PumpOnce();
  void TakePlanned();
  [[nodiscard]] std::uint64_t EstimateBytes(const PlannedBatch& planned) const;
  void Later(void (SessionCore::*task)());
  void DescribeUnknown();
  std::optional<Slot> AcquireSlot(std::uint64_t bytes);
  bool Dispatch(const Dispatcher::Send& send);
  [[nodiscard]] wire::BatchRequest MakeRequest(const PlannedBatch& planned,
                                               const Dispatcher::Send& send,
                                               const Slot& slot) const;
  void ArmTimer();
  void CloseDelivered();
  void AnswerStates();

  void OnLinkState(WorkerId worker, WorkerLink::State state);
  void OnMessage(WorkerId worker, net::Incoming&& incoming);
  void OnDescribed(WorkerId worker, const wire::Described& described);
  void OnBatchDone(WorkerId worker, wire::BatchDone&& done, const std::vector<ByteSpan>& payload);
  void Deliver(WorkerId worker, const Lent& lent, SteadyTime arrived, wire::BatchDone&& done);
  void DeliverFailed(std::int64_t ticket, const Status& why);
  // The batch's times up to now, which are forgotten.
  [[nodiscard]] BatchTimeline TakeTimeline(std::int64_t ticket);
  void AddMissing(std::int64_t batch, std::vector<MissingSample>& missing) const;
  void DropReady(ReadyBatch&& ready);
  void Forgotten(WorkerId worker);
  void LoseDescribes(WorkerId worker);
  [[nodiscard]] WorkerId OwnId(const wire::WorkerInfo& worker,
                               const std::map<WorkerId, wire::WorkerInfo>& taken) const;
  void AddLink(const wire::WorkerInfo& worker);
  void RemoveEnded();
  void EndWorker(WorkerId worker);
  [[nodiscard]] Status AllRefuse() const;
  void Tick();
  void CheckWorkers();

  std::shared_ptr<net::Reactor> reactor_;
  LinkContext context_;
  SessionOptions options_;
  ops::ImageSpec output_;
  Duration worker_timeout_;
  std::string no_worker_remedy_;
  std::shared_ptr<SessionShared> shared_;
  Planner planner_;
  Dispatcher dispatcher_;
  bool closed_ = false;
  bool pumping_ = false, pump_again_ = false;

  std::int64_t iteration_ = 0;
  std::uint64_t base_seed_ = 0;
  std::map<std::int64_t, PlannedBatch> planned_;               // by ticket, until done
  std::unordered_map<std::int64_t, BatchTimeline> timelines_;  // by ticket, until delivered
  std::unordered_map<std::uint32_t, Lent> lent_;               // by attempt
  std::unordered_map<std::int32_t, Bytes> lane_states_;        // Python lanes, behind what is made
  std::unordered_map<std::int32_t, Bytes> begin_states_;       // where the iteration began
  struct Asked {
    bool end;
    OnStates done;
  };
  std::vector<Asked> asked_states_;        // wait for what is being made
  std::vector<std::int64_t> undescribed_;  // no worker could be asked yet
  std::unordered_map<std::uint64_t, Describing> describing_;
  std::uint64_t next_request_ = 0;
  double bytes_per_sample_ = 0;       // learnt from answers
  std::atomic<bool> starved_{false};  // a slot was missing

  std::map<WorkerId, std::unique_ptr<WorkerLink>> links_;
  std::map<WorkerId, wire::WorkerInfo> leased_;
  std::map<WorkerId, WorkerId> outside_ids_;  // our id of a worker -> the coordinator's now
  std::map<WorkerId, SteadyTime> ended_;      // gone though leased: tried again later
  std::map<WorkerId, Status> refused_;  // said that the plan cannot run there: not asked again
  Status last_refusal_;
  SteadyTime no_worker_since_{};
  SteadyTime served_since_{};  // when a worker got ready while there was none
  net::TimerId tick_ = 0, deadline_timer_ = 0;
  SteadyTime deadline_{};
};

}  // namespace headrace::client
