#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/graph.h"
#include "base/result.h"
#include "net/reactor.h"
#include "schemas/wire/message.h"
#include "trainer_client/draws/draw_planner.h"
#include "trainer_client/session/arena.h"
#include "trainer_client/session/batch_mailbox.h"
#include "trainer_client/session/batch_result.h"
#include "trainer_client/session/comparisons.h"
#include "trainer_client/session/content_check.h"
#include "trainer_client/session/dispatcher.h"
#include "trainer_client/session/lane_history.h"
#include "trainer_client/session/worker_link.h"

namespace headrace::client {

// The reactor side of a session: planner -> dispatcher -> slots -> workers -> reorder buffer.
// Reactor thread, except the constructor. Owned by the client's reactor side and by the Session;
// after Shutdown it holds no socket and every call does nothing.
class SessionPump : public std::enable_shared_from_this<SessionPump> {
 public:
  struct Setup {
    LinkContext context;
    SessionOptions options;
    DrawPlanner::Options planner;
    // What the chain makes, where the planner does not draw and so does not know; height 0:
    // unknown.
    ops::ImageSpec output;
    // A request without an answer for so long went lost.
    Duration resend_floor = Dispatcher::Options().resend_floor;
    // Without any ready worker for so long, Next says so.
    Duration worker_timeout = std::chrono::seconds(10);
    // What the trainer can do then.
    std::string no_worker_remedy;
    // Of a session that gives lanes: for so long after its start a worker of this host may still
    // come, and that all others refuse is no answer.
    Duration reference_patience{};
  };
  SessionPump(std::shared_ptr<net::Reactor> reactor, Setup setup,
              std::shared_ptr<BatchMailbox> shared);
  ~SessionPump();

  // Before any other call on the reactor.
  void Start();
  void Shutdown();

  Status Begin(const IterationOptions& iteration);
  // What is left of the iteration is cancelled; nothing of it is delivered any more.
  void End();
  void Skip(std::span<const std::int64_t> keys);
  // `index`: wire::BatchRequest::index. `now`: when the trainer gave the keys.
  void Submit(std::vector<std::int64_t> keys, std::int32_t lane, SteadyTime now, Bytes index = {});
  // In the place of those before, before the iteration that they make.
  void SetLanes(std::vector<LaneProcesses::Lane> lanes);
  Status ResolveSample(std::int64_t batch, std::int32_t position, ByteSpan state_after,
                       bool failed);
  Status ReplanLane(std::int64_t batch, ByteSpan state_after);
  Result<Withdrawal> Judge(std::uint64_t suspicion, bool equal);
  std::int64_t Undecided();
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
    bool forgotten = false;                  // no answer will come, but the worker may still write
    bool shadow = false;                     // of Comparisons, not of the dispatcher
    std::vector<std::int32_t> witness = {};  // positions whose files it bears witness of
  };
  // A batch that the trainer may not have taken yet: it may have to be made again.
  struct Kept {
    PlannedBatch planned;
    Bytes index;
    Bytes lane_state;  // before it
    WorkerId worker;
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

  void CancelOlder();
  // Moves everything on that can be moved on. Every event ends here.
  void Pump();
  void PumpOnce();
  void TakePlanned();
  [[nodiscard]] std::uint64_t EstimateBytes(const PlannedBatch& planned) const;
  void Later(void (SessionPump::*task)());
  void DescribeUnknown();
  std::optional<Slot> AcquireSlot(std::uint64_t bytes);
  bool Dispatch(const Dispatcher::Send& send);
  [[nodiscard]] wire::BatchRequest MakeRequest(const PlannedBatch& planned,
                                               const Dispatcher::Send& send,
                                               const Slot& slot) const;
  void ArmTimer();
  void CloseDelivered();
  void AnswerStates();

