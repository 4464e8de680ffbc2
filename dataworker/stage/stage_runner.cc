// Length: a batch's way from its request to its answer, in the order in which it goes.
#include "dataworker/stage/stage_runner.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/process/stats.h"
#include "dataworker/stage/stage_request.h"

namespace headrace::dataworker {
namespace {

constexpr std::int32_t kMostLanes = 1024;
constexpr Duration kLookAgain = std::chrono::milliseconds(20);

Status CheckLanes(std::int32_t lanes) {
  if (lanes >= 1 && lanes <= kMostLanes) return {};
  return InvalidArgument("a Python plan with " + std::to_string(lanes) + " lanes");
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
    if (found != raw->hosts_.end()) found->second.pid = pid;
  };
  of_zygote.on_ended = [raw](std::uint64_t host, const std::string& how) {
    raw->OnEnded(host, how);
  };
  of_zygote.on_lost = [raw](const std::string& how) { raw->OnLost(how); };
  HR_TRY(raw->source_,
         Zygote::Start(reactor, bases, raw->options_.zygote, bundle, std::move(of_zygote)));
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

Status StageRunner::GiveLane(const StageHosts::Lane& lane, net::UniqueFd socket, std::int64_t pid) {
  HR_RETURN_IF_ERROR(lanes_->Give(lane, std::move(socket), pid));
  Pump();
  return {};
}

StageRunner::~StageRunner() {
  HoldBack(false);
  for (const auto& [id, host] : hosts_) {
    if (!host.hung_up) reactor_.UnwatchFd(host.socket.fd());
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
  if (Job* same = Find(request); same != nullptr) {
    same->repeats.push_back(request.attempt);
    return;
  }
  auto job = std::make_unique<Job>();
  job->request = std::move(request);
  job->own_memory = arena == nullptr;
  job->arena = std::move(arena);
  job->received = received;
  if (Crossed(job->request)) {
    Answer(*job, Cancelled("the batch was made a moment ago"));
    return;
  }
  queue_.push_back(std::move(job));
  Pump();
}

StageRunner::Job* StageRunner::Find(const wire::BatchRequest& request) {
  const auto same = [&](const std::unique_ptr<Job>& job) {
    return job && !job->cancelled && job->request.iteration == request.iteration &&
           job->request.batch == request.batch && job->request.lane_set == request.lane_set;
  };
  for (const auto& job : queue_) {
    if (same(job)) return job.get();
  }
  for (const auto& [id, host] : hosts_) {
    if (same(host.job)) return host.job.get();
  }
  return nullptr;
}

bool StageRunner::Crossed(const wire::BatchRequest& request) {
  return std::erase(made_, std::tuple(request.iteration, request.batch, request.lane_set)) > 0;
}

void StageRunner::Pump() {
  HoldBack(false);
  if (!failure_.ok()) {
    std::deque<std::unique_ptr<Job>> failed;
    failed.swap(queue_);
    for (const auto& job : failed) Answer(*job, failure_);
    return;
  }
  if (!ready_ || !source_->alive()) return;
  std::set<std::int32_t> blocked;  // lanes whose next batch waits: a later one must not overtake
  std::deque<std::unique_ptr<Job>> waiting;
  bool held = !queue_.empty() && !options_.may_read();
  const double cores = queue_.empty() ? 0 : options_.cores();
  std::vector<StageGate::Running> running;
  if (!queue_.empty()) {
    running = RunningNow();
    gate_.Look(reactor_.clock().Now(), running, cores);
  }
  for (std::unique_ptr<Job>& job : queue_) {
    const auto lane = static_cast<std::int32_t>(job->request.lane.value);
    held = held || !gate_.MayBegin(running, cores);
    if (held || (!AnyHost() && blocked.contains(lane))) {
      waiting.push_back(std::move(job));
      continue;
    }
    const Result<Host*> host = HostFor(*job);
    if (!host.ok() && source_->alive()) {
      Answer(*job, host.status());
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

StageGate::Running StageRunner::RunningOf(const Host& host) const {
  const std::uint64_t cpu = ProcessCpuNanos(host.pid);
  return {.wall = reactor_.clock().Now() - host.job->started,
          .cpu = Duration(cpu > host.cpu_ns_then ? cpu - host.cpu_ns_then : 0)};
}

std::uint64_t StageRunner::TakeReadBytes(Host& host) {
  const std::uint64_t before = host.read_bytes_then + host.job->request_bytes;
  // Never less than it was, also when it could not be read now.
  host.read_bytes_then = std::max(host.read_bytes_then, ProcessReadBytes(host.pid));
  return host.read_bytes_then > before ? host.read_bytes_then - before : 0;
}

std::vector<StageGate::Running> StageRunner::RunningNow() const {
  std::vector<StageGate::Running> running;
  for (const auto& [id, host] : hosts_) {
    if (host.job) running.push_back(RunningOf(host));
  }
  return running;
}

void StageRunner::HoldBack(bool held) {
  if (held_timer_ != 0) reactor_.CancelTimer(held_timer_);
  held_timer_ = held ? reactor_.AddTimer(kLookAgain, [this] { Pump(); }) : 0;
}

Result<StageRunner::Host*> StageRunner::HostFor(const Job& job) {
  if (AnyHost()) {
    for (auto& [id, host] : hosts_) {
      if (!host.job && !host.hung_up) return &host;
    }
    if (hosts_.size() < static_cast<std::size_t>(std::max(options_.threads, 1))) {
      return BeginHost({});
    }
    return nullptr;
  }
  const StageHosts::Lane lane{
      .lane = static_cast<std::int32_t>(std::max<std::int64_t>(job.request.lane.value, 0)),
      .set = lanes_ != nullptr ? job.request.lane_set : 0};
  const auto found = std::find_if(hosts_.begin(), hosts_.end(),
                                  [&](const auto& entry) { return entry.second.lane == lane; });
  if (found == hosts_.end()) return BeginHost(lane);
  Host& host = found->second;
  if (host.job || host.hung_up) return nullptr;
  if (host.begun && BeginsItsLane(job.request)) {
    EndHost(host.id);
    return BeginHost(lane);
  }
  return &host;
}

// Whether a host that has made batches already must not make this one.
bool StageRunner::BeginsItsLane(const wire::BatchRequest& request) const {
  return source_->begins_anew() && options_.rng != RngMode::kSample && request.lane_state.empty();
}

Result<StageRunner::Host*> StageRunner::BeginHost(const StageHosts::Lane& lane) {
  const std::uint64_t id = next_host_++;
  HR_TRY(std::optional<StageHosts::Begun> begun, source_->Begin(id, lane));
  if (!begun) return nullptr;
  reactor_.WatchFd(begun->socket.fd(), [this, id] { OnReadable(id); });
  Host host{.id = id, .lane = lane, .pid = begun->pid, .socket = std::move(begun->socket)};
  return &hosts_.emplace(id, std::move(host)).first->second;
}

// The host reads the end of its socket and exits; whether it does is the business of whoever
// started it. A batch of a host that is gone with its zygote is answered.
void StageRunner::EndHost(std::uint64_t id) {
  const auto found = hosts_.find(id);
  if (!found->second.hung_up) reactor_.UnwatchFd(found->second.socket.fd());
  const std::unique_ptr<Job> job = std::move(found->second.job);
  hosts_.erase(found);
  if (job) Answer(*job, failure_);
}

void StageRunner::Begin(Host& host, std::unique_ptr<Job> job) {
  host.job = std::move(job);
  host.job->started = reactor_.clock().Now();
  host.cpu_ns_then = ProcessCpuNanos(host.pid);
  const Status status = Hand(host);
  if (status.ok()) {
    host.begun = true;
    return;
  }
  const std::unique_ptr<Job> failed = std::move(host.job);
  const bool own_fault = status.code() == Code::kResourceExhausted;
  EndHost(host.id);
  Answer(*failed,
         own_fault ? status : Unavailable("a stage host does not answer: " + status.message()));
}

Status StageRunner::GiveMemory(Host& host) {
  Job& job = *host.job;
  if (job.own_memory) {
    const bool reusable = host.spare &&
                          host.spare.use_count() == (host.arena == host.spare ? 2 : 1) &&
                          host.spare->size() >= job.request.slot_bytes;
    if (!reusable) {
      net::UniqueFd file(::memfd_create("headrace-batch", MFD_CLOEXEC));
      if (!file.valid()) return ErrnoStatus(errno, "memfd");
      const std::uint64_t bytes = std::max<std::uint64_t>(job.request.slot_bytes, 4096);
      if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
        return ResourceExhausted("no memory for a batch of " + std::to_string(bytes) + " bytes");
      }
      HR_TRY(host.spare, ArenaMap::Map(std::move(file), bytes));
    }
    job.arena = host.spare;
  }
  if (host.arena == job.arena) return {};
  const std::array<int, 2> passed{job.arena->fd(), job.arena->channel()};
  HR_RETURN_IF_ERROR(
      host.socket.Send(StageMessage::kArena, {}, std::span(passed).first(passed[1] >= 0 ? 2 : 1)));
  host.arena = job.arena;
  return {};
}

Status StageRunner::Hand(Host& host) {
  HR_RETURN_IF_ERROR(GiveMemory(host));
  Job& job = *host.job;
  const Bytes request =
      StageRequestBytes(job.request, job.own_memory ? 0 : job.request.slot_offset);
  job.request_bytes = request.size();
  HR_TRY(const net::UniqueFd file, MemoryFile("headrace-request", request));
  const std::array<ByteSpan, 1> parts{std::as_bytes(std::span(&host.id, 1))};
  return host.socket.Send(StageMessage::kBatch, parts, std::array{file.get()});
}

void StageRunner::OnReadable(std::uint64_t id) {
  const auto found = hosts_.find(id);
  if (found == hosts_.end()) return;
  Host& host = found->second;
  std::vector<StageFrame> frames;
  Status status =
      host.socket.Receive([&](StageFrame&& frame) { frames.push_back(std::move(frame)); });
  for (StageFrame& frame : frames) {
    if (frame.kind == StageMessage::kDone && frame.parts.size() == 14 && host.job) {
      OnDone(host, std::move(frame));
    } else {
      status = InvalidArgument(
          "an unexpected frame of kind " + std::to_string(static_cast<std::uint32_t>(frame.kind)) +
          " with " + std::to_string(frame.parts.size()) + " parts: " + host.socket.Releases());
      break;
    }
  }
  if (status.ok()) {
    if (!frames.empty()) Pump();
    return;
  }
  reactor_.UnwatchFd(host.socket.fd());
  host.hung_up = true;
  if (!failure_.ok()) {
    EndHost(id);
    return;
  }
  // Damaged frames come from a host that lives: it goes with its socket.
  if (status.code() == Code::kInvalidArgument) {
    OnEnded(id, status.message());
  } else if (!source_->begins_anew()) {  // nobody else will say how it ended
    OnEnded(id, "the process of lane " + std::to_string(host.lane.lane) + " (pid " +
                    std::to_string(host.pid) + ") has ended");
  }
}

void StageRunner::OnEnded(std::uint64_t id, const std::string& how) {
  const auto found = hosts_.find(id);
  if (found == hosts_.end()) return;  // ended by EndHost
  // Its last answer may still be in the socket.
  if (!found->second.hung_up) OnReadable(id);
  const std::unique_ptr<Job> job = std::move(found->second.job);
  EndHost(id);
  if (job) {
    LogWarning("stage host ended session=" + std::to_string(job->request.session.value) +
               " how=\"" + how + "\"");
    Answer(*job, Unavailable(how));
  }
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
    if (host.hung_up || !host.job) dead.push_back(id);
  }
  for (const std::uint64_t id : dead) EndHost(id);
  Pump();
}

void StageRunner::Cancel(IterationId before) {
  std::deque<std::unique_ptr<Job>> kept;
  for (std::unique_ptr<Job>& job : queue_) {
    if (job->request.iteration < before) {
      Answer(*job, Cancelled("the iteration was cancelled"));
    } else {
      kept.push_back(std::move(job));
    }
  }
  queue_ = std::move(kept);
  for (auto& [id, host] : hosts_) {
    if (host.job && host.job->request.iteration < before) host.job->cancelled = true;
  }
}

std::size_t StageRunner::outstanding() const {
  const auto runs = [](const auto& host) { return host.second.job != nullptr; };
  return queue_.size() + static_cast<std::size_t>(std::ranges::count_if(hosts_, runs));
}

std::int64_t StageRunner::queued_samples() const {
  std::int64_t samples = 0;
  for (const auto& job : queue_) samples += std::ssize(job->request.keys);
  return samples;
}

std::vector<std::int64_t> StageRunner::pids() const {
  std::vector<std::int64_t> pids;
  if (source_->pid() > 0) pids.push_back(source_->pid());
  for (const auto& [id, host] : hosts_) {
    if (host.pid > 0) pids.push_back(host.pid);
  }
  return pids;
}

}  // namespace headrace::dataworker
