#include "trainer_client/session_core.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace headrace::client {
namespace {

Dispatcher::Options DispatcherOptions(const Plan& plan, Duration resend_floor) {
  Dispatcher::Options options;
  // Stage hosts start slowly and run user code: a second try costs more than it saves.
  options.resend_floor = resend_floor;
  options.hedge = !plan.has_python_stage;
  // And the code of one batch must not run twice while its worker lives.
  options.resend_elsewhere = !plan.has_python_stage;
  options.lanes_in_order = plan.has_python_stage && plan.rng == RngMode::kTorch;
  // What they keep cannot travel: another worker has to run them from their beginning.
  options.lanes_stay = plan.has_python_stage && plan.python.replayed;
  return options;
}

}  // namespace

SessionCore::SessionCore(std::shared_ptr<net::Reactor> reactor, Setup setup,
                         std::shared_ptr<SessionShared> shared)
    : reactor_(std::move(reactor)),
      context_(std::move(setup.context)),
      options_(setup.options),
      output_(setup.output),
      worker_timeout_(setup.worker_timeout),
      no_worker_remedy_(std::move(setup.no_worker_remedy)),
      shared_(std::move(shared)),
      planner_(std::move(setup.planner)),
      dispatcher_(DispatcherOptions(context_.plan, setup.resend_floor)) {}

SessionCore::~SessionCore() = default;

void SessionCore::Start() {
  no_worker_since_ = reactor_->clock().Now();
  tick_ = reactor_->AddTimer(WorkerLink::kTick, [this] { Tick(); });
  // A batch that the program drops may be the slot that another one waits for.
  context_.arena->OnFree([weak = weak_from_this(), reactor = reactor_, shared = shared_] {
    shared->ClearMemoryTrouble();
    if (const auto self = weak.lock(); self && self->starved_) {
      reactor->Post([weak] {
        if (const auto core = weak.lock()) core->Pump();
      });
    }
  });
}

void SessionCore::Shutdown() {
  if (closed_) return;
  closed_ = true;
  context_.arena->OnFree([] {});
  reactor_->CancelTimer(tick_);
  if (deadline_timer_ != 0) reactor_->CancelTimer(deadline_timer_);
  links_.clear();
  leased_.clear();
  shared_->Restart(0, [this](ReadyBatch&& ready) { DropReady(std::move(ready)); });
  shared_->Close(Unavailable("the session is closed"));
}

Status SessionCore::Begin(const IterationOptions& iteration) {
  if (closed_) return Unavailable("the session is closed");
  HR_RETURN_IF_ERROR(planner_.Begin(iteration));
  shared_->Restart(iteration.first_batch,
                   [this](ReadyBatch&& ready) { DropReady(std::move(ready)); });
  ++iteration_;
  timelines_.clear();
  base_seed_ = iteration.base_seed;
  shared_->ChangeStats([](SessionStats& stats) { ++stats.iterations; });
  if (PythonLanes() && iteration.continue_lanes) {
    // The lanes' states are behind what was submitted: it is made, and dropped.
    begin_states_ = lane_states_;
    Pump();
    return Status::Ok();
  }
  lane_states_.clear();
  for (std::size_t lane = 0; PythonLanes() && lane < iteration.lane_states.size(); ++lane) {
    const Bytes& state = iteration.lane_states[lane];
    if (!state.empty()) lane_states_[static_cast<std::int32_t>(lane)] = state;
  }
  begin_states_ = lane_states_;
  dispatcher_.RemoveBefore(Ticket(0));
  dispatcher_.ForgetLanes();
  planned_.clear();
  for (const auto& [id, link] : links_) {
    if (link->state() != WorkerLink::State::kGone && dispatcher_.Outstanding(id)) {
      (void)link->Send(wire::CancelIterations{context_.session, IterationId(iteration_)});
    }
  }
  Pump();
  return Status::Ok();
}

void SessionCore::Skip(std::span<const std::int64_t> keys) { planner_.Skip(keys); }

void SessionCore::Submit(std::vector<std::int64_t> keys, std::int32_t lane, SteadyTime now) {
  if (closed_) return;
  CloseDelivered();
  timelines_[Ticket(planner_.Submit(std::move(keys), lane))].submitted = now;
  Pump();
}

Status SessionCore::ResolveSample(std::int64_t batch, std::int32_t position, ByteSpan state_after,
                                  bool failed) {
  HR_RETURN_IF_ERROR(planner_.Resolve(batch, position, state_after, failed));
  Pump();
  return Status::Ok();
}

Status SessionCore::ReplanLane(std::int64_t batch, ByteSpan state_after) {
  CloseDelivered();
  HR_TRY(const std::vector<std::int64_t> again, planner_.Replan(batch, state_after));
  const std::int64_t lane = batch % context_.plan.lanes;
  shared_->WithdrawNeeded(
      [&](std::int64_t other) { return other > batch && other % context_.plan.lanes == lane; });
  for (const std::int64_t number : again) {
    dispatcher_.Remove(Ticket(number));  // late answers are dropped, their slots freed
    planned_.erase(Ticket(number));
    if (auto ready = shared_->Withdraw(number)) DropReady(std::move(*ready));
  }
  Pump();
  return Status::Ok();
}

