// This file is long because it makes all parts of a session and connects them.
#include "trainer_client/session/session_pump.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "base/log.h"
#include "trainer_client/session/session_load.h"

namespace headrace::client {
namespace {

// Without a tick for so long, the process was stopped, or its host was.
constexpr Duration kStoodStill = 4 * WorkerLink::kTick;

}  // namespace

SessionPump::SessionPump(std::shared_ptr<net::Reactor> reactor, Setup setup,
                         std::shared_ptr<BatchMailbox> shared)
    : reactor_(std::move(reactor)),
      context_(std::move(setup.context)),
      shared_(std::move(shared)),
      window_(static_cast<std::uint64_t>(setup.options.max_outstanding)),
      planner_(setup.planner),
      dispatcher_(Dispatcher::Options::For(context_.plan, context_.making(), setup.resend_floor,
                                           setup.options.sample_deadline)),
      comparisons_({.compare_every = setup.options.compare_every}),
      lanes_(context_.plan.lanes),
      sizes_(context_.plan, setup.values, setup.options.slot_bytes_hint),
      wire_(setup.options.wire, std::move(setup.finisher)),
      size_requests_(context_.session, planner_),
      without_workers_(std::move(setup.without_workers)),
      slow_(setup.slow),
      loans_(context_.arena, *shared_),
      workers_(
          *reactor_, context_, context_.compares(),
          {.on_state = [this](WorkerId worker,
                              WorkerLink::State state) { OnLinkState(worker, state); },
           .on_message = [this](WorkerId worker,
                                net::Incoming&& in) { OnMessage(worker, std::move(in)); },
           .on_loaded = [this] { shared_->SetServed(); },
           .on_lost = [this](WorkerId worker) { Forgotten(worker, Dispatcher::Answer::kLost); }}),
      content_(std::make_unique<ContentCheck>(reactor_, context_.plan, *context_.blobs,
                                              setup.planner.row_map)),
      queue_({.book = book_,
              .lanes = lanes_,
              .planner = planner_,
              .dispatcher = dispatcher_,
              .comparisons = comparisons_,
              .mailbox = *shared_,
              .loans = loans_,
              .sizes = sizes_},
             HasPythonLanes(context_.plan)),
      elsewhere_(context_.compares(),
                 {.plan = context_.plan,
                  .workers = workers_,
                  .book = book_,
                  .queue = queue_,
                  .comparisons = comparisons_,
                  .mailbox = *shared_,
                  .loans = loans_},
                 AnswerNames(setup.options.answer_names, setup.options.closed_modules),
                 [this](WorkerId worker) { TellDispatcher(worker); }),
      watch_(context_.compares(), {.context = context_,
                                   .workers = workers_,
                                   .book = book_,
                                   .lanes = lanes_,
                                   .queue = queue_,
                                   .mailbox = *shared_}),
      requests_({.context = context_,
                 .workers = workers_,
                 .book = book_,
                 .lanes = lanes_,
                 .loans = loans_,
                 .comparisons = comparisons_,
                 .content = *content_,
                 .watch = watch_,
                 .wire = wire_,
                 .clock = reactor_->clock()}),
      delivery_({.plan = context_.plan,
                 .book = book_,
                 .planner = planner_,
                 .dispatcher = dispatcher_,
                 .mailbox = *shared_,
                 .sizes = sizes_,
                 .loans = loans_,
                 .clock = reactor_->clock(),
                 .tell_draws = setup.options.tell_draws}),
      answers_({.context = context_,
                .workers = workers_,
                .dispatcher = dispatcher_,
                .comparisons = comparisons_,
                .book = book_,
                .lanes = lanes_,
                .sizes = sizes_,
                .loans = loans_,
                .content = *content_,
                .elsewhere = elsewhere_,
                .watch = watch_,
                .delivery = delivery_,
                .mailbox = *shared_,
                .wire = wire_,
                .clock = reactor_->clock()},
               {.on_checked = [this](WorkerId worker) { TellDispatcher(worker); },
                .on_settled = [this](WorkerId worker,
                                     bool knows_session) { OnSettled(worker, knows_session); }}),
      stand_in_({planner_, size_requests_, book_, dispatcher_, answers_}),
      held_back_({.plan = context_.plan,
                  .planner = planner_,
                  .book = book_,
                  .dispatcher = dispatcher_,
                  .answers = answers_,
                  .mailbox = *shared_,
                  .paths = [this](std::int64_t row) {
                    return content_ ? content_->PathsOf(row) : std::vector<std::string>();
                  }}) {}

SessionPump::~SessionPump() { workers_.Clear(); }

template <typename Task>
void SessionPump::Later(Task task) {
  reactor_->Post([weak = weak_from_this(), task] {
    if (const auto self = weak.lock(); self && !self->closed_) task(*self);
  });
}

void SessionPump::Start(std::shared_ptr<BadSamples> bad) {
  Wake();
  held_back_.Start(std::move(bad));
  without_workers_.Start(reactor_->clock().Now());
  tick_ = reactor_->AddTimer(WorkerLink::kTick, [this] { Tick(); });
  // A batch that the program drops may be the slot that another one waits for.
  context_.arena->OnFree([weak = weak_from_this(), reactor = reactor_, shared = shared_] {
    shared->ClearMemoryTrouble();
    if (const auto self = weak.lock(); self && self->loans_.starved()) {
      reactor->Post([weak] {
        if (const auto pump = weak.lock()) pump->Pump();
      });
    }
  });
}

void SessionPump::Shutdown() {
  if (closed_) return;
  stand_in_.End();  // sessions share what is known of sizes
  closed_ = true;
  context_.arena->OnFree([] {});
  reactor_->CancelTimer(tick_);
  deadline_.Cancel();
  workers_.Clear();
  content_.reset();
  queue_.Restart(0);
  shared_->Close(Unavailable("the session is closed"));
}

Status SessionPump::Begin(const IterationOptions& iteration) {
  if (closed_) return Unavailable("the session is closed");
  queue_.CloseDelivered();
  HR_RETURN_IF_ERROR(planner_.Begin(iteration));
  queue_.Restart(iteration.first_batch);
  book_.Begin();
  requests_.Begin(iteration.base_seed);
  shared_->ChangeStats([](SessionStats& stats) { ++stats.iterations; });
  // A trainer that gives the processes has given new ones.
  if (!context_.gives_lanes && !iteration.continue_lanes) context_.lanes.Replace({});
  const bool python_lanes = HasPythonLanes(context_.plan);
  const bool states_travel = context_.compares() || !iteration.lane_states.empty();
  dispatcher_.SetLaneWindow(states_travel ? 1 : std::max(iteration.lane_window, 1));
  if (python_lanes && iteration.continue_lanes) {
    lanes_.GoOn();
  } else {
    lanes_.Begin(python_lanes ? std::span<const Bytes>(iteration.lane_states)
                              : std::span<const Bytes>());
    watch_.Begin(iteration.doubts != nullptr);
    CancelEarlier();
  }
  Pump();
  return Status::Ok();
}

void SessionPump::End() {
  if (closed_) return;
  queue_.CloseDelivered();
  book_.End();
  queue_.Restart(0);
  watch_.End();
  CancelEarlier();
}

void SessionPump::CancelEarlier() {
  queue_.CancelEarlier();
  for (const auto& [id, link] : workers_.links()) {
    if (link->state() == WorkerLink::State::kGone) continue;
    if (dispatcher_.Outstanding(id) || loans_.Owes(id)) {
      (void)link->Send(wire::CancelIterations{context_.session, IterationId(book_.iteration())});
    }
  }
}

void SessionPump::Submit(std::vector<std::int64_t> keys, std::int32_t lane, SteadyTime now,
                         Bytes index) {
  if (closed_) return;
  queue_.CloseDelivered();
  book_.Submitted(book_.Ticket(planner_.Submit(std::move(keys), lane)), now, std::move(index));
  Pump();
}

void SessionPump::SetLanes(std::vector<LaneProcesses::Lane> lanes) {
  if (closed_) return;
  context_.lanes.Replace(std::move(lanes));
  for (const auto& [id, link] : workers_.links()) link->GiveLanes();
}

Status SessionPump::ResolveSample(std::int64_t batch, std::int32_t position, ByteSpan state_after,
                                  bool failed) {
  HR_RETURN_IF_ERROR(planner_.Resolve(batch, position, state_after, failed));
  Pump();
  return Status::Ok();
}

Status SessionPump::ReplanLane(std::int64_t batch, ByteSpan state_after) {
  queue_.CloseDelivered();
  HR_TRY(const std::vector<std::int64_t> again, planner_.Replan(batch, state_after));
  const std::int64_t lane = batch % context_.plan.lanes;
  shared_->WithdrawNeeded(
      [&](std::int64_t other) { return other > batch && other % context_.plan.lanes == lane; });
  queue_.Replan(again);
  Pump();
  return Status::Ok();
}

void SessionPump::ReportBadSample(const BadSampleReport& report) {
  if (closed_) return;
  held_back_.Report(report);
  Pump();
}

Result<Withdrawal> SessionPump::Judge(std::uint64_t suspicion, bool equal) {
  HR_TRY(Withdrawal withdrawal, elsewhere_.Judge(suspicion, equal));
  Pump();
  return withdrawal;
}

std::int64_t SessionPump::Undecided() {
  queue_.CloseDelivered();
  return elsewhere_.Undecided() + watch_.Undecided();
}

Result<std::int64_t> SessionPump::MakeAgain(std::span<const std::int32_t> lanes) {
  if (closed_) return Unavailable("the session is closed");
  HR_TRY(const std::int64_t again, watch_.MakeAgain(lanes));
  Pump();
  return again;
}

Result<std::vector<std::uint64_t>> SessionPump::LaneDraws() {
  queue_.CloseDelivered();
  return planner_.LaneDraws();
}

void SessionPump::LaneStates(bool end, OnStates done) {
  if (!HasPythonLanes(context_.plan)) {
    done(Unsupported("the plan has no lanes in Python"));
    return;
  }
  lanes_.Ask(end, std::move(done));
  lanes_.Answer(book_.nothing_pending(), book_.nothing_earlier());
}

void SessionPump::Pump() {
  // Sending may end a link, which comes back here.
  if (closed_) return;
  if (pumping_) {
    pump_again_ = true;
    return;
  }
  pumping_ = true;
  for (pump_again_ = true; std::exchange(pump_again_, false);) PumpOnce();
  pumping_ = false;
  // The tick is exact enough for distant times.
  const auto deadline = dispatcher_.NextDeadline();
  const SteadyTime now = reactor_->clock().Now();
  if (deadline && *deadline <= now + WorkerLink::kTick) deadline_.Arm(*deadline, now);
}

void SessionPump::PumpOnce() {
  held_back_.Go();
  stand_in_.Go([this] { TakePlanned(); });
  TakePlanned();
  AskSizes();
  while (auto needed = planner_.TakeNeeded()) shared_->Need(std::move(*needed));
  bool starved = false;
  for (const Dispatcher::Send& send : dispatcher_.Poll(reactor_->clock().Now())) {
    const PlannedBatch* const planned = book_.Find(send.ticket);
    // It may have memory that others may not.
    const bool next = planned != nullptr && !send.ahead() && book_.Current(send.ticket) &&
                      shared_->Wants(planned->batch);
    const Status sent =
        starved && !next ? Unavailable("") : requests_.Send(send, answers_.checking(), next);
    if (!sent.ok() && !answers_.GivesUp(send, sent)) starved = true;
  }
  loans_.SetStarved(starved);
}

void SessionPump::TakePlanned() {
  while (const auto ticket = queue_.TakePlanned(served_since_, reactor_->clock().Now())) {
    watch_.Planned(*ticket);
  }
}

void SessionPump::AskSizes() {
  if (!size_requests_.Collect() || dispatcher_.ready_workers() == 0) return;
  size_requests_.Ask(workers_.AllReady(), reactor_->clock().Now(),
                     [this](WorkerId worker, const wire::Describe& describe) {
                       const Status sent = workers_.Find(worker)->Send(describe);
                       if (!sent.ok()) LogDebug("describe not sent: " + sent.ToString());
                     });
}

void SessionPump::Wake() {
  const SteadyTime now = reactor_->clock().Now();
  if (awake_ != SteadyTime() && now - awake_ >= kStoodStill) dispatcher_.StoodStill(now);
  awake_ = now;
}

void SessionPump::Tick() {
  Wake();
  size_requests_.AskLateAgain(reactor_->clock().Now());
  workers_.Tick(reactor_->clock().Now());
  CheckWorkers();
  JudgePaces(reactor_->clock().Now());
  Pump();
}

void SessionPump::SetLeases(const std::vector<wire::WorkerInfo>& workers) {
  if (closed_) return;
  workers_.SetLeases(workers, reactor_->clock().Now());
  for (const auto& [id, link] : workers_.links()) TellDispatcher(id);  // some were draining
  RemoveEnded();
  Pump();
}

WorkerFacts SessionPump::FactsOf(WorkerId worker) const {
  return {.ready = workers_.ready(worker),
          .leased = workers_.leased(worker),
          .may_serve = elsewhere_.MayServe(worker),
          .unfit = content_->unfit(worker),
          .resting = slow_.resting().contains(worker)};
}

std::map<WorkerId, WorkerFacts> SessionPump::Facts() const {
  std::map<WorkerId, WorkerFacts> facts;
  for (const auto& [id, link] : workers_.links()) facts[id] = FactsOf(id);
  return facts;
}

void SessionPump::JudgePaces(SteadyTime now) {
  // Whether it may rest depends on its peers being there.
  for (const auto& [id, rest] : slow_.resting()) TellDispatcher(id);
  if (!slow_.Due(now)) return;
  for (const auto& [id, pace] : dispatcher_.TakePaces()) slow_.Report(id, pace.made, pace.late);
  std::set<WorkerId> usable;
  for (const auto& [id, facts] : Facts()) {
    if (facts.usable()) usable.insert(id);
  }
  const std::map<WorkerId, SlowWorkers::Rest> before = slow_.resting();
  slow_.EndWindow(usable, now);
  for (const auto& [id, rest] : slow_.resting()) {
    if (before.contains(id)) continue;
    LogWarning("worker " + std::to_string(workers_.Outside(id).value) +
               " is given nothing for a while: " + rest.reason);
    TellDispatcher(id);
  }
  for (const auto& [id, rest] : before) {
    if (!slow_.resting().contains(id)) TellDispatcher(id);
  }
}

void SessionPump::TellDispatcher(WorkerId worker) {
  if (workers_.ready(worker)) dispatcher_.SetWorker(worker, StateOf(FactsOf(worker), Facts()));
}

void SessionPump::OnLinkState(WorkerId worker, WorkerLink::State state) {
  elsewhere_.OnState(worker, state);
  switch (state) {
    case WorkerLink::State::kReady:
      if (watch_.stays() && !workers_.Serves(worker)) {
        Later([](SessionPump& pump) { pump.watch_.LeaveElsewhere(); });
      }
      if (dispatcher_.ready_workers() == 0) served_since_ = reactor_->clock().Now();
      stand_in_.End();
      dispatcher_.SetWorker(worker, StateOf(FactsOf(worker), Facts()));
      if (context_.compares() && workers_.Serves(worker)) dispatcher_.SetLanes(worker);
      shared_->SetTrouble(Status::Ok());
      break;
    case WorkerLink::State::kAttaching:
    case WorkerLink::State::kSuspected:
      dispatcher_.SetWorker(worker, Dispatcher::WorkerState::kSuspected);
      loans_.Quarantine(worker);
      size_requests_.Lose(worker);
      break;
    case WorkerLink::State::kGone:
      EndWorker(worker);
      Later([](SessionPump& pump) { pump.RemoveEnded(); });  // not here: the link is on the stack
      break;
  }
  Later([](SessionPump& pump) { pump.Pump(); });  // not here: a new link is not in the set yet
}

void SessionPump::OnMessage(WorkerId worker, net::Incoming&& incoming) {
  if (closed_) return;
  Wake();
  if (const auto* described = std::get_if<wire::Described>(&incoming.body)) {
    if (!size_requests_.OnDescribed(worker, *described)) Forgotten(worker);
    Pump();
  } else if (auto* done = std::get_if<wire::BatchDone>(&incoming.body)) {
    answers_.OnDone(worker, std::move(*done), incoming.payload);
  }
}

void SessionPump::OnSettled(WorkerId worker, bool knows_session) {
  if (!knows_session) Forgotten(worker);
  if (!workers_.leased(worker)) Later([](SessionPump& pump) { pump.RemoveEnded(); });
  Pump();
}

// The worker answers no earlier request.
void SessionPump::Forgotten(WorkerId worker, Dispatcher::Answer why) {
  WorkerLink* link = workers_.Find(worker);
  if (link == nullptr || link->state() == WorkerLink::State::kAttaching) return;
  link->Reattach();
  loans_.Forget(worker, [&](std::uint32_t attempt, const Loan& loan) {
    (void)dispatcher_.OnAnswer(worker, attempt, why, 0, reactor_->clock().Now());
    if (loan.shadow) comparisons_.LoseShadow(attempt);
  });
}

// This worker sends nothing and writes nowhere any more.
void SessionPump::EndWorker(WorkerId worker) {
  dispatcher_.SetWorker(worker, Dispatcher::WorkerState::kGone);
  comparisons_.Gone(worker);
  loans_.End(worker, [this](std::uint32_t attempt, const Loan& loan) {
    if (loan.shadow) comparisons_.LoseShadow(attempt);
  });
  size_requests_.Lose(worker);
}

void SessionPump::RemoveEnded() {
  // A drained worker that shares the arena still owes answers to what was cancelled: it may write.
  workers_.RemoveEnded(
      dispatcher_.ready_workers() > 0,
      [this](WorkerId worker) { return dispatcher_.Outstanding(worker) || loans_.Writes(worker); },
      [this](WorkerId worker) { EndWorker(worker); });
  CheckWorkers();
}

void SessionPump::CheckWorkers() {
  WithoutWorkers::Decision decision =
      without_workers_.Check(workers_, dispatcher_.ready_workers(), reactor_->clock().Now());
  if (!decision.say.empty()) LogWarning(decision.say);
  if (!decision.error.ok()) shared_->SetTrouble(std::move(decision.error));
  stand_in_.Set(decision.trainer_makes);
}

wire::SessionLoad SessionPump::Load() {
  SessionStats stats = shared_->GrowingStats(reactor_->clock());
  AddArena(context_.arena->counts(), stats);
  return LoadOf(context_.session, stats,
                {.outstanding_bytes = dispatcher_.outstanding_bytes(),
                 .ready_batches = shared_->ready(),
                 .window_batches = window_});
}

}  // namespace headrace::client
