#include "dataworker/session/shape_work.h"

#include "dataworker/session/batch_work.h"

namespace headrace::dataworker {

ShapeWork::ShapeWork(std::shared_ptr<const CompiledPlan> plan, wire::BatchRequest request,
                     OnDone on_done)
    : Work(1, request.iteration),
      plan_(std::move(plan)),
      request_(std::move(request)),
      on_done_(std::move(on_done)) {}

Result<std::vector<TensorSpec>> ShapeWork::ValuesOf(std::int64_t key,
                                                    ThreadContext& context) const {
  HR_TRY(const CompiledPlan::Location at, plan_->Locate(key));
  HR_TRY(const TensorSpec spec, at.source->Describe(at.row, context.file));
  HR_TRY(CompiledPlan::Shapes shapes, plan_->ShapesOf(spec));
  return std::move(shapes.values);
}

void ShapeWork::Run(std::int64_t /*unit*/, ThreadContext& context) {
  for (const std::int32_t position : BatchWork::Positions(request_)) {
    const Result<std::vector<TensorSpec>> values =
        ValuesOf(request_.keys[static_cast<std::size_t>(position)], context);
    if (values.ok()) {
      values_ = *values;
      return;
    }
    const Status status = values.status();
    failures_.push_back(
        {position, status.code(), status.message().substr(0, BatchWork::kMostMessageBytes)});
  }
}

void ShapeWork::Finish() { on_done_(std::static_pointer_cast<ShapeWork>(shared_from_this())); }

}  // namespace headrace::dataworker