Result<std::vector<std::uint64_t>> SessionCore::LaneDraws() {
  CloseDelivered();
  return planner_.LaneDraws();
}

void SessionCore::LaneStates(bool end, OnStates done) {
  if (!PythonLanes()) {
    done(Unsupported("the plan has no lanes in Python"));
    return;
  }
  asked_states_.push_back({end, std::move(done)});
  AnswerStates();
}

void SessionCore::AnswerStates() {
  const bool old_ones = !planned_.empty() && !Current(planned_.begin()->first);
  std::erase_if(asked_states_, [&](const Asked& asked) {
    if (asked.end ? !planned_.empty() : old_ones) return false;
    std::vector<Bytes> states(static_cast<std::size_t>(context_.plan.lanes));
    for (const auto& [lane, state] : asked.end ? lane_states_ : begin_states_) {
      if (static_cast<std::size_t>(lane) < states.size()) {
        states[static_cast<std::size_t>(lane)] = state;
      }
    }
    asked.done(std::move(states));
    return true;
  });
}

void SessionCore::CloseDelivered() {
  for (const std::int64_t batch : shared_->TakeDelivered()) planner_.Delivered(batch);
}

void SessionCore::DropReady(ReadyBatch&& ready) {
  if (ready.slot.valid()) context_.arena->Return(ready.slot);
}

void SessionCore::Later(void (SessionCore::*task)()) {
  reactor_->Post([weak = weak_from_this(), task] {
    if (const auto self = weak.lock(); self && !self->closed_) ((*self).*task)();
  });
}

void SessionCore::Pump() {
  // Sending may end a link, which comes back here.
  if (closed_) return;
  if (pumping_) {
    pump_again_ = true;
    return;
  }
  pumping_ = true;
  do {
    pump_again_ = false;
    PumpOnce();
  } while (pump_again_);
  pumping_ = false;
  ArmTimer();
}

void SessionCore::PumpOnce() {
  TakePlanned();
  DescribeUnknown();
  while (auto needed = planner_.TakeNeeded()) shared_->Need(std::move(*needed));
  bool starved = false;
  for (const Dispatcher::Send& send : dispatcher_.Poll(reactor_->clock().Now())) {
    if (!starved) starved = !Dispatch(send);
    if (starved) dispatcher_.Unsent(send.attempt);
  }
  if (starved_ && !starved) shared_->SetTrouble(Status::Ok());
  starved_ = starved;
}

void SessionCore::TakePlanned() {
  while (auto planned = planner_.Next()) {
    const std::int64_t ticket = Ticket(planned->batch);
    const std::uint64_t bytes = EstimateBytes(*planned);
    BatchTimeline& timeline = timelines_[ticket];
    timeline.served = served_since_;
    timeline.planned = reactor_->clock().Now();
    const PlannedBatch& kept = planned_[ticket] = std::move(*planned);
    dispatcher_.Add(ticket, bytes, kept.keys, kept.lane);
  }
}

std::uint64_t SessionCore::EstimateBytes(const PlannedBatch& planned) const {
  const std::size_t samples = planned.keys.size();
  const auto learnt =
      static_cast<std::uint64_t>(bytes_per_sample_ * static_cast<double>(samples)) + 4096;
  if (context_.plan.has_python_stage) {
    return bytes_per_sample_ > 0 ? learnt : options_.slot_bytes_hint;
  }
  const ops::ImageSpec& output = planned.output.height > 0 ? planned.output : output_;
  const std::uint64_t known = BatchBytes(context_.plan, samples, output);
  if (bytes_per_sample_ > 0) return std::max(known, learnt);
  return output.height > 0 || context_.plan.chain.empty()
             ? known
             : std::max(known, options_.slot_bytes_hint);
}

// Nothing: memory is missing, and where only the trainer can help Next says so.
std::optional<Slot> SessionCore::AcquireSlot(std::uint64_t bytes) {
  Arena& arena = *context_.arena;
  for (;;) {
    const std::uint64_t frees = arena.frees();
    Result<Slot> slot = arena.Acquire(bytes);
    if (slot.ok()) return *slot;
    starved_ = true;  // from here on a slot that gets free pumps
    // Others in flight, or a batch that the trainer may take, free slots in time.
    const bool others =
        std::ranges::any_of(lent_, [](const auto& lent) { return !lent.second.forgotten; });
    if (others || shared_->HasNext()) return std::nullopt;
    // Later batches that wait for this one free none; otherwise only the trainer can help.
    if (arena.counts().ready > 0) slot = arena.Acquire(bytes, true);
    if (slot.ok()) return *slot;
    const auto mended = [&] { return arena.frees() != frees; };
    if (shared_->SetMemoryTrouble(slot.status(), mended)) return std::nullopt;
  }
}

