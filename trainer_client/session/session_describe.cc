// The part of SessionPump that asks workers for the sizes of images.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "trainer_client/session/session_pump.h"

namespace headrace::client {
namespace {

constexpr std::size_t kDescribeKeys = 256;

}  // namespace

void SessionPump::DescribeUnknown() {
  for (const std::int64_t key : planner_.TakeUnknown()) undescribed_.push_back(key);
  if (undescribed_.empty() || dispatcher_.ready_workers() == 0) return;
  std::vector<WorkerLink*> ready;
  for (const auto& [id, link] : links_) {
    if (link->state() == WorkerLink::State::kReady) ready.push_back(link.get());
  }
  if (ready.empty()) return;
  std::size_t next = next_request_ % ready.size();
  for (std::size_t from = 0; from < undescribed_.size(); from += kDescribeKeys) {
    wire::Describe describe;
    describe.request = ++next_request_;
    describe.session = context_.session;
    const auto end = std::min(undescribed_.size(), from + kDescribeKeys);
    describe.keys.assign(undescribed_.begin() + static_cast<std::ptrdiff_t>(from),
                         undescribed_.begin() + static_cast<std::ptrdiff_t>(end));
    WorkerLink& link = *ready[next++ % ready.size()];
    const Status sent = link.Send(describe);
    if (!sent.ok()) LogDebug("describe not sent error=\"" + sent.ToString() + "\"");
    // Unsent ones time out like lost ones.
    describing_.emplace(describe.request, Describing{link.worker().worker, std::move(describe.keys),
                                                     reactor_->clock().Now()});
  }
  undescribed_.clear();
}

void SessionPump::OnDescribed(WorkerId worker, const wire::Described& described) {
  const auto at = describing_.find(described.request);
  if (described.session != context_.session || at == describing_.end() ||
      at->second.worker != worker) {
    return;
  }
  const Describing describing = std::move(at->second);
  describing_.erase(at);
  const Code code = described.status.code();
  if (code == Code::kNotFound || code == Code::kUnavailable || code == Code::kCancelled) {
    planner_.DescribeLost(describing.keys);
    if (code == Code::kNotFound) Forgotten(worker);
  } else {
    // Whatever else is wrong with them: the trainer's own code will say it.
    const bool valid = described.status.ok() && described.heights.size() == describing.keys.size();
    for (std::size_t i = 0; i < describing.keys.size(); ++i) {
      planner_.Described(describing.keys[i], valid ? described.heights[i] : -1,
                         valid ? described.widths[i] : -1, valid ? described.channels[i] : -1);
    }
  }
  Pump();
}

void SessionPump::LoseDescribes(WorkerId worker) {
  for (auto it = describing_.begin(); it != describing_.end();) {
    if (it->second.worker != worker) {
      ++it;
      continue;
    }
    planner_.DescribeLost(it->second.keys);
    it = describing_.erase(it);
  }
}

}  // namespace headrace::client
