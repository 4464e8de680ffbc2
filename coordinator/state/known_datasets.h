#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace headrace::coordinator {

// A data set that jobs read, or have read.
struct KnownDataset {
  std::string name;    // for people
  std::string tenant;  // of the last job that began to read it
  std::int64_t rows = 0;
  JobId last;  // that job
  bool pinned = false;
  std::uint64_t pinned_bytes = 0;  // at most; 0, if it is pinned: all of it
  bool warm = false;               // workers fill it while they are idle. Volatile
  // What the lanes of a program's stages keep. Nobody says how many samples that is: `rows` is 0.
  bool leaves = false;
};

// An order to give up what jobs have in the caches. It stays until each worker has done it.
struct PendingDrop {
  std::uint64_t number = 0;
  std::uint64_t dataset = 0;
  std::vector<JobId> jobs;
  std::set<WorkerId> waiting;  // workers that have not done it
};

// The data sets of jobs, also of those that have ended: whose entries workers may still have, and what
// the operator wants done with them. Bounded: the data sets that were begun longest ago are forgotten
// first, unless they are pinned. Thread-compatible; a value. Owned by State.
class KnownDatasets {
 public:
  static constexpr std::size_t kMost = 256;        // data sets
  static constexpr std::size_t kMostEnded = 4096;  // jobs that have ended
  static constexpr std::size_t kMostPinned = 64;
  static constexpr std::size_t kMostOfJob = 16;  // and those of its open loaders
  static constexpr std::size_t kMostDrops = 16;  // the oldest are given up

  // A job begins to read the data set.
  void Begin(std::uint64_t dataset, const std::string& name, const std::string& tenant,
             std::int64_t rows, JobId job, bool leaves = false);
  // A job that read it has ended. Nothing, if the data set is forgotten.
  void End(std::uint64_t dataset, JobId job);
  // kDataLoss: it is unknown, or too many are pinned.
  Status Pin(std::uint64_t dataset, std::uint64_t bytes);
  // kDataLoss: it is unknown.
  Status Unpin(std::uint64_t dataset);
  void SetWarm(std::uint64_t dataset, bool warm);
  void AddDrop(PendingDrop drop);
  // The worker has done all drops up to `number`.
  void Dropped(WorkerId worker, std::uint64_t number);
  // The worker is gone, and what it had in memory with it.
  void Forget(WorkerId worker);

  [[nodiscard]] const std::map<std::uint64_t, KnownDataset>& all() const { return datasets_; }
  [[nodiscard]] const KnownDataset* Find(std::uint64_t dataset) const;
  // The data sets of a job that has ended: pairs of it and each of them.
  using Ended = std::pair<JobId, std::uint64_t>;
  [[nodiscard]] std::span<const Ended> OfEnded(JobId job) const;
  // The jobs that have read it and have ended, ascending.
  [[nodiscard]] std::vector<JobId> EndedOf(std::uint64_t dataset) const;
  [[nodiscard]] const std::vector<PendingDrop>& drops() const { return drops_; }
  // The one of most rows; 0: none is known.
  [[nodiscard]] std::uint64_t LargestOf(const std::set<std::uint64_t>& datasets) const;
  // Which data sets of a job are forgotten, beyond kMostOfJob: the smallest that no loader of it reads now. Its leaves
  // stay, and so does the largest that can. What stays does not depend on the order in which loaders were opened: so a
  // snapshot, which knows no order, makes the same.
  [[nodiscard]] std::vector<std::uint64_t> SurplusOf(const std::set<std::uint64_t>& datasets,
                                                     const std::set<std::uint64_t>& open) const;
  // Of a new drop; grows also when the wall clock does not.
  [[nodiscard]] std::uint64_t NextDrop(std::int64_t wall_ms) const;
  [[nodiscard]] bool any_pinned() const { return pinned_ > 0; }
  [[nodiscard]] std::size_t pinned() const { return pinned_; }

 private:
  std::map<std::uint64_t, KnownDataset> datasets_;
  std::vector<Ended> ended_;  // ascending
  std::vector<PendingDrop> drops_;
  std::uint64_t last_drop_ = 0;
  std::size_t pinned_ = 0;
};

}  // namespace headrace::coordinator
