#include "dataworker/session/session.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/hash.h"
#include "base/log.h"
#include "base/process/stats.h"
#include "net/payload.h"
#include "schemas/wire/host_identity.h"

namespace headrace::dataworker {
namespace {

constexpr std::uint64_t kMaxBlobBytes = std::uint64_t{64} << 30;
constexpr std::size_t kMostEarlyLanes = 2048;  // two sets of as many as a session can have
constexpr std::size_t kMostRemembered = 4096;  // sessions with a lost Python process

}  // namespace

BlobContent BlobTable::Find(BlobHash hash) const {
  const auto found = blobs_.find(hash);
  return found == blobs_.end() ? nullptr : found->second.lock();
}

void BlobTable::Add(BlobHash hash, const BlobContent& content) {
  std::erase_if(blobs_, [](const auto& entry) { return entry.second.expired(); });
  blobs_[hash] = content;
}

Status StageLosses::Add(SessionId session, const std::string& how) {
  if (lost_.size() >= kMostRemembered && !lost_.contains(session)) lost_.erase(lost_.begin());
  Lost& lost = lost_[session];
  ++lost.times;
  lost.how = how;
  if (Status refusal = Check(session); !refusal.ok()) return refusal;
  return NotFound("the Python stage of session " + std::to_string(session.value) +
                  " was lost: " + how);
}

Status StageLosses::Check(SessionId session) const {
  const auto found = lost_.find(session);
  if (found == lost_.end() || found->second.times < kMost) return {};
  return Unsupported("the Python stage of session " + std::to_string(session.value) + " was lost " +
                     std::to_string(found->second.times) + " times on this worker; the last time " +
                     found->second.how);
}

Session::Session(SessionEnvironment& environment, std::string peer, const wire::Attach& attach)
    : environment_(environment), peer_(std::move(peer)), attach_(attach) {
  for (const BlobHash hash : NeededBlobs()) needed_.insert(hash);
}

std::vector<BlobHash> Session::NeededBlobs() const {
  return attach_.lanes_given ? std::vector<BlobHash>() : CompiledPlan::BlobsOf(attach_.plan);
}

bool Session::SamePlan(const wire::Attach& attach) const {
  return attach.plan == attach_.plan && attach.split == attach_.split &&
         attach.lanes_given == attach_.lanes_given;
}

void Session::Attach(std::string peer, const wire::Attach& attach) {
  peer_ = std::move(peer);
  if (!cache_ || attach.job != attach_.job || attach.cache_bytes != attach_.cache_bytes) {
    cache_ = attach.cache_bytes == 0 ? nullptr
                                     : std::make_shared<const CacheLease>(
                                           environment_.cache, attach.job, attach.cache_bytes);
  }
  attach_ = attach;
  attached_ = heard_ = blob_heard_ = environment_.reactor.clock().Now();
  building_.clear();  // the peer starts over
  if (state_ == State::kFailed) {
    EndStage();
    state_ = State::kWaiting;
    failure_ = Status();
    for (const BlobHash hash : NeededBlobs()) {
      if (!blobs_.contains(hash)) needed_.insert(hash);
    }
  }
  TakeBlobsOfOthers();
  // While the bundle is on its way.
  if (attach_.plan.has_python_stage && !needed_.empty()) environment_.bases.Warm(StageOptions());
  attach_unanswered_ = true;
  outcome_told_ = false;
  CompileWhenComplete();
  // With everything here the answer says whether the plan compiles.
  if (!needed_.empty() || state_ == State::kReady || state_ == State::kFailed) AnswerAttach();
}

void Session::AnswerAttach() {
  if (!attach_unanswered_) return;
  attach_unanswered_ = false;
  SendAttached();
}

// The peer was answered before it was known whether the plan can run here.
void Session::TellOutcome() {
  if (!outcome_told_) SendAttached();
}

void Session::SendAttached() {
  outcome_told_ = state_ == State::kReady || state_ == State::kFailed;
  wire::Attached answer;
  answer.request = attach_.request;
  answer.session = id();
  answer.status = failure_;
  answer.use_arena = attach_.use_arena && arena_ != nullptr;
  answer.needed_blobs.assign(needed_.begin(), needed_.end());
  environment_.send(peer_, std::move(answer), {});
}

void Session::SetArena(std::uint64_t connection, std::shared_ptr<ArenaMap> arena) {
  arena_connection_ = connection;
  arena_ = std::move(arena);
}

void Session::OnLane(GivenLane given) {
  if (!attach_.lanes_given) return;  // nobody asks for it
  if (!stage_) {
    if (early_lanes_.size() < kMostEarlyLanes) early_lanes_.push_back(std::move(given));
    return;
  }
  const Status taken = stage_->GiveLane(given.lane, std::move(given.socket), given.pid);
  if (taken.ok()) return;
  LogWarning("lane refused session=" + std::to_string(id().value) + " error=\"" + taken.ToString() +
             "\"");
}

bool Session::HasArenaOf(std::uint64_t connection) const {
  return arena_ != nullptr && arena_connection_ == connection;
}

void Session::TakeBlobsOfOthers() {
  for (auto it = needed_.begin(); it != needed_.end();) {
    BlobContent content = environment_.blobs.Find(*it);
    if (content) {
      blobs_[*it] = std::move(content);
      it = needed_.erase(it);
    } else {
      ++it;
    }
  }
}

void Session::OnBlobPart(const wire::BlobPart& part, const std::vector<ByteSpan>& payload) {
  blob_heard_ = environment_.reactor.clock().Now();
  if (!needed_.contains(part.hash)) return;  // came from elsewhere meanwhile
  if (part.total_bytes > kMaxBlobBytes) {
    Fail(InvalidArgument("a blob of " + std::to_string(part.total_bytes) + " bytes"));
    return;
  }
  auto builder = building_.find(part.hash);
  if (builder == building_.end()) {
    Result<BlobBuilder> made = BlobBuilder::Make(part.total_bytes);
    if (!made.ok()) {
      Fail(made.status());
      return;
    }
    builder = building_.emplace(part.hash, std::move(made).value()).first;
  }
  const Status status =
      builder->second.Append(part.offset, payload.empty() ? ByteSpan() : payload.front());
  if (!status.ok()) {
    // A part of an earlier attempt. The rest of it is as useless; the peer attaches again or sends
    // from the start.
    LogWarning("blob part dropped error=\"" + status.ToString() + "\"");
    building_.erase(builder);
    return;
  }
  if (!builder->second.complete()) return;
  BlobContent content = builder->second.Take();
  building_.erase(builder);
  BlobComplete(part.hash, std::move(content));
}

void Session::OnBlobDescriptor(BlobHash hash, const net::UniqueFd& fd, std::uint64_t bytes) {
  if (!needed_.contains(hash)) return;
  blob_heard_ = environment_.reactor.clock().Now();
  Result<BlobContent> content = BlobFromDescriptor(fd, bytes);
  if (!content.ok()) {
    Fail(content.status());
    return;
  }
  BlobComplete(hash, std::move(content).value());
}

void Session::BlobComplete(BlobHash hash, BlobContent content) {
  needed_.erase(hash);
  const auto verified = OnReactor([](Session& session, BlobHash of, BlobContent blob, bool equal) {
    session.BlobVerified(of, std::move(blob), equal);
  });
  environment_.executor.Submit([hash, content = std::move(content), verified](ThreadContext&) {
    verified(hash, content, HashBlob(*content) == hash);
  });
}

void Session::BlobVerified(BlobHash hash, BlobContent content, bool equal) {
  if (!equal) {
    Fail(DataLoss("the content of blob " + std::to_string(hash.value) + " is damaged"));
    return;
  }
  environment_.blobs.Add(hash, content);
  blobs_[hash] = std::move(content);
  CompileWhenComplete();
}

void Session::CompileWhenComplete() {
  if (state_ != State::kWaiting || blobs_.size() != NeededBlobs().size()) {
    return;
  }
  state_ = State::kCompiling;
  if (attach_.plan.has_python_stage) {
    StartStage();
    return;
  }
  const auto compiled =
      OnReactor([](Session& session, std::shared_ptr<const CompiledPlan> plan, Status status) {
        session.Compiled(std::move(plan), std::move(status));
      });
  environment_.executor.Submit([plan = attach_.plan, split = attach_.split, blobs = blobs_,
                                roots = environment_.limits.allowed_roots,
                                compiled](ThreadContext&) {
    const auto find = [&blobs](BlobHash hash) {
      const auto found = blobs.find(hash);
      return found == blobs.end() ? nullptr : found->second;
    };
    auto made = CompiledPlan::Compile(plan, split, find, roots);
    compiled(made.ok() ? *made : nullptr, made.status());
  });
}

StageBases::Options Session::StageOptions() const {
  StageBases::Options options;
  options.job = attach_.job;
  options.stage = attach_.plan.python;
  options.memory_bytes = environment_.limits.stage_memory;
  if (wire::SameHost(attach_.host, environment_.host)) {
    options.executable = attach_.plan.python.executable;
  } else {
    const char* configured = std::getenv("HEADRACE_PYTHON");
    options.executable = configured != nullptr ? configured : "python3";
  }
  return options;
}

void Session::StartStage() {
  if (Status refusal = environment_.losses.Check(id()); !refusal.ok()) {
    Fail(std::move(refusal));
    return;
  }
  StageRunner::Options options;
  options.zygote = StageOptions();
  options.rng = attach_.plan.rng;
  options.lanes = attach_.plan.lanes;
  options.threads = environment_.executor.concurrency();
  options.cores = [this] { return environment_.stage_cores(job()); };
  options.may_read = [this] { return environment_.queue.MayRead(job()); };
  StageRunner::Events events;
  events.on_ready = [this](const Status& status) {
    if (!status.ok()) {
      Fail(status);
      return;
    }
    state_ = State::kReady;
    AnswerAttach();
    TellOutcome();
    RunWaiting();
  };
  events.on_done = [this](StageRunner::Made made) {
    std::vector<net::PayloadFrame> frames;
    if (made.hold) frames = net::SplitPayload(made.memory, made.hold);
    environment_.send(peer_, std::move(made.answer), std::move(frames));
  };
  events.on_used = [this](const StageRunner::Used& used) {
    environment_.queue.Charge(job(), used.cpu, used.read_bytes);
  };
  // The batches are answered behind this, by the runner.
  events.on_lost = [this](const std::string& how) {
    Status status = environment_.losses.Add(id(), how);
    Fail(status);
    return status;
  };
  if (attach_.lanes_given) {
    StartGiven(std::move(options), std::move(events));
    return;
  }
  if (!attach_.plan.python.bundle.valid()) {
    Fail(Unsupported("the pipeline's code runs on its trainer's host alone"));
    return;
  }
  auto started = StageRunner::Start(environment_.reactor, environment_.bases, std::move(options),
                                    blobs_.at(attach_.plan.python.bundle), std::move(events));
  if (!started.ok()) {
    Fail(started.status());
    return;
  }
  stage_ = std::move(started).value();
}

// The trainer's processes run the code: there is nothing to load.
void Session::StartGiven(StageRunner::Options options, StageRunner::Events events) {
  auto started =
      StageRunner::StartGiven(environment_.reactor, std::move(options), std::move(events));
  if (!started.ok()) {
    Fail(started.status());
    return;
  }
  stage_ = std::move(started).value();
  state_ = State::kReady;
  std::vector<GivenLane> early;
  early.swap(early_lanes_);
  for (GivenLane& given : early) OnLane(std::move(given));
  RunWaiting();
}

void Session::CountStageCpu() {
  if (!stage_) return;
  double seconds = 0;
  for (const std::int64_t pid : stage_->pids()) seconds += ProcessCpuSeconds(pid);
  // Less when one has ended whose parent has not asked for it yet.
  if (seconds <= stage_cpu_seconds_) return;
  environment_.ledger.AddStageCpu(job(),
                                  static_cast<std::uint64_t>((seconds - stage_cpu_seconds_) * 1e9));
  stage_cpu_seconds_ = seconds;
}

void Session::EndStage() {
  CountStageCpu();
  stage_.reset();
  stage_cpu_seconds_ = 0;
}

void Session::Compiled(std::shared_ptr<const CompiledPlan> plan, Status status) {
  if (state_ != State::kCompiling) return;
  if (!status.ok()) {
    Fail(std::move(status));
    return;
  }
  plan_ = std::move(plan);
  state_ = State::kReady;
  AnswerAttach();
  RunWaiting();
}

void Session::Fail(Status status) {
  if (state_ == State::kFailed) return;
  LogWarning("session refused session=" + std::to_string(id().value) + " error=\"" +
             status.ToString() + "\"");
  failure_ = std::move(status);
  state_ = State::kFailed;
  AnswerAttach();
  TellOutcome();
  RunWaiting();
}

bool Session::Abandoned(bool leased, SteadyTime asked) {
  if (leased || arena_ || asked <= attached_) {
    unleased_ = 0;
    return false;
  }
  ++unleased_;
  if (unleased_ < kMostUnleased || environment_.reactor.clock().Now() - heard_ < kMostSilence) {
    return false;
  }
  if (state_ == State::kWaiting && !waiting_.empty()) Fail(NotFound("the session has no trainer"));
  return outstanding() == 0;
}

void Session::Close() {
  if (closed_) return;
  closed_ = true;
  for (const auto& work : active_) work->Cancel();
  environment_.queue.Forget(id());
  active_.clear();
  waiting_.clear();
  EndStage();
  arena_.reset();
}

}  // namespace headrace::dataworker
