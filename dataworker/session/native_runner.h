#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "dataworker/session/attachment.h"
#include "dataworker/session/batch_memory.h"
#include "dataworker/session/batch_work.h"
#include "dataworker/session/compiled_plan.h"
#include "dataworker/session/on_reactor.h"
#include "dataworker/session/session_environment.h"
#include "dataworker/session/shape_work.h"

namespace headrace::dataworker {

// Runs a session's requests to its native plan on the compute threads, and answers them: batches,
// and the sizes of samples. If the plan alone does not give a batch's shape, it finds the shape
// first; if each sample has its own, the shapes of all of them. Reactor thread; the owner calls Close before it releases this. Work on other threads
// refers to it weakly.
class NativeRunner : public std::enable_shared_from_this<NativeRunner> {
 public:
  // All of them outlive it.
  NativeRunner(SessionEnvironment& environment, const Attachment& attachment, BatchMemory& memory)
      : environment_(environment), attachment_(attachment), memory_(memory) {}

  // The session's plan. A session compiles one: what fails before it is attached again.
  void Use(std::shared_ptr<const CompiledPlan> plan) { plan_ = std::move(plan); }

  // Answers before the queued batches, because the trainer can't plan without the sizes. REQUIRES:
  // Use was called; the request has keys.
  void Describe(wire::Describe request);
  // Makes a batch. Answers with an error where
  //
  //   kInvalidArgument    the request does not fit the plan, or its slot the arena
  //   kResourceExhausted  the slot is too small: needed_bytes says what would do; or too much is on
  //                       its way to trainers
  //   kCancelled          it was cancelled, and parts of it had not begun
  //
  // REQUIRES: Use was called.
  void Submit(wire::BatchRequest request, SteadyTime received);
  // Cancels requests for batches of older iterations that have not begun.
  void Cancel(IterationId before);
  // The number of requests without an answer.
  [[nodiscard]] std::size_t outstanding() const { return active_.size(); }

  // Cancels everything, and stops the plan's sources. After it nothing is answered and nothing new
  // is written.
  void Close();
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  void Push(std::shared_ptr<Work> work, WorkQueue::Place place);
  [[nodiscard]] SourceReads::Asker AskerOf(IterationId iteration) const {
    return {attachment_.job(), attachment_.session(), iteration};
  }
  // Lays the batch out by the shape of one sample that can be described.
  void FindShape(wire::BatchRequest request, SteadyTime received);
  void OnShape(const std::shared_ptr<ShapeWork>& work, SteadyTime received);
  // The same by the shapes of all samples.
  void FindShapes(wire::BatchRequest request, SteadyTime received);
  void LaunchEach(wire::BatchRequest request, SteadyTime received,
                  std::span<const std::optional<TensorSpec>> specs);
  void Launch(wire::BatchRequest request, SteadyTime received, BatchValues values);
  void OnBatchDone(const std::shared_ptr<BatchWork>& work);
  template <typename Then>
  [[nodiscard]] auto WhenDone(Then then) {
    return OnReactor(environment_.reactor, weak_from_this(), std::move(then));
  }

  SessionEnvironment& environment_;
  const Attachment& attachment_;
  BatchMemory& memory_;
  std::shared_ptr<const CompiledPlan> plan_;
  const std::shared_ptr<FirstAsk> first_ask_ = std::make_shared<FirstAsk>();
  std::set<std::shared_ptr<Work>> active_;
  bool closed_ = false;
};

}  // namespace headrace::dataworker
