#include "dataworker/session/describe_work.h"

#include <algorithm>

namespace headrace::dataworker {
namespace {

constexpr std::size_t kKeysAUnit = 16;

}  // namespace

DescribeWork::DescribeWork(std::shared_ptr<const CompiledPlan> plan, wire::Describe request,
                           OnDone on_done)
    : Work(static_cast<std::int64_t>((request.keys.size() + kKeysAUnit - 1) / kKeysAUnit)),
      plan_(std::move(plan)),
      keys_(std::move(request.keys)),
      on_done_(std::move(on_done)) {
  answer_.request = request.request;
  answer_.session = request.session;
  answer_.specs.assign(keys_.size(), std::nullopt);
}

void DescribeWork::Run(std::int64_t unit, ThreadContext& context) {
  const std::size_t begin = static_cast<std::size_t>(unit) * kKeysAUnit;
  for (std::size_t i = begin; i < std::min(begin + kKeysAUnit, keys_.size()); ++i) {
    const auto at = plan_->Locate(keys_[i]);
    if (!at.ok()) continue;
    const auto spec = at->source->Describe(at->row, context.file);
    if (spec.ok()) answer_.specs[i] = *spec;
  }
}

void DescribeWork::Finish() {
  if (cancelled()) answer_.status = Cancelled("the session has ended");
  on_done_(std::static_pointer_cast<DescribeWork>(shared_from_this()));
}

}  // namespace headrace::dataworker
