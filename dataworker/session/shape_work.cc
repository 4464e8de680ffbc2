#include "dataworker/session/shape_work.h"

#include <atomic>

#include "dataworker/session/batch_request.h"
#include "dataworker/session/batch_work.h"
#include "dataworker/source/core/source_bytes.h"

namespace headrace::dataworker {

ShapeWork::ShapeWork(std::shared_ptr<const CompiledPlan> plan, std::shared_ptr<SourceReads> reads,
                     const SourceReads::Asker& asker, wire::BatchRequest request, OnDone on_done)
    : Work(1, request.iteration, Reads::kAsked),
      plan_(std::move(plan)),
      reads_(std::move(reads)),
      asker_(asker),
      request_(std::move(request)),
      on_done_(std::move(on_done)),
      positions_(PositionsOf(request_)) {}

Result<std::vector<TensorSpec>> ShapeWork::ValuesOf(const RowAnswer& answer) const {
  HR_RETURN_IF_ERROR(answer.status);
  HR_TRY(CompiledPlan::Shapes shapes, plan_->ShapesOf(answer.spec));
  return std::move(shapes.values);
}

void ShapeWork::Note(const Result<std::vector<TensorSpec>>& values) {
  const std::int32_t position = positions_[next_++];
  if (values.ok()) {
    values_ = *values;
    return;
  }
  const Status status = values.status();
  failures_.push_back({position, status.code(),
                       status.message().substr(0, BatchWork::kMostMessageBytes), status.detail()});
}

void ShapeWork::Run(std::int64_t /*unit*/, ThreadContext& context) { GoOn(context.file); }

void ShapeWork::GoOn(ScratchBuffer& buffer) {
  while (!values_ && next_ < positions_.size() && !cancelled()) {
    const auto at = plan_->Locate(request_.keys[static_cast<std::size_t>(positions_[next_])]);
    if (!at.ok()) {
      Note(at.status());
      continue;
    }
    std::optional<RowAnswer> answer;
    if (reads_->MayReadNow(asker_.job)) {
      answer = AskNow(*at->source, Ask::kSpec, at->row, buffer);
    }
    if (answer) {
      Note(ValuesOf(*answer));
      continue;
    }
    Postpone();
    auto self = std::static_pointer_cast<ShapeWork>(shared_from_this());
    // An answer may come before Fetch returns. The one of the two that is later goes on, so that
    // such answers do not make a call in a call for each sample.
    const auto first = std::make_shared<std::atomic<bool>>(true);
    reads_->Fetch(asker_, Ask::kSpec, std::shared_ptr<Source>(plan_, at->source), {at->row},
                  [self, first](std::size_t, const RowAnswer& answered) {
                    self->Note(self->ValuesOf(answered));
                    if (first->exchange(false)) return;
                    ScratchBuffer own;
                    self->GoOn(own);
                    self->Drop(1);
                  });
    if (first->exchange(false)) return;
    Drop(1);
  }
}

void ShapeWork::Finish() { on_done_(std::static_pointer_cast<ShapeWork>(shared_from_this())); }

}  // namespace headrace::dataworker
