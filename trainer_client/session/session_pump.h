#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/graph.h"
#include "base/result.h"
#include "net/reactor.h"
#include "ops/core/finisher.h"
#include "schemas/wire/message.h"
#include "trainer_client/draws/draw_planner.h"
#include "trainer_client/session/batch_answers.h"
#include "trainer_client/session/batch_book.h"
#include "trainer_client/session/batch_mailbox.h"
#include "trainer_client/session/batch_queue.h"
#include "trainer_client/session/batch_requests.h"
#include "trainer_client/session/batch_sizes.h"
#include "trainer_client/session/comparisons.h"
#include "trainer_client/session/content_check.h"
#include "trainer_client/session/deadline_timer.h"
#include "trainer_client/session/delivery.h"
#include "trainer_client/session/dispatcher.h"
#include "trainer_client/session/elsewhere.h"
#include "trainer_client/session/held_back.h"
#include "trainer_client/session/lane_states.h"
#include "trainer_client/session/size_requests.h"
#include "trainer_client/session/slot_loans.h"
#include "trainer_client/session/slow_workers.h"
#include "trainer_client/session/stand_in.h"
#include "trainer_client/session/state_watch.h"
#include "trainer_client/session/wire_choice.h"
#include "trainer_client/session/without_workers.h"
#include "trainer_client/session/worker_set.h"
#include "trainer_client/session/worker_states.h"

namespace headrace::client {

// The reactor side of a session: turns events into calls of its parts.
//
//   Submit -> DrawPlanner -> BatchQueue -> Dispatcher -> BatchRequests -> WorkerSet -> workers
//             BatchMailbox <- Delivery <- BatchAnswers <----- answers <-------'
//
// Methods: one for each call of Session, and one for each event.
// Reactor thread, except the constructor. The client's reactor side and the Session own it. After
// Shutdown it holds no socket, and every call does nothing.
class SessionPump : public std::enable_shared_from_this<SessionPump> {
 public:
  struct Setup {
    LinkContext context;
    SessionOptions options;
    DrawPlanner::Options planner;
    // The values of every sample, for plans that do not draw. Empty: they depend on the sample.
    std::vector<TensorSpec> values;
    // Finishes batches whose tail workers leave out. Absent: they may not.
    std::optional<ops::Finisher> finisher;
    // A request without an answer for this long was lost.
    Duration resend_floor = Dispatcher::Options().resend_floor;
    WithoutWorkers::Options without_workers;
    SlowWorkers::Rules slow;
  };
  using OnStates = client::LaneStates::OnStates;

  SessionPump(std::shared_ptr<net::Reactor> reactor, Setup setup,
              std::shared_ptr<BatchMailbox> shared);
  ~SessionPump();

  // Starts; called before any other call on the reactor.
  void Start(std::shared_ptr<BadSamples> bad = std::make_shared<BadSamples>());
  void Shutdown();

  Status Begin(const IterationOptions& iteration);
  // Cancels the rest of the iteration; nothing of it is delivered any more.
  void End();
  void Skip(std::span<const std::int64_t> keys) { planner_.Skip(keys); }
  // Submits a batch. `index`: wire::BatchRequest::index. `now`: when the trainer gave the keys.
  void Submit(std::vector<std::int64_t> keys, std::int32_t lane, SteadyTime now, Bytes index = {});
  // Replaces the lanes; called before the iteration that they make.
  void SetLanes(std::vector<LaneProcesses::Lane> lanes);
  Status ResolveSample(std::int64_t batch, std::int32_t position, ByteSpan state_after,
                       bool failed);
  Status ReplanLane(std::int64_t batch, ByteSpan state_after);
  Result<Withdrawal> Judge(std::uint64_t suspicion, bool equal);
  void LearnNames(ByteSpan pickle) { elsewhere_.LearnNames(pickle); }
  // The number of verdicts still to come on batches that the trainer may have taken.
  std::int64_t Undecided();
  Result<std::int64_t> MakeAgain(std::span<const std::int32_t> lanes);
  Result<std::vector<std::uint64_t>> LaneDraws();
  void LaneStates(bool end, OnStates done);

