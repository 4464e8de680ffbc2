#include "dataworker/session/session.h"

#include <deque>
#include <utility>
#include <variant>

#include "base/hash.h"
#include "base/log.h"
#include "dataworker/session/compiled_plan.h"
#include "dataworker/session/on_reactor.h"

namespace headrace::dataworker {
namespace {

std::vector<BlobHash> BlobsOf(const wire::Attach& attach) {
  return attach.lanes_given ? std::vector<BlobHash>() : CompiledPlan::BlobsOf(attach.plan);
}

// Whether a request of so many samples may wait beside those that do.
Status CheckRoom(const Quotas& quotas, std::size_t keys, std::size_t waiting) {
  HR_RETURN_IF_ERROR(quotas.batch_keys.Check(keys));
  return Quotas::CheckHere(quotas.requests, waiting + 1);
}

}  // namespace

Session::Session(SessionEnvironment& environment, const wire::Attach& attach)
    : environment_(environment),
      attachment_(environment.reactor.clock(), environment.cache, environment.send, attach,
                  environment.peers),
      memory_(environment.payloads, attach.job),
      blobs_(environment.blobs, attach.job, BlobsOf(attach),
             {environment.memory, environment.limits.quotas.blob_bytes}),
      native_(std::make_shared<NativeRunner>(environment, attachment_, memory_)),
      fill_(std::make_shared<CacheFill>(environment, attachment_)),
      stage_(environment, attachment_, [this](const Status& status) { OnStage(status); }) {}

void Session::Attach(std::string peer, const wire::Attach& attach) {
  attachment_.Renew(std::move(peer), attach);
  memory_.UseArena(attach.use_arena);
  if (state_ == State::kFailed && !blobs_.FindsRoom()) {
    SendAttached();  // says that there is no session yet; the trainer attaches again
    return;
  }
  if (state_ == State::kFailed) {
    stage_.End();
    state_ = State::kWaiting;
    failure_ = Status();
    blobs_.MissAgain();
  }
  blobs_.Restart(attachment_.since());
  if (state_ == State::kWaiting && attachment_.AwaitsArena()) {
    SendAttached();  // says that it has no arena; the trainer attaches again
    return;
  }
  // While the bundle is on its way.
  if (attach.plan.has_python_stage && !blobs_.missing().empty()) stage_.Warm();
  attach_unanswered_ = true;
  outcome_told_ = false;
  CompileWhenComplete();
  // When everything is here, the answer says whether the plan compiles.
  if (attach_unanswered_ && (!blobs_.missing().empty() || decided())) SendAttached();
}

// The peer is not answered yet, or was before it was known whether the plan can run here.
void Session::TellOutcome() {
  if (!outcome_told_) SendAttached();
}

void Session::SendAttached() {
  attach_unanswered_ = false;
  outcome_told_ = decided();
  wire::Attached answer;
  answer.request = attachment_.request().request;
  answer.session = attachment_.session();
  answer.status = failure_;
  answer.use_arena = memory_.used_arena() != nullptr;
  answer.needed_blobs.assign(blobs_.missing().begin(), blobs_.missing().end());
  attachment_.Send(std::move(answer));
}

void Session::OnBlobPart(const wire::BlobPart& part, const std::vector<ByteSpan>& payload) {
  OnBlob(part.hash, blobs_.OnPart(part, payload.empty() ? ByteSpan() : payload.front(),
                                  environment_.reactor.clock().Now()));
}

void Session::OnBlobDescriptor(BlobHash hash, const UniqueFd& fd, std::uint64_t bytes) {
  OnBlob(hash, blobs_.OnDescriptor(hash, fd, bytes, environment_.reactor.clock().Now()));
}

// Verifies a whole blob before it is kept: its sender may be damaged, or lie.
void Session::OnBlob(BlobHash hash, Result<BlobContent> content) {
  if (!content.ok()) {
    // Others end, and then there is room: the trainer attaches again, and asks other workers meanwhile.
    Fail(blobs_.lacks_room() ? NoSession(content.status().message()) : content.status());
    return;
  }
  if (*content == nullptr) return;
  const auto verified =
      OnReactor(environment_.reactor, weak_from_this(),
                [hash](Session& session, BlobContent blob, bool equal) {
                  if (!equal) {
                    session.Fail(DataLoss("the content of blob " + std::to_string(hash.value) +
                                          " is damaged"));
                    return;
                  }
                  session.blobs_.Keep(hash, std::move(blob));
                  session.CompileWhenComplete();
                });
  environment_.executor.Submit([hash, blob = std::move(content).value(),
                                other = blobs_.OfAnotherJob(hash), verified](ThreadContext&) {
    const bool same = other != nullptr && AsText(*other) == AsText(*blob);
    verified(same ? other : blob, same || HashBlob(*blob) == hash);
  });
}

void Session::CompileWhenComplete() {
  if (state_ != State::kWaiting || !blobs_.complete()) return;
  state_ = State::kCompiling;
  if (!attachment_.request().plan.has_python_stage) {
    Compile();
    return;
  }
  Status started = stage_.Start(blobs_.here());
  if (!started.ok()) {
    Fail(std::move(started));
  } else if (attachment_.request().lanes_given) {  // `tell` is not called for them
    state_ = State::kReady;
    RunWaiting();
  }
}

void Session::Compile() {
  const auto compiled =
      OnReactor(environment_.reactor, weak_from_this(),
                [](Session& session, std::shared_ptr<const CompiledPlan> plan, Status status) {
                  if (session.state_ != State::kCompiling) return;
                  if (!status.ok()) {
                    session.Fail(std::move(status));
                    return;
                  }
                  session.fill_->Use(plan);
                  session.native_->Use(std::move(plan));
                  session.state_ = State::kReady;
                  if (session.attach_unanswered_) session.SendAttached();
                  session.RunWaiting();
                });
  const wire::Attach& attach = attachment_.request();
  environment_.executor.Submit(
      [plan = attach.plan, split = attach.split, blobs = blobs_.here(),
       support =
           SourceSupport{&environment_.sources, environment_.limits.allowed_roots, &environment_.io,
                         &environment_.reactor.clock(), &environment_.objects},
       compiled](ThreadContext&) {
        const auto find = [&blobs](BlobHash hash) {
          const auto found = blobs.find(hash);
          return found == blobs.end() ? nullptr : found->second;
        };
        auto made = CompiledPlan::Compile(plan, split, find, support);
        compiled(made.ok() ? *made : nullptr, made.status());
      });
}

void Session::OnStage(const Status& status) {
  if (!status.ok()) {
    Fail(status);
    return;
  }
  state_ = State::kReady;
  TellOutcome();
  RunWaiting();
}

void Session::Fail(Status status) {
  if (state_ == State::kFailed) return;
  LogWarning("session refused job=" + std::to_string(attachment_.job().value) + " error=\"" +
             status.ToString() + "\"");
  failure_ = std::move(status);
  state_ = State::kFailed;
  TellOutcome();
  RunWaiting();
}

bool Session::Abandoned(bool leased, SteadyTime asked) {
  if (!attachment_.Abandoned(leased || memory_.has_arena(), asked)) return false;
  if (state_ == State::kWaiting && waiting_.size() > 0) {
    Fail(NoSession("the session has no trainer"));
  }
  return outstanding() == 0;
}

void Session::OnDescribe(wire::Describe request) {
  const bool room = CheckRoom(environment_.limits.quotas, request.keys.size(), outstanding()).ok();
  if (decided() || !room) {
    StartDescribe(std::move(request));
  } else {
    waiting_.Add({environment_.reactor.clock().Now(), std::move(request)});
  }
}

void Session::OnBatchRequest(wire::BatchRequest request) {
  const SteadyTime now = environment_.reactor.clock().Now();
  if (!waiting_.IsNew(request.attempt)) return;
  // The awaited blobs were lost on their way. The trainer attaches again, and learns what is
  // missing.
  if (state_ == State::kWaiting && blobs_.Stalled(now)) {
    Fail(NoSession("the blobs of the plan did not come"));
  }
  CompileWhenComplete();  // the trainer went on without the arena that was awaited
  if (Status room = CheckRoom(environment_.limits.quotas, request.keys.size(), outstanding());
      !room.ok()) {
    attachment_.Refuse(request, std::move(room));
  } else if (decided()) {
    StartBatch(std::move(request), now);
  } else {
    waiting_.Add({now, std::move(request)});
  }
}

void Session::RunWaiting() {
  for (WaitingRequests::Request& request : waiting_.TakeAll()) {
    if (auto* batch = std::get_if<wire::BatchRequest>(&request.asked)) {
      StartBatch(std::move(*batch), request.received);
    } else {
      StartDescribe(std::move(std::get<wire::Describe>(request.asked)));
    }
  }
}

void Session::StartDescribe(wire::Describe request) {
  wire::Described answer;
  answer.request = request.request;
  answer.session = attachment_.session();
  answer.status = failure_;
  if (stage_.started()) answer.status = Unsupported("a Python plan has no sizes to describe");
  if (Status room = CheckRoom(environment_.limits.quotas, request.keys.size(), outstanding());
      !room.ok())
    answer.status = std::move(room);
  if (answer.status.ok() && !request.keys.empty()) {
    native_->Describe(std::move(request));
  } else {
    attachment_.Send(std::move(answer));
  }
}

void Session::StartBatch(wire::BatchRequest request, SteadyTime received) {
  if (!failure_.ok()) {
    attachment_.Refuse(request, failure_);
  } else if (stage_.started()) {
    stage_.Submit(std::move(request), memory_.used_arena(), received);
  } else {
    native_->Submit(std::move(request), received);
  }
}

void Session::OnCancel(IterationId before) {
  for (const wire::BatchRequest& request : waiting_.TakeOlder(before)) {
    attachment_.Refuse(request, Cancelled("the iteration was cancelled"));
  }
  native_->Cancel(before);
  stage_.Cancel(before);
}

void Session::Close() {
  if (closed_) return;
  closed_ = true;
  fill_->Close();
  native_->Close();
  (void)waiting_.TakeAll();
  stage_.End();
  memory_.Release();
}

}  // namespace headrace::dataworker
