#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "dataworker/cache/cache_entry.h"
#include "dataworker/cache/cache_tier.h"
#include "dataworker/cache/chunk_store.h"
#include "dataworker/exec/io_executor.h"

namespace headrace::dataworker {

// Where an entry lies.
struct EntryPlace {
  std::shared_ptr<Chunk> chunk;
  std::uint64_t offset = 0;  // of its record
  std::uint64_t bytes = 0;   // of its payload
};

// Questions to a disk that were not answered yet. Each is answered by whoever takes it, so once: by the
// thread that has read, or as late. Thread-safe.
class OpenReads {
 public:
  struct Read {
    JobId job;
    CacheKey key;
    EntryPlace place;
    CacheTier::OnFound on_found;
  };
  // Takes a read that is older than `patience`, on a thread of this object.
  using OnLate = std::function<void(Read)>;

  OpenReads(Duration patience, OnLate on_late)
      : patience_(patience), on_late_(std::move(on_late)) {}

  // The number of the read. It may be late as soon as it is here. nullopt, and `read` stays: stopped.
  std::optional<std::uint64_t> Add(Read& read);
  // What is to be read; nullopt: it was taken.
  [[nodiscard]] std::optional<std::pair<CacheKey, EntryPlace>> Look(std::uint64_t number) const;
  [[nodiscard]] std::optional<Read> Take(std::uint64_t number);
  // Takes all, and no more come. Returns when no late one is being answered.
  [[nodiscard]] std::vector<Read> Stop();

 private:
  struct Open {
    Read read;
    SteadyTime begun;
  };
  // Looks after late reads as long as there are reads.
  void Watch();

  const Duration patience_;
  const OnLate on_late_;
  mutable std::mutex mutex_;
  std::condition_variable stops_;
  // Guarded by mutex_:
  std::map<std::uint64_t, Open> open_;  // the oldest first
  std::uint64_t next_ = 1;
  bool watched_ = false, stopped_ = false;

  IoExecutor watcher_{1};
};

}  // namespace headrace::dataworker
