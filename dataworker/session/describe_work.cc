#include "dataworker/session/describe_work.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>

#include "dataworker/source/core/source_bytes.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kKeysAUnit = 16;

}  // namespace

DescribeWork::DescribeWork(std::shared_ptr<const CompiledPlan> plan,
                           std::shared_ptr<SourceReads> reads, const SourceReads::Asker& asker,
                           wire::Describe request, OnDone on_done)
    : Work(static_cast<std::int64_t>((request.keys.size() + kKeysAUnit - 1) / kKeysAUnit),
           asker.iteration, Reads::kAsked),
      plan_(std::move(plan)),
      reads_(std::move(reads)),
      asker_(asker),
      keys_(std::move(request.keys)),
      on_done_(std::move(on_done)) {
  answer_.request = request.request;
  answer_.session = request.session;
  answer_.specs.assign(keys_.size(), std::nullopt);
}

void DescribeWork::Run(std::int64_t unit, ThreadContext& context) {
  const std::size_t begin = static_cast<std::size_t>(unit) * kKeysAUnit;
  std::map<Source*, Later> later;
  for (std::size_t i = begin; i < std::min(begin + kKeysAUnit, keys_.size()); ++i) {
    const auto at = plan_->Locate(keys_[i]);
    if (!at.ok()) continue;
    std::optional<RowAnswer> answer;
    if (reads_->MayReadNow(asker_.job)) {
      answer = AskNow(*at->source, Ask::kSpec, at->row, context.file);
    }
    if (answer) {
      Note(i, *answer);
    } else {
      later[at->source].which.push_back(i);
      later[at->source].rows.push_back(at->row);
    }
  }
  for (auto& [source, rows] : later) Await(source, std::move(rows));
}

void DescribeWork::Await(Source* source, Later later) {
  Postpone();
  auto self = std::static_pointer_cast<DescribeWork>(shared_from_this());
  const auto left = std::make_shared<std::atomic<std::size_t>>(later.rows.size());
  reads_->Fetch(asker_, Ask::kSpec, std::shared_ptr<Source>(plan_, source), later.rows,
                [self, left, which = later.which](std::size_t index, const RowAnswer& answer) {
                  self->Note(which[index], answer);
                  if (--*left == 0) self->Drop(1);
                });
}

void DescribeWork::Note(std::size_t key, const RowAnswer& answer) {
  if (answer.status.ok()) answer_.specs[key] = answer.spec;
}

void DescribeWork::Finish() {
  if (cancelled()) answer_.status = Cancelled("the session has ended");
  on_done_(std::static_pointer_cast<DescribeWork>(shared_from_this()));
}

}  // namespace headrace::dataworker
