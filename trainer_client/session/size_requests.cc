#include "trainer_client/session/size_requests.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace headrace::client {

bool SizeRequests::Collect() {
  for (const std::int64_t key : planner_.TakeUnknown()) waiting_.push_back(key);
  return !waiting_.empty();
}

void SizeRequests::Ask(std::span<const WorkerId> ready, SteadyTime now, const Send& send) {
  if (ready.empty()) return;
  std::size_t next = next_ % ready.size();
  // Sending may end a worker's link, which calls Lose.
  const std::vector<std::int64_t> keys = std::exchange(waiting_, {});
  for (std::size_t from = 0; from < keys.size(); from += kMostKeys) {
    wire::Describe describe;
    describe.request = ++next_;
    describe.session = session_;
    const auto end = std::min(keys.size(), from + kMostKeys);
    describe.keys.assign(keys.begin() + static_cast<std::ptrdiff_t>(from),
                         keys.begin() + static_cast<std::ptrdiff_t>(end));
    const WorkerId worker = ready[next++ % ready.size()];
    send(worker, describe);
    open_.emplace(describe.request, Open{worker, std::move(describe.keys), now});
  }
}

bool SizeRequests::OnDescribed(WorkerId worker, const wire::Described& described) {
  const auto at = open_.find(described.request);
  if (described.session != session_ || at == open_.end() || at->second.worker != worker) {
    return true;
  }
  const Open open = std::move(at->second);
  open_.erase(at);
  if (!open.late) patience_ = kPatience;
  const Code code = described.status.code();
  if (code == Code::kNotFound || code == Code::kUnavailable || code == Code::kCancelled) {
    if (!open.late) planner_.DescribeLost(open.keys);
    return !IsNoSession(described.status);
  }
  // If anything else is wrong with them, the trainer's own code will report it.
  const bool valid = described.status.ok() && described.specs.size() == open.keys.size();
  for (std::size_t i = 0; i < open.keys.size(); ++i) {
    planner_.Described(open.keys[i], valid ? described.specs[i] : std::nullopt);
  }
  return true;
}

void SizeRequests::Lose(WorkerId worker) {
  std::erase_if(open_, [&](const auto& entry) {
    if (entry.second.worker != worker) return false;
    if (!entry.second.late) planner_.DescribeLost(entry.second.keys);
    return true;
  });
}

void SizeRequests::AskLateAgain(SteadyTime now) {
  bool some = false;
  for (auto& [request, open] : open_) {
    if (open.late || now - open.sent < patience_) continue;
    open.late = some = true;
    planner_.DescribeLost(open.keys);
  }
  if (some) patience_ = std::min<Duration>(2 * patience_, kMostPatience);
  std::erase_if(open_, [&](const auto& entry) {
    return entry.second.late && now - entry.second.sent >= 2 * kMostPatience;
  });
}

}  // namespace headrace::client
