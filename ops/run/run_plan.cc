#include "ops/run/run_plan.h"

#include <utility>

namespace headrace::ops {
namespace {

// The part of a pass's source that it shows. It is one pixel if it shows none, since an image must
// have pixels.
Window Shown(const FoldedPass& fold) {
  const Window window = fold.SourceWindow();
  return window.height > 0 && window.width > 0 ? window : Window{0, 0, 1, 1};
}

}  // namespace

Params ParamsOf(const Chain& chain, int node, Params params) {
  return params.subspan(static_cast<std::size_t>(chain.param_offset(node)),
                        static_cast<std::size_t>(chain.schema(node).param_words()));
}

// Adds an operator to the pass so far, or ends the pass with it. `params` are its own.
Status RunPlan::Add(int node, const ImageSchema& schema, const ImageKernel& kernel, Params params) {
  FoldedPass& fold = end_;
  if (kernel.folds()) {
    fold.MapFills(schema);
    HR_RETURN_IF_ERROR(kernel.Fold(params, fold));
    fold.SetKind(schema.OutputKind(fold.spec()));
    return Status::Ok();
  }
  if (count_ == steps_.size()) steps_.emplace_back();
  Step& step = steps_[count_++];
  step.node = node;
  step.in = fold.spec();
  HR_RETURN_IF_ERROR(schema.DrawnShape(step.in, params, &step.out));
  std::swap(step.before, fold);
  fold.Reset(step.out);
  return Status::Ok();
}

Status RunPlan::Make(const Chain& chain, std::span<const ImageSchema* const> schemas,
                     std::span<const std::shared_ptr<const ImageKernel>> kernels, int first,
                     int last, int tail, const ImageSpec& in, Params params, OpContext& context) {
  count_ = 0;
  end_.Reset(in);
  const auto add = [&](int node) {
    const auto i = static_cast<std::size_t>(node);
    if (node >= tail && schemas[i]->maps()) return Status::Ok();
    return Add(node, *schemas[i], *kernels[i], ParamsOf(chain, node, params));
  };
  if (chain.parts().empty()) {
    for (int node = first; node < last; ++node) HR_RETURN_IF_ERROR(add(node));
  } else {
    route_.clear();
    HR_RETURN_IF_ERROR(chain.Route(first, last, params, &route_));
    for (const int node : route_) HR_RETURN_IF_ERROR(add(node));
  }

  if (tail < last) {
    ImageSpec kind = end_.spec();
    kind.layout = Layout::kChw;
    end_.SetKind(kind);
  }

  source_ = Shown(end_);
  for (std::size_t i = count_; i-- > 0;) {
    Step& step = steps_[i];
    const ImageKernel& kernel = *kernels[static_cast<std::size_t>(step.node)];
    const Request request{step.in, step.out, ParamsOf(chain, step.node, params), source_};
    HR_TRY(const std::optional<Window> read, kernel.InputWindow(request, context));
    step.makes = read ? request.wanted : WholeOf(step.out);
    step.reads = read.value_or(WholeOf(step.in));
    if (!IsInside(step.reads, step.in)) return Internal("operator reads outside of its input");
    step.before.Reframe(step.reads, {});
    source_ = Shown(step.before);
  }
  return Status::Ok();
}

}  // namespace headrace::ops