bool SessionCore::Dispatch(const Dispatcher::Send& send) {
  const std::optional<Slot> slot = AcquireSlot(send.slot_bytes);
  if (!slot) return false;
  const auto link = links_.find(send.worker);
  const auto planned = planned_.find(send.ticket);
  Status sent = Internal("no link or no plan for a send");
  if (link != links_.end() && planned != planned_.end()) {
    sent = link->second->Send(MakeRequest(planned->second, send, *slot));
  }
  if (!sent.ok()) {
    LogDebug("batch not sent error=\"" + sent.ToString() + "\"");
    context_.arena->Return(slot->id);
    return false;
  }
  lent_.emplace(send.attempt, Lent{*slot, send.worker, send.ticket, link->second->uses_arena(),
                                   reactor_->clock().Now()});
  return true;
}

wire::BatchRequest SessionCore::MakeRequest(const PlannedBatch& planned,
                                            const Dispatcher::Send& send, const Slot& slot) const {
  wire::BatchRequest request;
  request.session = context_.session;
  request.iteration = IterationId(send.ticket >> kBatchBits);
  request.batch = BatchId(planned.batch);
  request.attempt = send.attempt;
  request.keys = planned.keys;
  request.params = planned.params;
  request.seeds = planned.seeds;
  request.skip = planned.skip;
  request.slot = slot.id;
  request.slot_offset = slot.offset;
  request.slot_bytes = slot.bytes;
  if (context_.plan.has_python_stage) {
    request.lane = LaneId(planned.lane);
    request.base_seed = base_seed_;
    if (const auto state = lane_states_.find(planned.lane); state != lane_states_.end()) {
      request.lane_state = state->second;
    }
  }
  return request;
}

void SessionCore::ArmTimer() {
  const auto deadline = dispatcher_.NextDeadline();
  // The tick is exact enough for what is far away.
  const SteadyTime now = reactor_->clock().Now();
  if (!deadline || *deadline > now + WorkerLink::kTick) return;
  if (deadline_timer_ != 0) {
    if (deadline_ <= *deadline) return;
    reactor_->CancelTimer(deadline_timer_);
  }
  deadline_ = *deadline;
  deadline_timer_ =
      reactor_->AddOnce(std::max<Duration>(*deadline - now, std::chrono::milliseconds(1)), [this] {
        deadline_timer_ = 0;
        Pump();
      });
}

// Why none of the workers can run the plan; ok while one of them may.
Status SessionCore::AllRefuse() const {
  if (leased_.empty()) return Status::Ok();
  std::string message;
  for (const auto& [id, worker] : leased_) {
    const auto refused = refused_.find(id);
    if (refused == refused_.end()) return Status::Ok();
    // Said of the plan, whoever tried it.
    if (refused->second.code() == Code::kInfeasible) return refused->second;
    message += (message.empty() ? "worker " : "; worker ") + std::to_string(id.value) + " on " +
               worker.host.hostname + ": " + refused->second.message();
  }
  return {refused_.begin()->second.code(), message};
}

void SessionCore::CheckWorkers() {
  const SteadyTime now = reactor_->clock().Now();
  if (dispatcher_.ready_workers() > 0) {
    no_worker_since_ = now;
    return;
  }
  if (Status refusal = AllRefuse(); !refusal.ok()) {
    shared_->SetTrouble(std::move(refusal));
    return;
  }
  if (std::ranges::any_of(links_, [](const auto& entry) { return entry.second->loading(); })) {
    no_worker_since_ = now;
  }
  if (now - no_worker_since_ < worker_timeout_) return;
  std::string message = leased_.empty() ? "no data worker serves this job"
                                        : "no data worker of this job can be reached";
  if (!last_refusal_.ok()) message += " (" + last_refusal_.ToString() + ")";
  shared_->SetTrouble(Unavailable(message + "; " + no_worker_remedy_));
}

BatchTimeline SessionCore::TakeTimeline(std::int64_t ticket) {
  const auto node = timelines_.extract(ticket);
  BatchTimeline timeline = node.empty() ? BatchTimeline() : node.mapped();
  timeline.ready = reactor_->clock().Now();
  return timeline;
}

wire::SessionLoad SessionCore::Load() {
  const SessionStats stats = shared_->GrowingStats(reactor_->clock());
  return {.session = context_.session,
          .batches = stats.batches,
          .samples = stats.samples,
          .stall_ns = stats.stall_ns,
          .step_ns = stats.step_ns,
          .outstanding_bytes = dispatcher_.outstanding_bytes(),
          .wait_sampler_ns = stats.wait.sampler_ns,
          .wait_source_ns = stats.wait.source_ns,
          .wait_compute_ns = stats.wait.compute_ns,
          .wait_python_ns = stats.wait.python_ns,
          .wait_queue_ns = stats.wait.queue_ns,
          .wait_network_ns = stats.wait.network_ns,
          .wait_copy_ns = stats.wait.copy_ns,
          .idle_ns = stats.idle_ns,
          .idle_known = stats.idle_known,
          .hit_samples = stats.hit_samples,
          .miss_samples = stats.miss_samples,
          .hit_cpu_ns = stats.hit_cpu_ns,
          .miss_cpu_ns = stats.miss_cpu_ns,
          .source_bytes = stats.source_bytes};
}

}  // namespace headrace::client
