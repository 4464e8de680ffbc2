#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "base/ids.h"
#include "dataworker/cache/cache_entry.h"

namespace headrace::dataworker {

// Bounds what is fetched from slow tiers: `most` entries a job at the same time, from the begin of
// a fetch until its bytes are released. A job that uses its entries slowly holds up only itself.
// The others wait here, first come first served; a waiting fetch is a key. Thread-safe. Shared,
// because pins may outlive the store.
class FetchGate : public std::enable_shared_from_this<FetchGate> {
 public:
  // Keeps one place; the destructor frees it, which may begin the next fetch on that thread.
  using Place = std::shared_ptr<const void>;
  using Begin = std::function<void(Place)>;

  explicit FetchGate(std::size_t most) : most_(most) {}

  // Calls `begin` exactly once: now, on the thread that frees a place, or in Close.
  void Enter(JobId job, Begin begin);
  // Begins all that waits before it returns, and at once what comes later.
  void Close();

 private:
  struct Line {
    std::size_t inside = 0;
    std::deque<Begin> waiting;
    bool beginning = false;  // a thread is in BeginNext
  };
  void Leave(JobId job);
  // Begins what may begin. A loop, not a recursion: a fetch that ends at once frees its place here.
  void BeginNext(JobId job);

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable begun_;
  // Guarded by mutex_:
  bool closed_ = false;
  std::map<JobId, Line> lines_;
};

// The same entry, which keeps its place as long as its bytes are in use.
[[nodiscard]] CachePin WithPlace(CachePin pin, FetchGate::Place place);

}  // namespace headrace::dataworker
