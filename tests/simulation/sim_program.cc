#include "tests/simulation/sim_program.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "tests/simulation/sim_plans.h"

namespace headrace::simulation {
namespace {

using std::chrono::milliseconds;

constexpr Duration kFirstPoll = milliseconds(1);
constexpr Duration kLongestPoll = milliseconds(16);
constexpr std::uint64_t kMostArena = std::uint64_t{4} << 20;
constexpr std::uint64_t kSlotHint = 1024;

}  // namespace

SimProgram::SimProgram(SimWorld& world, const Options& options, Expected expected, Duration begins,
                       Recorder recorder)
    : world_(world),
      options_(options),
      expected_(std::move(expected)),
      recorder_(std::move(recorder)),
      dice_(0),
      reactor_(world.MakeProcess(options.host, "program")) {
  const SimProcess& process = *reactor_->process();
  dice_ = world.dice().For("program", process.number());
  runtime_->reactor = reactor_;
  runtime_->pid = ::getpid();
  client::JobLink::Setup setup;
  setup.endpoint = SimWorld::kCoordinator;
  setup.job_name = process.name();
  setup.host = SimWorld::IdentityOf(process);
  setup.token = "token " + std::to_string(dice_.Next());
  job_ = std::make_shared<client::JobLink>(reactor_, std::move(setup));
  reactor_->AddOnce(begins, [this] {
    job_->Start([this](const Status& status) {
      if (status.ok()) {
        Open();
      } else {
        Fail("the job is refused: " + status.ToString());
      }
    });
  });
}

SimProgram::~SimProgram() {
  if (!done_) Kill(Death::kProcess);
}

void SimProgram::Fail(const std::string& what) {
  if (!failure_.empty()) return;
  failure_ = process().name() + ": " + what;
  world_.events().Note("failed");
  world_.events().Say("  " + failure_);
}

void SimProgram::After(Duration delay, void (SimProgram::*what)()) {
  reactor_->AddOnce(delay, [this, what] {
    if (failure_.empty() && !done_) (this->*what)();
  });
}

void SimProgram::Open() {
  const SimPlan& plan = PlanOf(options_.kind);
  auto made = client::SessionPlan::Make(plan.plan, plan.blobs, sizes_);
  if (!made.ok()) return Fail("the plan is refused: " + made.status().ToString());
  plan_ = std::make_unique<client::SessionPlan>(std::move(made).value());
  id_ = SessionId(static_cast<std::int64_t>(dice_.Next() >> 1));
  job_->OpenSession(id_, plan_->plan(), {}, [this](Result<wire::Split> split) {
    if (done_) return;
    if (!split.ok()) return Fail("the session is refused: " + split.status().ToString());
    OnSplit(*split);
  });
}

void SimProgram::OnSplit(const wire::Split& split) {
  if (!plan_->RunsWhole(split)) return Fail("the plan is cut");
  auto arena = client::Arena::Make(kMostArena, [] { return std::uint64_t{1} << 40; });
  if (!arena.ok()) return Fail(arena.status().ToString());
  arena_ = *std::move(arena);
  SessionOptions wanted;
  wanted.max_outstanding = options_.max_outstanding;
  wanted.in_order = options_.in_order;
  wanted.slot_bytes_hint = kSlotHint;
  wanted.max_arena_bytes = kMostArena;
  wanted.no_workers = options_.no_workers;
  wanted.gives_lanes = RunsInLanes(options_.kind);
  ClientOptions of_client;
  of_client.coordinator = SimWorld::kCoordinator;
  client::SessionPump::Setup setup = plan_->Finish(split);
  setup.options = wanted;
  setup.without_workers =
      client::WithoutWorkers::Options::For(of_client, wanted, !wanted.gives_lanes);
  setup.slow = options_.slow;
  setup.context.gives_lanes = wanted.gives_lanes;
  setup.context.session = id_;
  setup.context.host = SimWorld::IdentityOf(process());
  setup.context.arena = arena_;
  setup.context.allow_arena = options_.share_memory;
  auto mailbox = std::make_shared<client::BatchMailbox>(options_.in_order);
  auto pump = std::make_shared<client::SessionPump>(reactor_, std::move(setup), mailbox);
  job_->AddSession(pump);
  session_ = std::make_unique<Session>(std::make_unique<TrainerSession>(
      runtime_, job_, std::move(pump), std::move(mailbox), arena_, id_, wanted, split));
  After(Duration(1), &SimProgram::EndIteration);
}

// Begins the next iteration, or closes.
void SimProgram::EndIteration() {
  if (++iteration_ >= options_.iterations) {
    session_->End();
    return After(milliseconds(1), &SimProgram::Settle);  // the session's thread does it soon
  }
  if (RunsInLanes(options_.kind)) {
    const Status started = StartLanes();
    if (!started.ok()) return Fail("the lanes are not taken: " + started.ToString());
  }
  base_seed_ = 1 + (options_.base_seed - 1 + static_cast<std::uint64_t>(iteration_)) % 3;
  IterationOptions begin;
  begin.base_seed = base_seed_;
  begin.lane_window = options_.lane_window;
  const Status begun = session_->Begin(begin);
  if (!begun.ok()) return Fail("an iteration does not begin: " + begun.ToString());
  submitted_ = taken_ = 0;
  seen_.clear();
  poll_ = kFirstPoll;
  Turn();
}

// As stock worker processes, the lanes are made anew for each iteration.
Status SimProgram::StartLanes() {
  const std::int32_t count = PlanOf(options_.kind).plan.lanes;
  std::vector<UniqueFd> ends;
  std::vector<LaneProcess> given;
  for (std::int32_t lane = 0; lane < count; ++lane) {
    const auto reactor = world_.MakeProcess(options_.host, "lane");
    SimLane::Options options{.lane = lane,
                             .least = options_.lane_most / 10,
                             .most = options_.lane_most,
                             .ahead = static_cast<std::size_t>(options_.lane_window - 1)};
    if (lane == 0) options.slow = options_.slow_lane;
    const Dice dice = world_.dice().For("lane", reactor->process()->number());
    lanes_.push_back(std::make_unique<SimLane>(reactor, options, dice));
    ends.push_back(lanes_.back()->TakeEnd());
    given.push_back({.control = ends.back().get()});
  }
  return session_->SetLanes(given);
}

std::vector<SimProcess*> SimProgram::lanes() {
  std::vector<SimProcess*> processes;
  for (const auto& lane : lanes_) {
    if (!lane->ended()) processes.push_back(&lane->process());
  }
  return processes;
}

void SimProgram::Turn() {
  while (submitted_ < options_.batches && session_->outstanding() < options_.max_outstanding) {
    const auto number = session_->Submit(KeysOf(base_seed_, submitted_));
    if (!number.ok()) return Fail("not submitted: " + number.status().ToString());
    if (*number != submitted_) return Fail("another number than the next one");
    ++submitted_;
  }
  Result<Event> event = session_->Next(milliseconds(0));
  if (!event.ok() && event.status().code() == Code::kDeadlineExceeded) {
    After(poll_, &SimProgram::Turn);
    poll_ = std::min(poll_ * 2, kLongestPoll);
    return;
  }
  if (!event.ok()) return Fail("an error is raised: " + event.status().ToString());
  poll_ = kFirstPoll;
  if (event->sample) return Make(*event->sample);
  if (!event->batch) return Fail("something else than a batch or a sample comes");
  if (!Take(*std::move(event->batch))) return;
  ++delivered_;
  ++taken_;
  const bool early = iteration_ == 0 && taken_ == options_.end_early;
  After(dice_.Between(options_.step_least, options_.step_most),
        taken_ == options_.batches || early ? &SimProgram::EndIteration : &SimProgram::Turn);
}

void SimProgram::Make(const SampleNeeded& sample) {
  world_.events().Note("sample", process().number(), static_cast<std::uint64_t>(sample.batch));
  const std::vector<std::int64_t> keys = KeysOf(base_seed_, sample.batch);
  const auto at = static_cast<std::size_t>(sample.position);
  if (at >= keys.size() || keys[at] != sample.key) return Fail("a sample is needed that is none");
  const Status resolved = session_->ResolveSample(
      sample.batch, sample.position, StateAfter(options_.kind, sample.torch_state), false);
  if (!resolved.ok()) return Fail("a sample is not taken: " + resolved.ToString());
  After(options_.step_least, &SimProgram::Turn);
}

bool SimProgram::Take(Batch batch) {
  world_.events().Note("batch", process().number(), static_cast<std::uint64_t>(batch.batch));
  const std::string name = "batch " + std::to_string(batch.batch);
  if (options_.in_order && batch.batch != taken_) Fail(name + " comes out of order");
  if (!seen_.insert(batch.batch).second) Fail(name + " comes twice");
  if (batch.batch < 0 || batch.batch >= submitted_) Fail(name + " was not asked for");
  if (!failure_.empty()) return false;
  const std::vector<std::int64_t> keys = KeysOf(base_seed_, batch.batch);
  std::vector<std::uint64_t> rows = RowsOf(batch);
  if (recorder_) {
    recorder_(batch.batch, rows);
    return true;
  }
  std::vector<bool> made(keys.size(), true);
  for (const MissingSample& sample : batch.missing) {
    const auto at = static_cast<std::size_t>(sample.position);
    if (at >= keys.size() || sample.key != keys[at]) {
      Fail(name + " misses a sample that is none of it");
      return false;
    }
    if (!sample.torch_state_after.empty() &&
        StateAfter(options_.kind, sample.torch_state) != sample.torch_state_after) {
      Fail(name + " misses a sample that was drawn otherwise");
      return false;
    }
    made[at] = false;
    ++missing_;
  }
  const std::vector<std::uint64_t>& expected = expected_(base_seed_, batch.batch);
  // A batch of which no worker made anything has no memory.
  const bool nothing = batch.fields.empty() && batch.missing.size() == keys.size();
  if (!batch.python_error.empty()) Fail(name + " raises");
  if (!nothing && rows.size() != expected.size()) Fail(name + " has another number of samples");
  for (std::size_t i = 0; i < rows.size() && failure_.empty(); ++i) {
    if (made[i] && rows[i] != expected[i])
      Fail(name + " has other values in row " + std::to_string(i));
  }
  kept_.push_back({std::move(batch), std::move(rows)});
  while (kept_.size() > options_.keeps && failure_.empty()) LetGo();
  return failure_.empty();
}

// Whoever wrote to the memory of the batch meanwhile had no right to.
void SimProgram::LetGo() {
  const Kept& oldest = kept_.front();
  if (RowsOf(oldest.batch) != oldest.rows) {
    Fail("batch " + std::to_string(oldest.batch.batch) + " changed while it was used");
  }
  kept_.pop_front();
}

// In the end no worker writes for the session any more.
void SimProgram::Settle() {
  while (!kept_.empty() && failure_.empty()) LetGo();
  const client::Arena::Counts slots = arena_->counts();
  // An answer that was lost while its connection held, which TCP does not do, keeps its slot until the
  // connection ends.
  const auto lost = static_cast<std::int64_t>(world_.network().lost());
  if (slots.lent + slots.quarantined > lost) return After(milliseconds(50), &SimProgram::Settle);
  if (slots.held + slots.ready > 0) return Fail("slots are not given back");
  Close();
}

void SimProgram::Close() {
  session_.reset();
  reactor_->AddOnce(milliseconds(1), [this] {
    job_->Shutdown();
    done_ = true;
    world_.events().Note("closed", process().number());
  });
}

void SimProgram::Check() {
  if (done_ || !arena_ || !failure_.empty()) return;
  // One batch may go beyond the bound: see Arena::Acquire.
  if (arena_->counts().bytes > kMostArena + (std::uint64_t{1} << 20))
    Fail("the arena is too large");
}

void SimProgram::Kill(Death how) {
  if (done_) return;
  done_ = true;
  world_.events().Note("program killed", process().number());
  reactor_->Kill(how);
  kept_.clear();
  session_.reset();
  job_.reset();
  plan_.reset();
}

std::int64_t SimProgram::left() const {
  if (done_ || iteration_ >= options_.iterations) return 0;
  const int later = options_.iterations - 1 - std::max(iteration_, 0);
  return options_.batches - taken_ + later * options_.batches;
}

std::string SimProgram::Describe() const {
  std::string text = reactor_->process()->name() + " on " + options_.host + ": plan " +
                     std::to_string(options_.kind) + ", iteration " + std::to_string(iteration_) +
                     " of " + std::to_string(options_.iterations) + ", batch " +
                     std::to_string(taken_) + " of " + std::to_string(options_.batches);
  if (arena_) {
    const client::Arena::Counts slots = arena_->counts();
    text += ", slots lent " + std::to_string(slots.lent) + " quarantined " +
            std::to_string(slots.quarantined);
  }
  if (!session_) text += ", no session";
  return text;
}

}  // namespace headrace::simulation
