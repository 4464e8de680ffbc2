#include "dataworker/stage/stage_runner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "base/log.h"

namespace headrace::dataworker {
namespace {

constexpr std::int32_t kMostLanes = 1024;
constexpr Duration kLookAgain = std::chrono::milliseconds(20);

Status CheckLanes(std::int32_t lanes) {
  if (lanes >= 1 && lanes <= kMostLanes) return {};
  return InvalidArgument("a Python plan with " + std::to_string(lanes) + " lanes");
}

// Returns the batch's job that is queued or running; nullptr: none.
StageJob* FindJob(const wire::BatchRequest& request,
                  const std::deque<std::unique_ptr<StageJob>>& queue,
                  const std::map<std::uint64_t, StageHost>& hosts) {
  const auto same = [&](const StageJob* job) {
    return job != nullptr && !job->cancelled && job->request.iteration == request.iteration &&
           job->request.batch == request.batch && job->request.lane_set == request.lane_set;
  };
  for (const auto& job : queue) {
    if (same(job.get())) return job.get();
  }
  for (const auto& [id, host] : hosts) {
    for (StageJob* job : {host.job(), host.next()}) {
      if (same(job)) return job;
    }
  }
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<StageRunner>> StageRunner::Start(net::Reactor& reactor, StageBases& bases,
                                                        Options options, const BlobContent& bundle,
                                                        Events events) {
  HR_RETURN_IF_ERROR(CheckLanes(options.lanes));
  std::unique_ptr<StageRunner> runner(
      new StageRunner(reactor, std::move(options), std::move(events)));
  StageRunner* raw = runner.get();
  Zygote::Events of_zygote;
  of_zygote.on_ready = [raw](const Status& status) {
    raw->ready_ = status.ok();
    raw->failure_ = status;
    raw->events_.on_ready(status);
    raw->Pump();
  };
  of_zygote.on_forked = [raw](std::uint64_t host, std::int64_t pid) {
    const auto found = raw->hosts_.find(host);
    if (found != raw->hosts_.end()) found->second.SetPid(pid);
  };
  of_zygote.on_ended = [raw](std::uint64_t host, const std::string& how) {
    raw->OnEnded(host, how);
  };
  of_zygote.on_lost = [raw](const std::string& how) { raw->OnLost(how); };
  HR_TRY(raw->source_, Zygote::Start(reactor, bases, raw->options_.zygote, bundle,
                                     raw->options_.door, std::move(of_zygote)));
  return runner;
}

Result<std::unique_ptr<StageRunner>> StageRunner::StartGiven(net::Reactor& reactor, Options options,
                                                             Events events) {
  HR_RETURN_IF_ERROR(CheckLanes(options.lanes));
  std::unique_ptr<StageRunner> runner(
      new StageRunner(reactor, std::move(options), std::move(events)));
  auto lanes = std::make_unique<LaneHosts>(runner->options_.lanes);
  runner->lanes_ = lanes.get();
  runner->source_ = std::move(lanes);
  runner->ready_ = true;
  return runner;
}

Status StageRunner::GiveLane(const StageHosts::Lane& lane, UniqueFd socket, std::int64_t pid) {
  HR_RETURN_IF_ERROR(lanes_->Give(lane, std::move(socket), pid));
  Pump();
  return {};
}

StageRunner::~StageRunner() {
  HoldBack(false);
  for (const auto& [id, host] : hosts_) {
    if (!host.hung_up()) reactor_.UnwatchFd(host.socket().fd());
  }
}

Status StageRunner::CheckRequest(const wire::BatchRequest& request) const {
  if (request.keys.empty()) return InvalidArgument("a batch without samples");
  if (request.lane.value < -1 || request.lane.value >= options_.lanes) {
    return InvalidArgument("lane " + std::to_string(request.lane.value) + " of " +
                           std::to_string(options_.lanes));
  }
  if (options_.rng == RngMode::kSample ? request.seeds.size() != request.keys.size()
                                       : !request.seeds.empty()) {
    return InvalidArgument("the batch has " + std::to_string(request.seeds.size()) + " seeds for " +
                           std::to_string(request.keys.size()) + " samples");
  }
  return {};
}

void StageRunner::Submit(wire::BatchRequest request, std::shared_ptr<ArenaMap> arena,
                         SteadyTime received) {
  if (StageJob* same = FindJob(request, queue_, hosts_); same != nullptr) {
    same->repeats.push_back(request.attempt);
    return;
  }
  auto job = std::make_unique<StageJob>();
  job->request = std::move(request);
  job->own_memory = arena == nullptr;
  job->arena = std::move(arena);
  job->received = received;
  if (answers_.Crossed(job->request)) {
    answers_.Refuse(*job, Cancelled("the batch was made a moment ago"));
    return;
  }
  queue_.push_back(std::move(job));
  Pump();
}

void StageRunner::Pump() {
  HoldBack(false);
  if (!failure_.ok()) {
    std::deque<std::unique_ptr<StageJob>> failed;
    failed.swap(queue_);
    for (const auto& job : failed) answers_.Refuse(*job, failure_);
    return;
  }
  if (!ready_ || !source_->alive()) return;
  std::set<std::int32_t> blocked;  // lanes whose next batch waits: a later one must not overtake
  std::deque<std::unique_ptr<StageJob>> waiting;
  bool held = !queue_.empty() && !options_.may_read();
  const double cores = queue_.empty() ? 0 : options_.cores();
  std::vector<StageGate::Running> running;
  if (!queue_.empty()) {
    running = RunningNow();
    gate_.Look(reactor_.clock().Now(), running, cores);
  }
  for (std::unique_ptr<StageJob>& job : queue_) {
    const auto lane = static_cast<std::int32_t>(job->request.lane.value);
    held = held || !gate_.MayBegin(running, cores);
    if (held || (!AnyHost() && blocked.contains(lane))) {
      waiting.push_back(std::move(job));
      continue;
    }
    const Result<StageHost*> host = HostFor(*job, std::isinf(cores));
    if (!host.ok() && source_->alive()) {
      answers_.Refuse(*job, host.status());
    } else if (!host.ok() || *host == nullptr) {  // without a zygote OnLost answers it
      blocked.insert(lane);
      waiting.push_back(std::move(job));
    } else {
      Begin(**host, std::move(job));
      running = RunningNow();
    }
  }
  queue_ = std::move(waiting);
  HoldBack(held);
}

std::vector<StageGate::Running> StageRunner::RunningNow() const {
  std::vector<StageGate::Running> running;
  for (const auto& [id, host] : hosts_) {
    if (host.job() != nullptr) running.push_back(host.Running(reactor_.clock().Now()));
  }
  return running;
}

void StageRunner::HoldBack(bool held) {
  if (held_timer_ != 0) reactor_.CancelTimer(held_timer_);
  held_timer_ = held ? reactor_.AddTimer(kLookAgain, [this] { Pump(); }) : 0;
}

Result<StageHost*> StageRunner::HostFor(const StageJob& job, bool alone) {
  if (AnyHost()) {
    for (auto& [id, host] : hosts_) {
      if (host.idle()) return &host;
    }
    if (hosts_.size() < static_cast<std::size_t>(std::max(options_.threads, 1))) {
      return BeginHost({});
    }
    return nullptr;
  }
  const StageHosts::Lane lane{
      .lane = static_cast<std::int32_t>(std::max<std::int64_t>(job.request.lane.value, 0)),
      .set = job.request.lane_set};
  const bool begins_anew = source_->begins_anew();
  const auto found = std::find_if(hosts_.begin(), hosts_.end(), [&](const auto& entry) {
    const StageHosts::Lane& other = entry.second.lane();
    return other.lane == lane.lane && (other.set == lane.set || begins_anew);
  });
  if (found == hosts_.end()) return BeginHost(lane);
  StageHost& host = found->second;
  if (!host.idle()) {
    const bool follows = lanes_ != nullptr && alone && host.takes_next() && !job.own_memory;
    return follows ? &host : nullptr;
  }
  // The worker's own host must not go on from an earlier set, whatever its code keeps. One that has
  // made batches already must not make the first one of a lane.
  const bool first = options_.rng != RngMode::kSample && job.request.lane_state.empty();
  if (begins_anew && (host.lane().set != lane.set || (host.begun() && first))) {
    EndHost(host.id());
    return BeginHost(lane);
  }
  return &host;
}

Result<StageHost*> StageRunner::BeginHost(const StageHosts::Lane& lane) {
  const std::uint64_t id = next_host_++;
  HR_TRY(std::optional<StageHosts::Begun> begun, source_->Begin(id, lane));
  if (!begun) return nullptr;
  if (lanes_ != nullptr && options_.door >= 0) {  // a zygote's hosts have it from their zygote
    (void)begun->socket.Send(StageMessage::kDoor, {}, std::array{options_.door});  // it may be gone
  }
  reactor_.WatchFd(begun->socket.fd(), [this, id] { OnReadable(id); });
  return &hosts_.emplace(id, StageHost(id, lane, *std::move(begun))).first->second;
}

// The host reads the end of its socket and exits; the process that started it checks that. A batch
// is answered even if its host is gone with its zygote.
void StageRunner::EndHost(std::uint64_t id) {
  const auto found = hosts_.find(id);
  StageHost& host = found->second;
  if (!host.hung_up()) reactor_.UnwatchFd(host.socket().fd());
  const auto jobs = host.TakeJobs();
  hosts_.erase(found);
  for (const auto& job : jobs) answers_.Refuse(*job, failure_);
}

void StageRunner::Begin(StageHost& host, std::unique_ptr<StageJob> job) {
  const Status status = host.Begin(std::move(job), reactor_.clock().Now());
  if (status.ok()) return;
  const auto failed = host.TakeJobs();
  const bool own_fault = status.code() == Code::kResourceExhausted;
  EndHost(host.id());
  const Status why =
      own_fault ? status : Unavailable("a stage host does not answer: " + status.message());
  for (const auto& each : failed) answers_.Refuse(*each, why);
}

void StageRunner::OnReadable(std::uint64_t id) {
  const auto found = hosts_.find(id);
  if (found == hosts_.end()) return;
  StageHost& host = found->second;
  std::vector<StageFrame> frames;
  Status status =
      host.socket().Receive([&](StageFrame&& frame) { frames.push_back(std::move(frame)); });
  for (StageFrame& frame : frames) {
    if (StageAnswers::IsAnswer(frame) && host.job() != nullptr) {
      OnDone(host, std::move(frame));
    } else {
      status = InvalidArgument(
          "an unexpected frame of kind " + std::to_string(static_cast<std::uint32_t>(frame.kind)) +
          " with " + std::to_string(frame.parts.size()) + " parts: " + host.socket().Releases());
      break;
    }
  }
  if (status.ok()) {
    if (!frames.empty()) Pump();
    return;
  }
  reactor_.UnwatchFd(host.socket().fd());
  host.HangUp();
  if (!failure_.ok()) {
    EndHost(id);
    return;
  }
  // Damaged frames come from a live host, which ends with its socket.
  if (status.code() == Code::kInvalidArgument) {
    OnEnded(id, status.message());
  } else if (!source_->begins_anew()) {  // nothing else reports how it ended
    OnEnded(id, "the process of lane " + std::to_string(host.lane().lane) + " (pid " +
                    std::to_string(host.pid()) + ") has ended");
  }
}

void StageRunner::OnDone(StageHost& host, StageFrame frame) {
  const StageGate::Running ran = host.Running(reactor_.clock().Now());
  gate_.Ended(ran);
  const std::uint64_t read_bytes = options_.of_source(host.TakeReadBytes());
  events_.on_used({.cpu = ran.cpu, .pid = host.pid(), .read_bytes = read_bytes});
  const std::unique_ptr<StageJob> job = host.TakeJob(reactor_.clock().Now());
  answers_.Give(*job, std::move(frame), read_bytes);
}

void StageRunner::OnEnded(std::uint64_t id, const std::string& how) {
  const auto found = hosts_.find(id);
  if (found == hosts_.end()) return;  // ended by EndHost
  // Its last answer may still be in the socket.
  if (!found->second.hung_up()) OnReadable(id);
  const auto jobs = found->second.TakeJobs();
  EndHost(id);
  if (!jobs.empty()) {  // the trainer ends its own with what they were given, and knows of it
    Log(lanes_ != nullptr ? LogLevel::kInfo : LogLevel::kWarning,
        "stage host ended session=" + std::to_string(jobs.front()->request.session.value) +
            " how=\"" + how + "\"");
  }
  for (const auto& job : jobs) answers_.Refuse(*job, Unavailable(how));
  Pump();
}

void StageRunner::OnLost(const std::string& how) {
  if (!failure_.ok()) return;  // it could not run the code anyway
  const bool was_ready = ready_;
  ready_ = false;
  failure_ = events_.on_lost(how);
  if (!was_ready) events_.on_ready(failure_);
  // The others are being killed, and may write until they hang up.
  std::vector<std::uint64_t> dead;
  for (const auto& [id, host] : hosts_) {
    if (host.hung_up() || host.job() == nullptr) dead.push_back(id);
  }
  for (const std::uint64_t id : dead) EndHost(id);
  Pump();
}

void StageRunner::Cancel(IterationId before) {
  std::deque<std::unique_ptr<StageJob>> kept;
  for (std::unique_ptr<StageJob>& job : queue_) {
    if (job->request.iteration < before) {
      answers_.Refuse(*job, Cancelled("the iteration was cancelled"));
    } else {
      kept.push_back(std::move(job));
    }
  }
  queue_ = std::move(kept);
  for (auto& [id, host] : hosts_) {
    for (StageJob* job : {host.job(), host.next()}) {
      if (job != nullptr && job->request.iteration < before) job->cancelled = true;
    }
  }
}

std::size_t StageRunner::outstanding() const {
  std::size_t begun = 0;
  for (const auto& [id, host] : hosts_) {
    begun += (host.job() != nullptr ? 1U : 0U) + (host.next() != nullptr ? 1U : 0U);
  }
  return queue_.size() + begun;
}

std::int64_t StageRunner::queued_samples() const {
  std::int64_t samples = 0;
  for (const auto& job : queue_) samples += std::ssize(job->request.keys);
  for (const auto& [id, host] : hosts_) {
    if (host.next() != nullptr) samples += std::ssize(host.next()->request.keys);
  }
  return samples;
}

std::vector<std::int64_t> StageRunner::WaitingKeys(LaneId lane) const {
  std::vector<std::int64_t> keys;
  std::vector<const StageJob*> waiting;
  for (const auto& [id, host] : hosts_) {
    if (host.next() != nullptr) waiting.push_back(host.next());
  }
  for (const auto& job : queue_) waiting.push_back(job.get());
  for (const StageJob* job : waiting) {
    const wire::BatchRequest& request = job->request;
    // What is no list of int is the sampler's own (`index`), and its keys are only counted.
    if (request.lane != lane || !request.index.empty()) continue;
    const std::size_t room = kMostWaitingKeys - keys.size();
    const auto taken = static_cast<std::ptrdiff_t>(std::min(room, request.keys.size()));
    keys.insert(keys.end(), request.keys.begin(), request.keys.begin() + taken);
  }
  return keys;
}

std::vector<std::int64_t> StageRunner::host_pids() const {
  std::vector<std::int64_t> pids;
  for (const auto& [id, host] : hosts_) {
    if (host.pid() > 0) pids.push_back(host.pid());
  }
  return pids;
}

}  // namespace headrace::dataworker
