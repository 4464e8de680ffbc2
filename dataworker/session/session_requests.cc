// The requests of a session: what its trainer asks, and the answers.
#include <algorithm>
#include <utility>

#include "dataworker/session/session.h"
#include "net/payload.h"

namespace headrace::dataworker {
namespace {

// Far above what a trainer's slots allow; a peer that goes beyond is not one.
constexpr std::size_t kMostOutstanding = 8192;
constexpr Duration kBlobPatience = std::chrono::seconds(5);
// Attempts count up, so those far behind are over.
constexpr std::size_t kAttemptsKept = 4096;

}  // namespace

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
  if (!asked_.insert(request.attempt).second) return;
  if (asked_.size() > kAttemptsKept) asked_.erase(asked_.begin());
  // What it waits for went lost on its way: the trainer attaches again, and hears what is missing.
  if (state_ == State::kWaiting && !needed_.empty() && now - blob_heard_ > kBlobPatience) {
    Fail(NotFound("the blobs of the plan did not come"));
  }
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
  environment_.queue.Push(job(), id(), std::move(work), WorkQueue::Place::kFront);
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
  environment_.queue.Push(job(), id(), std::move(work), WorkQueue::Place::kFront);
}

void Session::CountSamples(std::uint64_t samples) {
  environment_.samples_made += samples;
  environment_.ledger.AddSamples(job(), samples);
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
  CountSamples(request.keys.size());
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
    environment_.queue.Push(job(), id(), std::move(work));
  }
}

void Session::OnBatchDone(const std::shared_ptr<BatchWork>& work) {
  active_.erase(work);
  wire::BatchDone answer = work->TakeAnswer();
  std::vector<net::PayloadFrame> frames;
  if (answer.status.ok()) {
    CountSamples(static_cast<std::uint64_t>(work->units()));
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

}  // namespace headrace::dataworker
