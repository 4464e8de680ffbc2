#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "coordinator/state/state.h"
#include "coordinator/state/update.h"

namespace headrace::coordinator {

// Keeps the coordinator's durable updates, in order, in one SQLite file (WAL, synchronous=FULL).
// Its own thread commits all waiting records as one transaction (group commit), so the reactor
// never waits for a disk. Appended records are on disk when their callback runs. A crash loses at
// most records whose callback has not run. One file has one owner: a lock refuses a second
// coordinator. Thread rule: Open comes first; Append and Stop on one thread; callbacks run on the
// journal's thread.
class Journal {
 public:
  struct Opened {
    std::unique_ptr<Journal> journal;
    State state;  // the replay of what was there
  };
  // Called once, when a write fails (disk full, I/O error). Nothing after that becomes durable.
  using OnFailure = std::function<void(const Status&)>;

  // Opens or makes DIR/journal.db, replays it and compacts it.
  // kDataLoss: damaged (message names the file, the record and the remedy). kUnavailable: another
  // coordinator has it, or the directory cannot be written.
  static Result<Opened> Open(const std::string& directory, OnFailure on_failure);

  // Finishes the appended records, then ends the thread.
  virtual ~Journal() = default;
  // `on_durable` runs once the updates, and all appended before them, are on disk.
  // REQUIRES: every update is durable.
  virtual void Append(const std::vector<Update>& updates, std::function<void()> on_durable) = 0;
  // Replaces all records, those appended before this call included, by a snapshot.
  virtual void Compact(const std::vector<Update>& snapshot) = 0;
  // Records that were appended and are not on disk. While a disk hangs this grows; the owner takes
  // nothing more in at kMostWaiting.
  [[nodiscard]] virtual std::int64_t waiting() const = 0;
  static constexpr std::int64_t kMostWaiting = 10'000;
  // Records in the file and on their way there.
  [[nodiscard]] virtual std::int64_t records() const = 0;
  // Says whether a snapshot is worth its price: there are kCompactAfter records, and twice as many
  // as in the last snapshot. The second condition is for large clusters, whose snapshot alone is
  // larger than kCompactAfter.
  [[nodiscard]] virtual bool compaction_due() const = 0;
  static constexpr std::int64_t kCompactAfter = 20'000;
  // Idempotent; drains.
  virtual void Stop() = 0;
};

}  // namespace headrace::coordinator
