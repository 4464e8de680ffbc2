#include "trainer_client/session/session_pump.h"

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

SessionPump::SessionPump(std::shared_ptr<net::Reactor> reactor, Setup setup,
                         std::shared_ptr<BatchMailbox> shared)
    : reactor_(std::move(reactor)),
      context_(std::move(setup.context)),
      options_(setup.options),
      output_(setup.output),
      worker_timeout_(setup.worker_timeout),
      reference_patience_(setup.reference_patience),
      no_worker_remedy_(std::move(setup.no_worker_remedy)),
      shared_(std::move(shared)),
      planner_(setup.planner),
      dispatcher_(DispatcherOptions(context_.plan, setup.resend_floor)),
      compares_(context_.gives_lanes && context_.plan.has_python_stage &&
                context_.plan.python.bundle.valid()),
      comparisons_({.compare_every = options_.compare_every}),
      content_(std::make_unique<ContentCheck>(reactor_, context_.plan, *context_.blobs,
                                              setup.planner.row_map)) {}

SessionPump::~SessionPump() = default;

void SessionPump::Start() {
  no_worker_since_ = started_ = reactor_->clock().Now();
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

void SessionPump::Shutdown() {
  if (closed_) return;
  closed_ = true;
  context_.arena->OnFree([] {});
  reactor_->CancelTimer(tick_);
  if (deadline_timer_ != 0) reactor_->CancelTimer(deadline_timer_);
  links_.clear();
  leased_.clear();
  content_.reset();
  shared_->Restart(0, [this](ReadyBatch&& ready) { DropReady(std::move(ready)); });
  shared_->Close(Unavailable("the session is closed"));
}

Status SessionPump::Begin(const IterationOptions& iteration) {
  if (closed_) return Unavailable("the session is closed");
  CloseDelivered();
  HR_RETURN_IF_ERROR(planner_.Begin(iteration));
  shared_->Restart(iteration.first_batch,
                   [this](ReadyBatch&& ready) { DropReady(std::move(ready)); });
  ++iteration_;
  timelines_.clear();
  kept_.clear();
  for (auto& [worker, consumed] : consumed_) consumed.batches.clear();
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
  BeginHistory();
  CancelOlder();
  Pump();
  return Status::Ok();
}

void SessionPump::End() {
  if (closed_) return;
  CloseDelivered();
  ++iteration_;
  shared_->Restart(0, [this](ReadyBatch&& ready) { DropReady(std::move(ready)); });
  timelines_.clear();
  kept_.clear();
  replaying_.clear();
  CancelOlder();
}

// Batches of iterations before this one.
void SessionPump::CancelOlder() {
  dispatcher_.RemoveBefore(Ticket(0));
  dispatcher_.ForgetLanes();
  comparisons_.LoseBatchesBefore(Ticket(0));
  planned_.clear();
  indices_.clear();
  for (const auto& [id, link] : links_) {
    const bool asked =
        dispatcher_.Outstanding(id) ||
        std::ranges::any_of(lent_, [&](const auto& lent) { return lent.second.worker == id; });
    if (link->state() != WorkerLink::State::kGone && asked) {
      (void)link->Send(wire::CancelIterations{context_.session, IterationId(iteration_)});
    }
  }
}

void SessionPump::Skip(std::span<const std::int64_t> keys) { planner_.Skip(keys); }

void SessionPump::Submit(std::vector<std::int64_t> keys, std::int32_t lane, SteadyTime now,
                         Bytes index) {
  if (closed_) return;
  CloseDelivered();
  const std::int64_t ticket = Ticket(planner_.Submit(std::move(keys), lane));
  timelines_[ticket].submitted = now;
  if (!index.empty()) indices_[ticket] = std::move(index);
  Pump();
}

void SessionPump::SetLanes(std::vector<LaneProcesses::Lane> lanes) {
  if (closed_) return;
  context_.lanes.Replace(std::move(lanes));
  for (const auto& [id, link] : links_) link->GiveLanes();
}

Status SessionPump::ResolveSample(std::int64_t batch, std::int32_t position, ByteSpan state_after,
                                  bool failed) {
  HR_RETURN_IF_ERROR(planner_.Resolve(batch, position, state_after, failed));
  Pump();
  return Status::Ok();
}

Status SessionPump::ReplanLane(std::int64_t batch, ByteSpan state_after) {
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

Result<std::vector<std::uint64_t>> SessionPump::LaneDraws() {
  CloseDelivered();
  return planner_.LaneDraws();
}

void SessionPump::CloseDelivered() {
  for (const std::int64_t batch : shared_->TakeDelivered()) {
    planner_.Delivered(batch);
    const auto node = kept_.extract(Ticket(batch));
    if (node.empty()) continue;
    Withdrawal& consumed = consumed_[node.mapped().worker];
    ++consumed.consumed;
    consumed.batches.push_back(batch);
  }
}

void SessionPump::DropReady(ReadyBatch&& ready) {
  if (ready.slot.valid()) context_.arena->Return(ready.slot);
}

void SessionPump::Later(void (SessionPump::*task)()) {
  reactor_->Post([weak = weak_from_this(), task] {
    if (const auto self = weak.lock(); self && !self->closed_) ((*self).*task)();
  });
}

void SessionPump::Pump() {
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

void SessionPump::PumpOnce() {
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

void SessionPump::TakePlanned() {
  while (auto planned = planner_.Next()) {
    const std::int64_t ticket = Ticket(planned->batch);
    const std::uint64_t bytes = EstimateBytes(*planned);
    BatchTimeline& timeline = timelines_[ticket];
    timeline.served = served_since_;
    timeline.planned = reactor_->clock().Now();
    const PlannedBatch& kept = planned_[ticket] = std::move(*planned);
    if (Records()) {
      const auto index = indices_.find(ticket);
      history_.Add(ticket, kept, index == indices_.end() ? Bytes() : index->second);
    }
    dispatcher_.Add(ticket, bytes, kept.keys, kept.lane);
  }
}

std::uint64_t SessionPump::EstimateBytes(const PlannedBatch& planned) const {
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
std::optional<Slot> SessionPump::AcquireSlot(std::uint64_t bytes) {
  Arena& arena = *context_.arena;
  for (;;) {
    const std::uint64_t frees = arena.frees();
    Result<Slot> slot = arena.Acquire(bytes);
    if (slot.ok()) return *slot;
    starved_ = true;  // from here on a slot that gets free pumps
    // Others in flight, or a batch that the trainer may take, free slots in time.
    const bool others =
        std::ranges::any_of(lent_, [](const auto& lent) { return !lent.second.forgotten; });
    if (others || checking_ > 0 || shared_->HasNext()) return std::nullopt;
    // Later batches that wait for this one free none; otherwise only the trainer can help.
    if (arena.counts().ready > 0) slot = arena.Acquire(bytes, true);
    if (slot.ok()) return *slot;
    const auto mended = [&] { return arena.frees() != frees; };
    if (shared_->SetMemoryTrouble(slot.status(), mended)) return std::nullopt;
  }
}

bool SessionPump::Dispatch(const Dispatcher::Send& send) {
  const std::optional<Slot> slot = AcquireSlot(send.slot_bytes);
  if (!slot) return false;
  const auto link = links_.find(send.worker);
  const auto planned = planned_.find(send.ticket);
  Status sent = Internal("no link or no plan for a send");
  std::vector<std::int32_t> witness;
  if (link != links_.end() && planned != planned_.end()) {
    wire::BatchRequest request = MakeRequest(planned->second, send, *slot);
    content_->Ask(send.worker, request);
    witness = request.witness;
    sent = link->second->Send(request);
  }
  if (!sent.ok()) {
    LogDebug("batch not sent error=\"" + sent.ToString() + "\"");
    context_.arena->Return(slot->id);
    return false;
  }
  lent_.emplace(send.attempt, Lent{*slot, send.worker, send.ticket, link->second->uses_arena(),
                                   reactor_->clock().Now(), false, false, std::move(witness)});
  NoteAsked(send.worker, send.ticket);
  SendShadows(send);
  return true;
}

wire::BatchRequest SessionPump::MakeRequest(const PlannedBatch& planned,
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
  request.sizes = planned.sizes;
  request.slot = slot.id;
  request.slot_offset = slot.offset;
  request.slot_bytes = slot.bytes;
  if (context_.plan.has_python_stage) {
    request.lane = LaneId(planned.lane);
    request.base_seed = base_seed_;
    if (const auto state = lane_states_.find(planned.lane); state != lane_states_.end()) {
      request.lane_state = state->second;
    }
    if (const auto index = indices_.find(send.ticket); index != indices_.end()) {
      request.index = index->second;
    }
    if (links_.at(send.worker)->given_lanes()) request.lane_set = context_.lanes.set();
  }
  return request;
}

void SessionPump::ArmTimer() {
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

BatchTimeline SessionPump::TakeTimeline(std::int64_t ticket) {
  const auto node = timelines_.extract(ticket);
  BatchTimeline timeline = node.empty() ? BatchTimeline() : node.mapped();
  timeline.ready = reactor_->clock().Now();
  return timeline;
}

wire::SessionLoad SessionPump::Load() {
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
          .source_bytes = stats.source_bytes,
          .compared = stats.compared,
          .differed = stats.differed};
}

}  // namespace headrace::client
