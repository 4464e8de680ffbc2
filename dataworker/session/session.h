#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "dataworker/session/attachment.h"
#include "dataworker/session/batch_memory.h"
#include "dataworker/session/cache_fill.h"
#include "dataworker/session/native_runner.h"
#include "dataworker/session/plan_blobs.h"
#include "dataworker/session/session_environment.h"
#include "dataworker/session/session_stage.h"
#include "dataworker/session/waiting_requests.h"

namespace headrace::dataworker {

// One loader of one trainer, on this worker. It knows when its plan can run, and which of its parts
// a message concerns.
//
//   waiting (for blobs) -last blob verified-> compiling -ok-> ready
//                                                 \----error-> failed
//   ready -Python process lost-> failed -attached again-> waiting
//
// Requests wait until the plan is ready. Reactor thread; the owner calls Close before it releases
// this. Tasks on other threads refer to it weakly. Methods: one for each kind of message.
class Session : public std::enable_shared_from_this<Session> {
 public:
  // Makes a session. REQUIRES: Attach is called with this next.
  Session(SessionEnvironment& environment, const wire::Attach& attach);

  // Its parts, while it lives.
  [[nodiscard]] Attachment& attachment() { return attachment_; }
  [[nodiscard]] BatchMemory& memory() { return memory_; }
  [[nodiscard]] SessionStage& stage() { return stage_; }
  // The number of requests without an answer.
  [[nodiscard]] std::size_t outstanding() const {
    return waiting_.size() + native_->outstanding() + stage_.outstanding();
  }
  // Whether the session must end because nobody else will end it: see Attachment::Abandoned. A
  // shared arena ends with its hang-up. It refuses requests that wait for blobs first.
  [[nodiscard]] bool Abandoned(bool leased, SteadyTime asked);

  // Attaches for the first time, or again: the connection or the coordinator is new, or blobs or
  // the arena are missing. REQUIRES: attachment().SamePlan(attach).
  void Attach(std::string peer, const wire::Attach& attach);
  void OnBlobPart(const wire::BlobPart& part, const std::vector<ByteSpan>& payload);
  void OnBlobDescriptor(BlobHash hash, const UniqueFd& fd, std::uint64_t bytes);
  void OnDescribe(wire::Describe request);
  void OnBatchRequest(wire::BatchRequest request);
  void OnCancel(IterationId before);
  [[nodiscard]] CacheFill& fill() { return *fill_; }
  // Cancels everything. After it nothing is answered and nothing new is written.
  void Close();
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  enum class State { kWaiting, kCompiling, kReady, kFailed };
  [[nodiscard]] bool decided() const { return state_ == State::kReady || state_ == State::kFailed; }
  void OnBlob(BlobHash hash, Result<BlobContent> content);
  void CompileWhenComplete();
  void Compile();
  void OnStage(const Status& status);
  void Fail(Status status);
  void TellOutcome();
  void SendAttached();
  void RunWaiting();
  void StartDescribe(wire::Describe request);
  void StartBatch(wire::BatchRequest request, SteadyTime received);

  SessionEnvironment& environment_;
  Attachment attachment_;
  BatchMemory memory_;
  PlanBlobs blobs_;
  const std::shared_ptr<NativeRunner> native_;  // native plans
  const std::shared_ptr<CacheFill> fill_;       // of native plans
  SessionStage stage_;                          // Python plans
  WaitingRequests waiting_;
  State state_ = State::kWaiting;
  Status failure_;
  bool attach_unanswered_ = false;
  bool outcome_told_ = false;  // the peer knows whether the plan runs here
  bool closed_ = false;
};

}  // namespace headrace::dataworker
