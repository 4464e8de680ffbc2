#include "dataworker/session/session_stage.h"

#include <cstdlib>
#include <set>
#include <string>

#include "base/log.h"
#include "base/process/stats.h"
#include "net/payload.h"
#include "schemas/wire/host_identity.h"

namespace headrace::dataworker {
void SessionStage::Warm() { environment_.bases.Warm(BaseOptions()); }

StageBases::Options SessionStage::BaseOptions() const {
  const wire::Attach& attach = attachment_.request();
  StageBases::Options options;
  options.job = attach.job;
  options.stage = attach.plan.python;
  options.confinement = environment_.limits.stages;
  if (attachment_.here()) {
    options.executable = attach.plan.python.executable;
    // The trainer's own Python on its own host sees what the program sees.
    options.confinement = options.confinement.WithoutView();
  } else {
    const char* configured = std::getenv("HEADRACE_PYTHON");
    options.executable = configured != nullptr ? configured : "python3";
  }
  return options;
}

StageRunner::Options SessionStage::RunnerOptions() const {
  StageRunner::Options options;
  options.zygote = BaseOptions();
  options.rng = attachment_.request().plan.rng;
  options.lanes = attachment_.request().plan.lanes;
  options.threads = environment_.executor.concurrency();
  options.cores = [this] { return environment_.stage_cores(attachment_.job()); };
  options.door = objects_->door();
  options.of_source = [this](std::uint64_t bytes) { return objects_->WithoutOwnReads(bytes); };
  options.may_read = [this] { return environment_.queue.MayRead(attachment_.job()); };
  return options;
}

StageRunner::Events SessionStage::RunnerEvents() {
  StageRunner::Events events;
  events.on_ready = tell_;
  events.on_done = [this](StageRunner::Made made) {
    std::vector<net::PayloadFrame> frames;
    if (made.hold) frames = net::SplitPayload(made.memory, made.hold);
    attachment_.Send(std::move(made.answer), std::move(frames));
  };
  events.on_used = [this](const StageRunner::Used& used) {
    environment_.queue.Charge(attachment_.job(), used.cpu, used.read_bytes);
    CountHost(used.pid);  // it may end before the next CountCpu
  };
  // The batches are answered after this, by the runner.
  events.on_lost = [this](const std::string& how) {
    const Status status = environment_.losses.Add(attachment_.session(), how);
    tell_(status);
    return status;
  };
  return events;
}

Status SessionStage::Start(const std::map<BlobHash, BlobContent>& blobs) {
  HR_RETURN_IF_ERROR(environment_.losses.Check(attachment_.session()));
  const wire::Attach& attach = attachment_.request();
  objects_ = std::make_shared<StageObjects>(environment_, attachment_, [this](LaneId lane) {
    return runner_ ? runner_->WaitingKeys(lane) : std::vector<std::int64_t>();
  });
  HR_RETURN_IF_ERROR(objects_->Open());
  if (attach.lanes_given) return StartGiven();
  if (!attachment_.here() && wire::SameHost(attach.host, environment_.host)) {
    LogWarning(
        "job=" + std::to_string(attach.job.value) +
        " says that it is on this host, and shares no memory to prove it: its code runs in " +
        BaseOptions().executable + " (HEADRACE_PYTHON), not in its own Python");
  }
  const BlobHash bundle = attach.plan.python.bundle;
  if (!bundle.valid()) return Unsupported("the pipeline's code runs on its trainer's host alone");
  HR_TRY(runner_, StageRunner::Start(environment_.reactor, environment_.bases, RunnerOptions(),
                                     blobs.at(bundle), RunnerEvents()));
  return {};
}

// The trainer's processes run the code: there is nothing to load.
Status SessionStage::StartGiven() {
  HR_TRY(runner_, StageRunner::StartGiven(environment_.reactor, RunnerOptions(), RunnerEvents()));
  for (GivenLane& given : std::exchange(early_lanes_, {})) OnLane(std::move(given));
  return {};
}

void SessionStage::End() {
  CountCpu();
  runner_.reset();
  if (objects_) objects_->Close();
  objects_.reset();
}

void SessionStage::OnLane(GivenLane given) {
  if (!attachment_.request().lanes_given) return;  // nobody asks for it
  if (!runner_) {
    if (early_lanes_.size() < kMostEarlyLanes) early_lanes_.push_back(std::move(given));
    return;
  }
  const Status taken = runner_->GiveLane(given.lane, std::move(given.socket), given.pid);
  if (taken.ok()) return;
  LogWarning("lane refused session=" + std::to_string(attachment_.session().value) + " error=\"" +
             taken.ToString() + "\"");
}

void SessionStage::Submit(wire::BatchRequest request, const std::shared_ptr<ArenaMap>& arena,
                          SteadyTime received) {
  Status status = runner_->CheckRequest(request);
  if (status.ok() && arena) {
    status = arena->Slot(request.slot_offset, request.slot_bytes).status();
  }
  if (!status.ok()) {
    attachment_.Refuse(request, std::move(status));
    return;
  }
  environment_.CountSamples(attachment_.job(), request.keys.size());
  runner_->Submit(std::move(request), arena, received);
}

void SessionStage::Cancel(IterationId before) {
  if (runner_) runner_->Cancel(before);
}

std::vector<std::int64_t> SessionStage::pids() const {
  if (!runner_ || attachment_.request().lanes_given) return {};
  std::vector<std::int64_t> pids = runner_->host_pids();
  if (runner_->zygote_pid() > 0) pids.push_back(runner_->zygote_pid());
  return pids;
}

void SessionStage::CountCpu() {
  if (!runner_) return;
  // The zygote without its children, which are the hosts.
  const std::int64_t zygote = runner_->zygote_pid();
  AddCpu(cpu_.Note(zygote, ProcessCpuNanos(zygote)));
  std::set<std::int64_t> there{zygote};
  for (const std::int64_t pid : runner_->host_pids()) {
    CountHost(pid);
    AddCpu(cpu_.Note(-pid, ProcessChildrenCpuNanos(pid)));
    there.insert({pid, -pid});
  }
  cpu_.KeepOnly(there);
}

void SessionStage::CountHost(std::int64_t pid) { AddCpu(cpu_.Note(pid, ProcessCpuNanos(pid))); }

void SessionStage::AddCpu(std::uint64_t nanos) {
  environment_.ledger.AddStageCpu(attachment_.job(), nanos);
  if (attachment_.request().lanes_given) environment_.lanes_cpu_ns += nanos;
}

}  // namespace headrace::dataworker
