#include "dataworker/cache/fetch_gate.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace headrace::dataworker {

void FetchGate::Enter(JobId job, Begin begin) {
  {
    const std::lock_guard lock(mutex_);
    lines_[job].waiting.push_back(std::move(begin));
  }
  BeginNext(job);
}

void FetchGate::Leave(JobId job) {
  {
    const std::lock_guard lock(mutex_);
    --lines_.at(job).inside;
  }
  BeginNext(job);
}

void FetchGate::BeginNext(JobId job) {
  std::unique_lock lock(mutex_);
  const auto at = lines_.find(job);
  if (at == lines_.end() || at->second.beginning) return;
  Line& line = at->second;
  line.beginning = true;
  while (!line.waiting.empty() && (closed_ || line.inside < most_)) {
    const Begin begin = std::move(line.waiting.front());
    line.waiting.pop_front();
    ++line.inside;
    lock.unlock();
    begin(Place(this, [gate = shared_from_this(), job](const void*) { gate->Leave(job); }));
    lock.lock();
  }
  line.beginning = false;
  begun_.notify_all();
  if (line.inside == 0 && line.waiting.empty()) lines_.erase(at);
}

void FetchGate::Close() {
  std::vector<JobId> jobs;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (const auto& [job, line] : lines_) jobs.push_back(job);
  }
  for (const JobId job : jobs) BeginNext(job);
  std::unique_lock lock(mutex_);
  begun_.wait(lock, [this] {
    return std::ranges::none_of(lines_, [](const auto& line) { return line.second.beginning; });
  });
}

CachePin WithPlace(CachePin pin, FetchGate::Place place) {
  const ByteSpan bytes = pin.bytes();
  const Duration cost = pin.cost();
  struct Held {
    CachePin pin;
    FetchGate::Place place;  // freed first: the next fetch does not wait for the memory's release
  };
  return {bytes, std::make_shared<const Held>(std::move(pin), std::move(place)), cost};
}

}  // namespace headrace::dataworker
