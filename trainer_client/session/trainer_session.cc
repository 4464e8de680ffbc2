#include "trainer_client/session/trainer_session.h"

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "trainer_client/session/session_load.h"

namespace headrace::client {

Status Runtime::Check() const {
  if (pid != ::getpid()) {
    return Unavailable(
        "this process was forked from the one that opened the client; open a new one");
  }
  if (stopped) return Unavailable("the client is closed");
  return Status::Ok();
}

void Runtime::Starves() {
  // One thread looks after the servers, which may take seconds. Others go on waiting for batches.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock() && on_starving_) on_starving_();
}

void Runtime::SetOnStarving(std::function<void()> on_starving) {
  const std::scoped_lock lock(mutex_);
  on_starving_ = std::move(on_starving);
}

}  // namespace headrace::client

namespace headrace {

using client::Call;

namespace {

constexpr std::chrono::milliseconds kPatience{30'000};
// Nothing within so long: the servers are looked after. A program waits in longer slices.
constexpr std::chrono::milliseconds kLongWait{50};
// Nobody trains on so many: a larger number is none.
constexpr std::int64_t kMostSamples = std::int64_t{1} << 60;

}  // namespace

template <typename Task>
Status TrainerSession::CallStatus(Task task) const {
  HR_RETURN_IF_ERROR(runtime_->Check());
  auto status = Call<Status>(*runtime_, std::nullopt,
                             [task = std::move(task)](const auto& reply) { reply(task()); });
  return status ? *std::move(status) : Unavailable("the client is closed");
}

TrainerSession::~TrainerSession() {
  if (!runtime_->Check().ok()) return;
  runtime_->reactor->Post([client = client_, id = id_] { client->CloseSession(id); });
}

Status TrainerSession::Begin(const IterationOptions& options) {
  if (options.first_batch < 0) return InvalidArgument("first_batch is negative");
  if (!options.continue_lanes) shared_->TellOf(options.doubts);
  HR_RETURN_IF_ERROR(CallStatus([core = core_, options] { return core->Begin(options); }));
  next_batch_ = options.first_batch;
  outstanding_ = 0;
  begun_ = true;
  return Status::Ok();
}

void TrainerSession::End() {
  if (!runtime_->Check().ok()) return;
  // Nobody waits for it: what comes next is done after it.
  runtime_->reactor->Post([core = core_] { core->End(); });
  outstanding_ = 0;
  begun_ = false;
}

Status TrainerSession::Skip(std::span<const std::int64_t> keys) {
  HR_RETURN_IF_ERROR(runtime_->Check());
  runtime_->reactor->Post(
      [core = core_, copy = std::vector(keys.begin(), keys.end())] { core->Skip(copy); });
  return Status::Ok();
}

Status TrainerSession::SetLanes(std::span<const LaneProcess> lanes) {
  if (!options_.gives_lanes) return InvalidArgument("the session was not opened to give lanes");
  if (lanes.size() != static_cast<std::size_t>(core_->plan().lanes)) {
    return InvalidArgument(std::to_string(lanes.size()) + " processes for " +
                           std::to_string(core_->plan().lanes) + " lanes");
  }
  std::vector<client::LaneProcesses::Lane> copies;
  for (const LaneProcess& lane : lanes) {
    UniqueFd control(::fcntl(lane.control, F_DUPFD_CLOEXEC, 0));
    if (!control.valid()) return InvalidArgument("a lane's control socket can't be copied");
    copies.push_back({.control = std::move(control), .pid = lane.pid});
  }
  // std::function needs copies, so the value moves through one shared box.
  auto box = std::make_shared<std::vector<client::LaneProcesses::Lane>>(std::move(copies));
  HR_RETURN_IF_ERROR(runtime_->Check());
  runtime_->reactor->Post([core = core_, box] { core->SetLanes(std::move(*box)); });
  return Status::Ok();
}

Result<std::int64_t> TrainerSession::Submit(std::span<const std::int64_t> keys, std::int32_t lane,
                                            ByteSpan index) {
  HR_RETURN_IF_ERROR(runtime_->Check());
  if (!begun_) return InvalidArgument("no iteration was begun");
  if (keys.empty()) return InvalidArgument("a batch of no keys");
  const Plan& plan = core_->plan();
  if (!plan.has_python_stage && !index.empty()) return InvalidArgument("an index in a native plan");
  if (lane >= 0) {
    if (!plan.has_python_stage) return InvalidArgument("a native plan chooses the lane itself");
    if (lane >= plan.lanes) {
      return InvalidArgument("lane " + std::to_string(lane) + " of " + std::to_string(plan.lanes));
    }
  }
  if (outstanding_ >= options_.max_outstanding) {
    return InvalidArgument(
        std::to_string(outstanding_) +
        " batches are outstanding already: as many as the session was opened for");
  }
  ++outstanding_;
  runtime_->reactor->Post([core = core_, copy = std::vector(keys.begin(), keys.end()), lane,
                           index = CopyBytes(index),
                           now = runtime_->reactor->clock().Now()]() mutable {
    core->Submit(std::move(copy), lane, now, std::move(index));
  });
  return next_batch_++;
}

Result<Event> TrainerSession::Next(std::chrono::milliseconds timeout) {
  HR_RETURN_IF_ERROR(runtime_->Check());
  Result<client::BatchMailbox::Taken> next = shared_->Next(timeout, runtime_->reactor->clock());
  if (!next.ok()) {
    Status why = next.status();
    if (why.code() == Code::kDeadlineExceeded && timeout >= kLongWait) runtime_->Starves();
    return why;
  }
  client::BatchMailbox::Taken taken = std::move(next).value();
  Event event;
  event.sample = std::move(taken.sample);
  event.suspicion = std::move(taken.suspicion);
  event.change = std::move(taken.change);
  event.doubt = taken.doubt;
  if (taken.batch) {
    --outstanding_;
    event.batch = std::move(taken.batch->batch);
    if (taken.batch->slot.valid()) {
      event.batch->hold = arena_->Hold(taken.batch->slot);
      event.batch->copy_advised = arena_->counts().held > kSpareSlots;
    }
  }
  return event;
}

Result<Withdrawal> TrainerSession::Judge(std::uint64_t suspicion, bool equal) {
  HR_RETURN_IF_ERROR(runtime_->Check());
  auto judged = Call<Result<Withdrawal>>(*runtime_, std::nullopt,
                                         [core = core_, suspicion, equal](const auto& reply) {
                                           reply(core->Judge(suspicion, equal));
                                         });
  return judged ? *std::move(judged) : Result<Withdrawal>(Unavailable("the client is closed"));
}

void TrainerSession::LearnNames(ByteSpan pickle) {
  if (!runtime_->Check().ok()) return;
  (void)CallStatus([core = core_, pickle]() -> Status {
    core->LearnNames(pickle);
    return {};
  });
}
std::int64_t TrainerSession::Undecided() {
  if (!runtime_->Check().ok()) return 0;
  const auto count = Call<std::int64_t>(
      *runtime_, std::nullopt, [core = core_](const auto& reply) { reply(core->Undecided()); });
  return count.value_or(0);
}

Result<std::int64_t> TrainerSession::MakeAgain(std::span<const std::int32_t> lanes) {
  HR_RETURN_IF_ERROR(runtime_->Check());
  auto again =
      Call<Result<std::int64_t>>(*runtime_, std::nullopt,
                                 [core = core_, copy = std::vector(lanes.begin(), lanes.end())](
                                     const auto& reply) { reply(core->MakeAgain(copy)); });
  return again ? *std::move(again) : Result<std::int64_t>(Unavailable("the client is closed"));
}

Status TrainerSession::AwaitServed(std::chrono::milliseconds timeout) {
  HR_RETURN_IF_ERROR(runtime_->Check());
  return shared_->AwaitServed(timeout, runtime_->reactor->clock());
}

Status TrainerSession::ResolveSample(std::int64_t batch, std::int32_t position,
                                     ByteSpan state_after, bool failed) {
  return CallStatus([core = core_, batch, position, state = CopyBytes(state_after), failed] {
    return core->ResolveSample(batch, position, state, failed);
  });
}

Status TrainerSession::ReplanLane(std::int64_t batch, ByteSpan state_after) {
  return CallStatus([core = core_, batch, state = CopyBytes(state_after)] {
    return core->ReplanLane(batch, state);
  });
}

Status TrainerSession::ReportBadSample(const BadSampleReport& report) {
  return CallStatus([core = core_, report] {
    core->ReportBadSample(report);
    return Status::Ok();
  });
}

Result<std::vector<std::uint64_t>> TrainerSession::LaneDraws() const {
  HR_RETURN_IF_ERROR(runtime_->Check());
  using Draws = Result<std::vector<std::uint64_t>>;
  auto draws = Call<Draws>(*runtime_, std::nullopt,
                           [core = core_](const auto& reply) { reply(core->LaneDraws()); });
  return draws ? *std::move(draws) : Draws(Unavailable("the client is closed"));
}

Result<std::vector<Bytes>> TrainerSession::LaneStates(bool end) const {
  HR_RETURN_IF_ERROR(runtime_->Check());
  using States = Result<std::vector<Bytes>>;
  auto states = Call<States>(*runtime_, kPatience, [core = core_, end](const auto& reply) {
    core->LaneStates(end, reply);
  });
  return states ? *std::move(states)
                : States(Unavailable("no worker finished the batches of the iteration before"));
}

SessionStats TrainerSession::Stats() const {
  // In a forked child the mutex may be locked for ever.
  if (forked()) return {};
  SessionStats stats = shared_->Stats(runtime_->reactor->clock());
  client::AddArena(arena_->counts(), stats);
  return stats;
}

void TrainerSession::EnterNext() {
  if (!forked()) shared_->EnterNext(runtime_->reactor->clock());
}
void TrainerSession::LeaveNext() {
  if (!forked()) shared_->LeaveNext(runtime_->reactor->clock());
}
void TrainerSession::EnterSampler() {
  if (!forked()) shared_->EnterSampler(runtime_->reactor->clock());
}
void TrainerSession::LeaveSampler() {
  if (!forked()) shared_->LeaveSampler(runtime_->reactor->clock());
}
void TrainerSession::Expect(std::int64_t samples) {
  if (forked()) return;
  shared_->ChangeStats([samples](SessionStats& stats) {
    const bool known = samples >= 0 && samples <= kMostSamples;
    stats.expected_samples = known ? static_cast<std::int64_t>(stats.samples) + samples : -1;
  });
}
void TrainerSession::AddIdle(Duration idle) {
  if (!forked()) shared_->AddIdle(idle);
}

void TrainerSession::AddComparison(bool equal) {
  if (!forked()) shared_->AddComparison(equal);
}

void TrainerSession::Interrupt() {
  if (!forked()) shared_->Interrupt();
}

int TrainerSession::BeforeFork() { return forked() ? -1 : arena_->KeepForHeirs().release(); }

bool TrainerSession::forked() const { return runtime_->pid != ::getpid(); }

Session::Session(std::unique_ptr<TrainerSession> impl) : impl_(std::move(impl)) {}
// A forked child destroys nothing, because it does not have the parent's threads and locks.
Session::~Session() {
  if (impl_ && impl_->forked()) (void)impl_.release();
}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  if (this != &other) {
    if (impl_ && impl_->forked()) (void)impl_.release();
    impl_ = std::move(other.impl_);
  }
  return *this;
}
Status Session::Begin(const IterationOptions& options) { return impl_->Begin(options); }
void Session::End() { impl_->End(); }
Status Session::Skip(std::span<const std::int64_t> keys) { return impl_->Skip(keys); }
Status Session::SetLanes(std::span<const LaneProcess> lanes) { return impl_->SetLanes(lanes); }
Result<std::int64_t> Session::Submit(std::span<const std::int64_t> keys, std::int32_t lane,
                                     ByteSpan index) {
  return impl_->Submit(keys, lane, index);
}
Result<Event> Session::Next(std::chrono::milliseconds timeout) { return impl_->Next(timeout); }
void Session::EnterNext() { impl_->EnterNext(); }
void Session::LeaveNext() { impl_->LeaveNext(); }
void Session::EnterSampler() { impl_->EnterSampler(); }
void Session::LeaveSampler() { impl_->LeaveSampler(); }
void Session::Expect(std::int64_t samples) { impl_->Expect(samples); }
void Session::AddIdle(std::chrono::nanoseconds idle) { impl_->AddIdle(idle); }
void Session::AddComparison(bool equal) { impl_->AddComparison(equal); }
Result<Withdrawal> Session::Judge(std::uint64_t suspicion, bool equal) {
  return impl_->Judge(suspicion, equal);
}
void Session::LearnNames(ByteSpan pickle) { impl_->LearnNames(pickle); }
std::int64_t Session::Undecided() { return impl_->Undecided(); }
Result<std::int64_t> Session::MakeAgain(std::span<const std::int32_t> lanes) {
  return impl_->MakeAgain(lanes);
}
Status Session::AwaitServed(std::chrono::milliseconds timeout) {
  return impl_->AwaitServed(timeout);
}
Status Session::ResolveSample(std::int64_t batch, std::int32_t position, ByteSpan state_after,
                              bool failed) {
  return impl_->ResolveSample(batch, position, state_after, failed);
}
Status Session::ReportBadSample(const BadSampleReport& report) {
  return impl_->ReportBadSample(report);
}
Status Session::ReplanLane(std::int64_t batch, ByteSpan state_after) {
  return impl_->ReplanLane(batch, state_after);
}
Result<std::vector<std::uint64_t>> Session::LaneDraws() const { return impl_->LaneDraws(); }
Result<std::vector<Bytes>> Session::LaneStates(bool end) const { return impl_->LaneStates(end); }
std::int64_t Session::outstanding() const { return impl_->outstanding(); }
SessionStats Session::Stats() const { return impl_->Stats(); }
std::int32_t Session::CacheNode() const { return impl_->split().cache_node; }
std::int32_t Session::TailNode() const { return impl_->split().tail_node; }
void Session::Interrupt() { impl_->Interrupt(); }
int Session::BeforeFork() { return impl_->BeforeFork(); }

}  // namespace headrace
