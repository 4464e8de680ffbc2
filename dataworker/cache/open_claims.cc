#include "dataworker/cache/open_claims.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace headrace::dataworker {

OpenClaims::Token OpenClaims::Begin(const EntryId& id) {
  {
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = open_.try_emplace(id);
    if (!is_new) return nullptr;
    at->second.since = now_;
  }
  return {this, [self = shared_from_this(), id](const void*) { self->End(id); }};
}

void OpenClaims::End(const EntryId& id) {
  std::vector<Waiter> waiters;
  {
    const std::lock_guard lock(mutex_);
    const auto at = open_.find(id);
    waiters = std::move(at->second.waiters);
    open_.erase(at);
  }
  for (const Waiter& waiter : waiters) waiter.on_end(true);
}

OpenClaims::Wait OpenClaims::Await(const EntryId& id, OnEnd on_end) {
  const std::lock_guard lock(mutex_);
  const auto at = open_.find(id);
  if (at == open_.end()) return Wait::kEnded;
  if (closed_ || now_ - at->second.since >= kPatience) return Wait::kTooOld;
  at->second.waiters.push_back({now_, std::move(on_end)});
  return Wait::kWaits;
}

void OpenClaims::Tick() {
  std::vector<Waiter> late;
  {
    const std::lock_guard lock(mutex_);
    ++now_;
    for (auto& [id, open] : open_) {
      const auto end = std::ranges::partition(
          open.waiters, [this](const Waiter& waiter) { return now_ - waiter.since < kPatience; });
      std::ranges::move(end, std::back_inserter(late));
      open.waiters.erase(end.begin(), end.end());
    }
  }
  for (const Waiter& waiter : late) waiter.on_end(false);
}

void OpenClaims::Close() {
  std::vector<Waiter> all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (auto& [id, open] : open_) {
      std::ranges::move(open.waiters, std::back_inserter(all));
      open.waiters.clear();
    }
  }
  for (const Waiter& waiter : all) waiter.on_end(false);
}

}  // namespace headrace::dataworker
