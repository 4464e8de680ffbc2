#include "dataworker/cache/disk/open_reads.h"

#include <chrono>

namespace headrace::dataworker {

std::optional<std::uint64_t> OpenReads::Add(Read& read) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return std::nullopt;
  const std::uint64_t number = next_++;
  open_.emplace(number, Open{std::move(read), std::chrono::steady_clock::now()});
  if (!std::exchange(watched_, true)) watcher_.Submit([this] { Watch(); });
  return number;
}

std::optional<std::pair<CacheKey, EntryPlace>> OpenReads::Look(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto at = open_.find(number);
  if (at == open_.end()) return std::nullopt;
  return std::pair(at->second.read.key, at->second.read.place);
}

std::optional<OpenReads::Read> OpenReads::Take(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto at = open_.find(number);
  if (at == open_.end()) return std::nullopt;
  return std::move(open_.extract(at).mapped().read);
}

std::vector<OpenReads::Read> OpenReads::Stop() {
  std::vector<Read> left;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (auto& [number, open] : open_) left.push_back(std::move(open.read));
    open_.clear();
    stops_.notify_all();
  }
  watcher_.Stop();
  return left;
}

void OpenReads::Watch() {
  std::unique_lock lock(mutex_);
  while (!open_.empty() && !stopped_) {
    stops_.wait_for(lock, patience_ / 4);
    const SteadyTime now = std::chrono::steady_clock::now();
    while (!open_.empty() && now - open_.begin()->second.begun > patience_) {
      Read late = std::move(open_.extract(open_.begin()).mapped().read);
      lock.unlock();
      on_late_(std::move(late));
      lock.lock();
    }
  }
  watched_ = false;
}

}  // namespace headrace::dataworker