  // Sets all workers that serve the job now.
  void SetLeases(const std::vector<wire::WorkerInfo>& workers);
  void SetJob(JobId job) { context_.job = job; }
  void ReportBadSample(const BadSampleReport& report);
  // As wire::BadSample::data_set.
  [[nodiscard]] std::uint64_t data_set() const { return held_back_.data_set(); }
  [[nodiscard]] SessionId id() const { return context_.session; }
  [[nodiscard]] const Plan& plan() const { return context_.plan; }
  [[nodiscard]] const std::vector<std::uint64_t>& files() const { return context_.files; }
  [[nodiscard]] wire::SessionLoad Load();
  void AddSuspects(std::vector<WorkerId>& suspects) const { workers_.AddSuspects(suspects); }
  // Adds the workers that it does not use, by the coordinator's ids.
  void AddUnfit(std::vector<wire::UnfitWorker>& unfit) const {
    if (content_ == nullptr) return;
    workers_.AddUnfit(content_->all_unfit(), slow_.slow(), unfit);
  }

 private:
  // Moves on everything that can move on. Every event ends here.
  void Pump();
  void PumpOnce();
  void TakePlanned();
  void AskSizes();
  void Tick();
  // Runs task(*this) in a turn of its own.
  template <typename Task>
  void Later(Task task);
  void CancelEarlier();

  void OnLinkState(WorkerId worker, WorkerLink::State state);
  void OnMessage(WorkerId worker, net::Incoming&& incoming);
  void OnSettled(WorkerId worker, bool knows_session);
  [[nodiscard]] WorkerFacts FactsOf(WorkerId worker) const;
  [[nodiscard]] std::map<WorkerId, WorkerFacts> Facts() const;  // of all links
  void TellDispatcher(WorkerId worker);
  void Forgotten(WorkerId worker, Dispatcher::Answer why = Dispatcher::Answer::kNoSession);
  void EndWorker(WorkerId worker);
  void RemoveEnded();
  void CheckWorkers();
  // Lets workers rest that are slow, and takes those back that have rested.
  void JudgePaces(SteadyTime now);
  // Called when something happens: notes whether this process stood still before.
  void Wake();

  std::shared_ptr<net::Reactor> reactor_;
  LinkContext context_;
  std::shared_ptr<BatchMailbox> shared_;
  std::uint64_t window_;  // batches that may be asked for ahead
  // Whether workers elsewhere may run the plan's code, once they have shown what they make.

  // What is known and decided.
  DrawPlanner planner_;
  Dispatcher dispatcher_;
  Comparisons comparisons_;
  BatchBook book_;
  client::LaneStates lanes_;
  BatchSizes sizes_;
  WireChoice wire_;
  SizeRequests size_requests_;
  WithoutWorkers without_workers_;
  SlowWorkers slow_;
  // What has sockets, memory or files.
  SlotLoans loans_;
  WorkerSet workers_;
  std::unique_ptr<ContentCheck> content_;  // null after Shutdown, when no event asks it any more
  // What connects them.
  BatchQueue queue_;
  Elsewhere elsewhere_;
  StateWatch watch_;
  BatchRequests requests_;
  Delivery delivery_;
  BatchAnswers answers_;
  StandIn stand_in_;
  HeldBack held_back_;

  bool closed_ = false;
  bool pumping_ = false, pump_again_ = false;
  SteadyTime awake_{};         // when something last happened
  SteadyTime served_since_{};  // when a worker got ready while there was none
  net::TimerId tick_ = 0;
  DeadlineTimer deadline_{*reactor_, [this] { Pump(); }};  // a batch is late
};

}  // namespace headrace::client
