#include "tests/simulation/schedule_run.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

namespace headrace::simulation {
namespace {

constexpr Duration kCheckEvery = std::chrono::milliseconds(20);
constexpr Duration kAskAgain = std::chrono::seconds(1);

Death How(const Fault& fault) { return fault.silent ? Death::kHost : Death::kProcess; }

}  // namespace

ScheduleRun::ScheduleRun(const Schedule& schedule, Reference& reference)
    : schedule_(schedule),
      reference_(reference),
      world_(schedule.world),
      dice_(world_.dice().For("run")),
      start_(world_.events().Now()) {}

void ScheduleRun::Fail(const std::string& what) {
  if (failure_.empty()) failure_ = what;
}

void ScheduleRun::StartWorkers(std::int64_t count) {
  for (; count > 0 && !schedule_.workers.empty(); --count) {
    world_.StartWorker(schedule_.workers[next_place_++ % schedule_.workers.size()]);
  }
}

void ScheduleRun::Stop(SimProcess& process, Duration lasts) {
  process.Stop();
  world_.events().Note("stopped", process.number());
  world_.events().After(lasts, [&process] { process.Continue(); });
}

void ScheduleRun::Begin(const Fault& fault) {
  world_.events().Note("fault", static_cast<std::uint64_t>(fault.kind), fault.which);
  world_.events().Say(std::string("  fault: ") + NameOf(fault.kind));
  const auto& workers = world_.workers();
  std::int64_t pid = 0;
  if (!workers.empty()) {
    pid = std::next(workers.begin(), static_cast<std::ptrdiff_t>(fault.which % workers.size()))
              ->first;
  }
  SimProgram& program = *programs_[fault.which % programs_.size()];
  const auto start_again = [this, fault](const SimWorld::WorkerPlace& place,
                                         const std::string& address) {
    if (place.host == SimWorld::kHead) return;  // the pool does it
    world_.events().After(fault.lasts, [this, fault, place, address] {
      world_.StartWorker(place, fault.same_address ? address : "");
    });
  };
  switch (fault.kind) {
    case Fault::Kind::kWorkerDies:
    case Fault::Kind::kWorkerLeaves:
      if (pid == 0) break;
      start_again(workers.at(pid).place, workers.at(pid).address);
      if (fault.kind == Fault::Kind::kWorkerDies) {
        world_.KillWorker(pid, How(fault));
      } else {
        world_.LeaveWorker(pid);
      }
      break;
    case Fault::Kind::kAllWorkersDie:
      while (!world_.workers().empty()) {
        const auto& [victim, process] = *world_.workers().begin();
        start_again(process.place, process.address);
        world_.KillWorker(victim, How(fault));
      }
      break;
    case Fault::Kind::kWorkerStops:
      if (pid != 0) Stop(*workers.at(pid).reactor->process(), fault.lasts);
      break;
    case Fault::Kind::kCoordinatorDies:
      world_.KillCoordinator(How(fault));
      world_.events().After(fault.lasts, [this] { world_.StartCoordinator(); });
      break;
    case Fault::Kind::kCoordinatorStops:
      if (world_.coordinator_runs()) Stop(*world_.coordinator_process(), fault.lasts);
      break;
    case Fault::Kind::kConnectionBreaks:
      world_.network().BreakOne();
      break;
    case Fault::Kind::kHostsCutOff: {
      const char* const hosts[] = {SimWorld::kHead, "north", "south"};
      const std::string from = hosts[fault.which % 3], to = hosts[(fault.which / 3) % 3];
      world_.network().Cut(from, to);
      if (fault.silent) world_.network().Cut(to, from);
      world_.events().After(fault.lasts, [this] { world_.network().Heal(); });
      break;
    }
    case Fault::Kind::kProgramDies:
      // One is left, to see that the others come through.
      if (programs_.size() > 1) program.Kill(How(fault));
      break;
    case Fault::Kind::kProgramStops:
      if (!program.done()) Stop(program.process(), fault.lasts);
      break;
    case Fault::Kind::kLaneStops:
      if (const auto lanes = program.lanes(); !lanes.empty()) {
        Stop(*lanes[fault.which % lanes.size()], fault.lasts);
      }
      break;
  }
}

void ScheduleRun::Heal() {
  world_.events().Say("  all is well");
  world_.network().SetRates({});
  world_.network().Heal();
  world_.StartCoordinator();
  if (world_.workers().empty()) StartWorkers(1);
  healed_ = true;
}

bool ScheduleRun::programs_done() const {
  return std::ranges::all_of(programs_, [](const auto& program) { return program->done(); });
}

void ScheduleRun::CheckStep() {
  for (const auto& program : programs_) {
    program->Check();
    if (!program->failure().empty()) Fail(program->failure());
  }
  if (world_.coordinator_runs()) CheckLeases(world_.coordinator()->state());
  if (world_.network().bytes_under_way() > kMostUnderWay) Fail("too many bytes are under way");
}

void ScheduleRun::CheckLeases(const coordinator::State& state) {
  for (const auto& [id, job] : state.jobs()) {
    const std::string name = "job " + std::to_string(id.value);
    if (job.phase != coordinator::Job::Phase::kRunning && !job.leases.empty()) {
      Fail(name + " is lost and has leases");
    }
    for (const WorkerId worker : job.leases) {
      const coordinator::Worker* leased = state.FindWorker(worker);
      if (leased == nullptr || !leased->leasable() || !leased->jobs.contains(id)) {
        Fail(name + " leases a worker that does not serve it");
      }
    }
    for (const auto& [worker, grant] : job.grants) {
      if (!job.leases.contains(worker)) Fail(name + " has a grant without a lease");
    }
    const auto told = told_leases_.find({id, job.generation});
    if (told != told_leases_.end() && told->second != job.leases) {
      Fail(name + " has other leases than it was told of generation " +
           std::to_string(job.generation));
    }
  }
  for (const auto& [id, worker] : state.workers()) {
    for (const JobId job : worker.jobs) {
      const coordinator::Job* served = state.FindJob(job);
      if (served == nullptr || !served->leases.contains(id)) {
        Fail("worker " + std::to_string(id.value) + " serves a job that does not lease it");
      }
    }
  }
}

void ScheduleRun::Witness(const SimProcess& receiver, const wire::Body& body) {
  const auto check = [&](auto& owners, auto id, const char* what) {
    const auto [at, first] = owners.emplace(id, receiver.number());
    if (at->second != receiver.number()) {
      Fail(what + std::to_string(id.value) + " is given to " + receiver.name() +
           ", and was to process " + std::to_string(at->second));
    }
  };
  if (const auto* job = std::get_if<wire::JobOpened>(&body); job && job->status.ok()) {
    check(jobs_, job->job, "the job id ");
  } else if (const auto* worker = std::get_if<wire::WorkerRegistered>(&body);
             worker && worker->status.ok()) {
    check(known_workers_, worker->worker, "the worker id ");
  } else if (const auto* leases = std::get_if<wire::Leases>(&body); leases && leases->status.ok()) {
    std::set<WorkerId> workers;
    for (const wire::WorkerInfo& each : leases->workers) workers.insert(each.worker);
    const auto [at, first] =
        told_leases_.emplace(std::pair(leases->job, leases->generation), workers);
    if (at->second != workers) {
      Fail("job " + std::to_string(leases->job.value) +
           " is told two sets of leases of generation " + std::to_string(leases->generation));
    }
  }
}

ScheduleRun::Outcome ScheduleRun::Run() {
  EventQueue& events = world_.events();
  events.Say(schedule_.Describe());
  world_.network().SetWitness(
      [this](const SimProcess& receiver, const wire::Body& body) { Witness(receiver, body); });
  world_.network().SetRates(schedule_.rates);
  world_.network().SetLatency(schedule_.least_latency, schedule_.most_latency);
  world_.StartCoordinator();
  StartWorkers(static_cast<std::int64_t>(schedule_.workers.size()));
  programs_.reserve(schedule_.programs.size());
  for (std::size_t i = 0; i < schedule_.programs.size(); ++i) {
    const SimProgram::Options& options = schedule_.programs[i];
    const auto expected = [this, kind = options.kind](std::uint64_t seed, std::int64_t batch)
        -> const std::vector<std::uint64_t>& { return reference_.Rows(kind, seed, batch); };
    programs_.push_back(
        std::make_unique<SimProgram>(world_, options, expected, schedule_.program_starts[i]));
  }
  for (const Fault& fault : schedule_.faults) {
    events.At(start_ + fault.at, [this, &fault] { Begin(fault); });
  }
  // After the events of that moment.
  const SteadyTime healed = start_ + schedule_.healed + Duration(1);
  events.At(healed, [this] { Heal(); });
  SteadyTime check = start_;
  std::int64_t lacks = 0;
  SteadyTime late = SteadyTime::max();
  Outcome outcome;
  while (failure_.empty() && !(healed_ && programs_done())) {
    if (!events.RunNext(SteadyTime::max())) break;
    // A failure of a program is noted in the program, so every step sees it.
    if (events.Now() < check) continue;
    check = events.Now() + kCheckEvery;
    CheckStep();
    if (!healed_) continue;
    if (late == SteadyTime::max()) {
      for (const auto& program : programs_) lacks += program->left();
      late = healed + kPatience + lacks * kPatienceForBatch;
    }
    if (events.Now() > late) Fail("no progress in a good network");
  }
  CheckStep();
  outcome.recovered = std::max(Duration::zero(), events.Now() - healed);
  if (failure_.empty()) CheckRest();
  for (const auto& program : programs_) {
    outcome.batches += program->delivered();
    outcome.missing += program->missing();
    if (!failure_.empty()) failure_ += "\n  " + program->Describe();
  }
  outcome.failure = failure_;
  outcome.trace = events.trace();
  outcome.events = events.events_run();
  return outcome;
}

void ScheduleRun::CheckRest() {
  EventQueue& events = world_.events();
  const SteadyTime asked = events.Now() + kForgotten;
  while (events.RunNext(asked)) {
  }
  for (const auto& [pid, process] : world_.workers()) {
    if (process.worker->sessions() > 0) {
      Fail("worker " + std::to_string(pid) + " keeps a session of a program that has ended");
    }
  }
  observer_ = world_.MakeProcess("observer", "observer");
  net::SocketEvents on;
  on.on_message = [this](net::Incoming&& incoming) {
    if (const auto* status = std::get_if<wire::ClusterStatus>(&incoming.body)) OnStatus(*status);
  };
  question_ = *observer_->ConnectDealer(SimWorld::kCoordinator, std::move(on));
  (void)question_->Send({}, wire::StatusQuery{.request = 1});
  const SteadyTime until = events.Now() + kAskAgain;
  while (!answered_ && events.RunNext(until)) {
  }
  if (!answered_) Fail("the coordinator does not answer");
}

void ScheduleRun::OnStatus(const wire::ClusterStatus& status) {
  answered_ = true;
  for (const wire::JobStatus& job : status.jobs) {
    if (job.state != "lost") Fail("the job of " + job.name + ", which has ended, is " + job.state);
    if (!job.workers.empty()) Fail("the job of " + job.name + ", which has ended, has leases");
  }
  std::set<std::int64_t> known;
  for (const wire::WorkerStatus& worker : status.workers) {
    const std::int64_t pid = worker.info.host.pid;
    const bool lives = world_.workers().contains(pid);
    if (worker.state == "ready" && !lives) Fail("a dead worker is ready: " + std::to_string(pid));
    if (!worker.last.jobs.empty())
      Fail("worker " + std::to_string(pid) + " is leased to nobody's job");
    if (lives && worker.state != "lost" && !known.insert(pid).second) {
      Fail("worker " + std::to_string(pid) + " is known twice");
    }
  }
  for (const auto& [pid, process] : world_.workers()) {
    if (!known.contains(pid)) Fail("worker " + std::to_string(pid) + " lives and is not known");
  }
}

ScheduleRun::Outcome RunSchedule(Schedule schedule, Reference& reference, bool aloud) {
  schedule.world.aloud = aloud;
  return ScheduleRun(schedule, reference).Run();
}

}  // namespace headrace::simulation
