#include "dataworker/session.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/hash.h"
#include "base/log.h"
#include "net/payload.h"
#include "schemas/wire/host_identity.h"

namespace headrace::dataworker {
namespace {

// Far above what a trainer's slots allow; a peer that goes beyond is not one.
constexpr std::size_t kMostOutstanding = 8192;
constexpr std::uint64_t kMaxBlobBytes = std::uint64_t{64} << 30;

}  // namespace

BlobContent BlobTable::Find(BlobHash hash) const {
  const auto found = blobs_.find(hash);
  return found == blobs_.end() ? nullptr : found->second.lock();
}

void BlobTable::Add(BlobHash hash, const BlobContent& content) {
  std::erase_if(blobs_, [](const auto& entry) { return entry.second.expired(); });
  blobs_[hash] = content;
}

template <typename Then>
auto Session::OnReactor(Then then) {
  return [&reactor = environment_.reactor, weak = weak_from_this(), then](auto... arguments) {
    // std::function wants copies; what is posted moves through one shared box.
    auto box = std::make_shared<std::tuple<decltype(arguments)...>>(std::move(arguments)...);
    reactor.Post([weak, then, box] {
      const std::shared_ptr<Session> session = weak.lock();
      if (!session || session->closed_) return;
      std::apply([&](auto&... values) { then(*session, std::move(values)...); }, *box);
    });
  };
}

Session::Session(SessionEnvironment& environment, std::string peer, const wire::Attach& attach)
    : environment_(environment), peer_(std::move(peer)), attach_(attach) {
  for (const BlobHash hash : CompiledPlan::BlobsOf(attach_.plan)) needed_.insert(hash);
}

bool Session::SamePlan(const wire::Attach& attach) const {
  return attach.plan == attach_.plan && attach.split == attach_.split;
}

void Session::Attach(std::string peer, const wire::Attach& attach) {
  peer_ = std::move(peer);
  if (!cache_ || attach.job != attach_.job || attach.cache_bytes != attach_.cache_bytes) {
    cache_ = attach.cache_bytes == 0 ? nullptr
                                     : std::make_shared<const CacheLease>(
                                           environment_.cache, attach.job, attach.cache_bytes);
  }
  attach_ = attach;
  building_.clear();  // the peer starts over
  if (state_ == State::kFailed) {
    stage_.reset();
    state_ = State::kWaiting;
    failure_ = Status();
    for (const BlobHash hash : CompiledPlan::BlobsOf(attach_.plan)) {
      if (!blobs_.contains(hash)) needed_.insert(hash);
    }
  }
  TakeBlobsOfOthers();
  attach_unanswered_ = true;
  CompileWhenComplete();
  // With everything here the answer says whether the plan compiles.
  if (!needed_.empty() || state_ == State::kReady || state_ == State::kFailed) AnswerAttach();
}

void Session::AnswerAttach() {
  if (!attach_unanswered_) return;
  attach_unanswered_ = false;
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
  if (state_ != State::kWaiting || blobs_.size() != CompiledPlan::BlobsOf(attach_.plan).size()) {
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
  environment_.executor.Submit(
      [plan = attach_.plan, split = attach_.split, blobs = blobs_, compiled](ThreadContext&) {
        auto made = CompiledPlan::Compile(plan, split, [&blobs](BlobHash hash) {
          const auto found = blobs.find(hash);
          return found == blobs.end() ? nullptr : found->second;
        });
        compiled(made.ok() ? *made : nullptr, made.status());
      });
}

void Session::StartStage() {
  const PythonStage& python = attach_.plan.python;
  const bool same_host = wire::SameHost(attach_.host, environment_.host);
  StageRunner::Options options;
  options.zygote.stage = python;
  options.zygote.catch_output = !same_host;
  if (same_host) {
    options.zygote.executable = python.executable;
  } else {
    const char* configured = std::getenv("HEADRACE_PYTHON");
    options.zygote.executable = configured != nullptr ? configured : "python3";
  }
  options.rng = attach_.plan.rng;
  options.lanes = attach_.plan.lanes;
  options.threads = environment_.executor.concurrency();
  StageRunner::Events events;
  events.on_ready = [this](const Status& status) {
    if (!status.ok()) {
      Fail(status);
      return;
    }
    state_ = State::kReady;
    AnswerAttach();
    RunWaiting();
  };
  events.on_done = [this](StageRunner::Made made) {
    std::vector<net::PayloadFrame> frames;
    if (made.hold) frames = net::SplitPayload(made.memory, made.hold);
    environment_.send(peer_, std::move(made.answer), std::move(frames));
  };
  auto started = StageRunner::Start(environment_.reactor, std::move(options),
                                    blobs_.at(python.bundle), std::move(events));
  if (!started.ok()) {
    Fail(started.status());
    return;
  }
  stage_ = std::move(started).value();
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
  RunWaiting();
}

void Session::RunWaiting() {
  std::deque<Waiting> waiting;
  waiting.swap(waiting_);
  for (Waiting& item : waiting) {
    if (auto* batch = std::get_if<wire::BatchRequest>(&item.request)) {
      StartBatch(std::move(*batch), item.received);
    } else {
      StartDescribe(std::move(std::get<wire::Describe>(item.request)));
    }
  }
}

void Session::OnDescribe(wire::Describe request) {
  if (state_ == State::kReady || state_ == State::kFailed) {
    StartDescribe(std::move(request));
  } else if (outstanding() < kMostOutstanding) {
    waiting_.push_back({environment_.reactor.clock().Now(), std::move(request)});
  }
}

void Session::OnBatchRequest(wire::BatchRequest request) {
  const SteadyTime now = environment_.reactor.clock().Now();
  if (outstanding() >= kMostOutstanding) {
    Refuse(request, ResourceExhausted("too many requests wait here"));
  } else if (state_ == State::kReady || state_ == State::kFailed) {
    StartBatch(std::move(request), now);
  } else {
    waiting_.push_back({now, std::move(request)});
  }
}

void Session::StartDescribe(wire::Describe request) {
  if (!failure_.ok() || stage_ || request.keys.empty() || outstanding() >= kMostOutstanding) {
    wire::Described answer;
    answer.request = request.request;
    answer.session = id();
    answer.status = failure_;
    if (stage_) answer.status = Unsupported("a Python plan has no sizes to describe");
    if (outstanding() >= kMostOutstanding) {
      answer.status = ResourceExhausted("too many requests wait here");
    }
    environment_.send(peer_, std::move(answer), {});
    return;
  }
  auto done = OnReactor([](Session& session, std::shared_ptr<DescribeWork> work) {
    session.active_.erase(work);
    session.environment_.send(session.peer_, work->TakeAnswer(), {});
  });
  auto work = std::make_shared<DescribeWork>(plan_, std::move(request), std::move(done));
  active_.insert(work);
  // In front of batches: the trainer can plan nothing before it knows.
  environment_.queue.Push(id(), std::move(work), WorkQueue::Place::kFront);
}

void Session::StartBatch(wire::BatchRequest request, SteadyTime received) {
  if (!failure_.ok()) {
    Refuse(request, failure_);
    return;
  }
  if (stage_) {
    StartStageBatch(std::move(request), received);
    return;
  }
  if (Status status = BatchWork::CheckRequest(*plan_, request); !status.ok()) {
    Refuse(request, std::move(status));
    return;
  }
  if (!plan_->has_chain()) {
    Launch(std::move(request), received, ops::ImageSpec());
    return;
  }
  if (plan_->fixed_output()) {
    Launch(std::move(request), received, *plan_->fixed_output());
    return;
  }
  auto done = OnReactor([received](Session& session, std::shared_ptr<ShapeWork> work) {
    session.active_.erase(work);
    if (work->shape() && !work->cancelled()) {
      session.Launch(work->TakeRequest(), received, *work->shape());
      return;
    }
    wire::BatchDone answer = session.AnswerTo(work->request());
    if (work->cancelled()) answer.status = Cancelled("the iteration was cancelled");
    if (answer.status.ok()) answer.failures = work->TakeFailures();
    session.environment_.send(session.peer_, std::move(answer), {});
  });
  auto work = std::make_shared<ShapeWork>(plan_, std::move(request), std::move(done));
  active_.insert(work);
  environment_.queue.Push(id(), std::move(work), WorkQueue::Place::kFront);
}

void Session::StartStageBatch(wire::BatchRequest request, SteadyTime received) {
  Status status = stage_->CheckRequest(request);
  if (status.ok() && attach_.use_arena && arena_) {
    status = arena_->Slot(request.slot_offset, request.slot_bytes).status();
  }
  if (!status.ok()) {
    Refuse(request, std::move(status));
    return;
  }
  environment_.samples_made += request.keys.size();
  stage_->Submit(std::move(request), attach_.use_arena ? arena_ : nullptr, received);
}

void Session::Launch(wire::BatchRequest request, SteadyTime received, const ops::ImageSpec& shape) {
  Result<BatchLayout> layout = plan_->Layout(request.keys.size(), shape);
  if (!layout.ok()) {
    Refuse(request, layout.status());
    return;
  }
  const std::uint64_t bytes = layout->bytes;
  if (bytes > request.slot_bytes) {
    Refuse(request,
           ResourceExhausted("the batch takes " + std::to_string(bytes) + " bytes, the slot has " +
                             std::to_string(request.slot_bytes)),
           bytes);
    return;
  }
  BatchWork::Setup setup;
  if (attach_.use_arena && arena_) {
    const Result<MutableByteSpan> slot = arena_->Slot(request.slot_offset, request.slot_bytes);
    if (!slot.ok()) {
      Refuse(request, slot.status());
      return;
    }
    setup.memory = slot->first(bytes);
    setup.hold = arena_;
  } else {
    Result<PayloadPool::Buffer> buffer = environment_.payloads.Take(bytes);
    if (!buffer.ok()) {
      Refuse(request, buffer.status());
      return;
    }
    setup.memory = buffer->memory;
    setup.hold = std::move(buffer->hold);
    setup.sends_memory = true;
  }
  setup.plan = plan_;
  setup.cache = cache_;
  setup.layout = std::move(layout).value();
  setup.clock = &environment_.reactor.clock();
  setup.received = received;
  setup.request = std::move(request);
  auto work = std::make_shared<BatchWork>(
      std::move(setup), OnReactor([](Session& session, std::shared_ptr<BatchWork> finished) {
        session.OnBatchDone(finished);
      }));
  active_.insert(work);
  if (work->units() == 0) {
    OnBatchDone(work);  // the trainer makes every sample itself
  } else {
    environment_.queue.Push(id(), std::move(work));
  }
}

void Session::OnBatchDone(const std::shared_ptr<BatchWork>& work) {
  active_.erase(work);
  wire::BatchDone answer = work->TakeAnswer();
  std::vector<net::PayloadFrame> frames;
  if (answer.status.ok()) {
    environment_.samples_made += static_cast<std::uint64_t>(work->units());
    if (work->setup().sends_memory) {
      frames = net::SplitPayload(work->setup().memory, work->setup().hold);
    }
  }
  environment_.send(peer_, std::move(answer), std::move(frames));
}

wire::BatchDone Session::AnswerTo(const wire::BatchRequest& request) const {
  wire::BatchDone answer;
  answer.session = id();
  answer.iteration = request.iteration;
  answer.batch = request.batch;
  answer.attempt = request.attempt;
  return answer;
}

void Session::Refuse(const wire::BatchRequest& request, Status status, std::uint64_t needed_bytes) {
  wire::BatchDone answer = AnswerTo(request);
  answer.status = std::move(status);
  answer.needed_bytes = needed_bytes;
  environment_.send(peer_, std::move(answer), {});
}

void Session::OnCancel(IterationId before) {
  std::deque<Waiting> kept;
  for (Waiting& item : waiting_) {
    const auto* batch = std::get_if<wire::BatchRequest>(&item.request);
    if (batch != nullptr && batch->iteration < before) {
      Refuse(*batch, Cancelled("the iteration was cancelled"));
    } else {
      kept.push_back(std::move(item));
    }
  }
  waiting_ = std::move(kept);
  const auto is_older = [before](const Work& work) {
    return work.iteration().valid() && work.iteration() < before;
  };
  for (const auto& work : active_) {
    if (is_older(*work)) work->Cancel();
  }
  environment_.queue.Cancel(id(), is_older);
  if (stage_) stage_->Cancel(before);
}

void Session::Close() {
  if (closed_) return;
  closed_ = true;
  for (const auto& work : active_) work->Cancel();
  environment_.queue.Cancel(id(), [](const Work&) { return true; });
  active_.clear();
  waiting_.clear();
  stage_.reset();
  arena_.reset();
}

}  // namespace headrace::dataworker