  // session_compare.cc: workers elsewhere, which have to show what they make.
  [[nodiscard]] bool Serves(WorkerId worker) const;
  // What the dispatcher is to know of a worker that is ready.
  [[nodiscard]] Dispatcher::WorkerState ReadyState(WorkerId worker) const;
  [[nodiscard]] bool Unproved(WorkerId worker) const;
  void ToldState(WorkerId worker, WorkerLink::State state);
  void SendShadows(const Dispatcher::Send& send);
  void OnShadowDone(WorkerId worker, const Lent& lent, wire::BatchDone&& done,
                    const std::vector<ByteSpan>& payload);
  // Before Deliver: the batch is there.
  [[nodiscard]] std::vector<Comparison> Compare(WorkerId worker, const Lent& lent,
                                                const wire::BatchDone& done);
  void Keep(WorkerId worker, std::int64_t ticket, const PlannedBatch& planned);
  void Compared(const Comparison& comparison);
  Withdrawal Settle(WorkerId tried, bool equal);
  void Withdraw(WorkerId worker);
  void MakeAgain(WorkerId worker);
  void LoseLent(std::uint32_t attempt, const Lent& lent);

  // session_replay.cc: code that was seen to keep state.
  [[nodiscard]] bool Records() const { return compares_ && PythonLanes(); }
  void BeginHistory();
  void NoteAsked(WorkerId worker, std::int64_t ticket);
  void NoteMade(WorkerId worker, const Lent& lent, const wire::BatchDone& done);
  void OnStateChange(WorkerId worker, const std::string& what);
  void LeaveElsewhere();
  void ReplayLane(std::int32_t lane);
  [[nodiscard]] bool Replayed(std::int64_t ticket);
  void Differs(std::int64_t ticket);
  void TellVerdict();

  void OnLinkState(WorkerId worker, WorkerLink::State state);
  void OnMessage(WorkerId worker, net::Incoming&& incoming);
  void OnDescribed(WorkerId worker, const wire::Described& described);
  void OnBatchDone(WorkerId worker, wire::BatchDone&& done, const std::vector<ByteSpan>& payload);
  // Settles the answer when its files have been compared with the trainer's.
  void CheckContent(WorkerId worker, const Lent& lent, const PlannedBatch& planned,
                    SteadyTime arrived, wire::BatchDone&& done);
  // The answer, once the files it was made of are known to be the trainer's.
  void Settle(WorkerId worker, const Lent& lent, SteadyTime arrived, Dispatcher::Answer answer,
              wire::BatchDone&& done);
  // Its files are not the trainer's, and others can do its work.
  [[nodiscard]] bool LeftAside(WorkerId worker) const;
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
  Duration worker_timeout_, reference_patience_;
  std::string no_worker_remedy_;
  std::shared_ptr<BatchMailbox> shared_;
  DrawPlanner planner_;
  Dispatcher dispatcher_;
  // Whether workers elsewhere may run the plan's code, once they have shown what they make.
  const bool compares_;
  Comparisons comparisons_;
  std::map<std::int64_t, Kept> kept_;               // by ticket; compares_ only
  std::map<std::uint64_t, Comparison> suspicions_;  // that were not judged yet
  std::uint64_t next_suspicion_ = 0;
  std::map<WorkerId, Withdrawal> consumed_;  // by maker
  std::vector<wire::WorkerInfo> withdrawn_;
  bool had_reference_ = false;  // a worker was given the lanes
  static constexpr std::uint64_t kHistoryBytes = std::uint64_t{256} << 20;
  LaneHistory history_{kHistoryBytes};
  bool stays_ = false;                // its code was seen to keep state
  StateChange change_;                // how; what is known by now
  std::set<std::int64_t> replaying_;  // tickets that are made for their lanes' state alone
  SteadyTime started_{};
  bool closed_ = false;
  bool pumping_ = false, pump_again_ = false;

  std::int64_t iteration_ = 0;
  std::uint64_t base_seed_ = 0;
  std::map<std::int64_t, PlannedBatch> planned_;               // by ticket, until done
  std::unordered_map<std::int64_t, BatchTimeline> timelines_;  // by ticket, until delivered
  std::unordered_map<std::int64_t, Bytes> indices_;            // by ticket, until done
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

  std::unique_ptr<ContentCheck> content_;
  int checking_ = 0;  // answers whose files are being compared
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
