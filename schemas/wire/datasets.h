#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/metric.h"
#include "base/result.h"

// Data sets as they are cached, and what shall be done with them: parts of control.h.
namespace headrace::wire {

// The most parts of all data sets of a message together, and the most data sets; more is refused.
inline constexpr std::size_t kMaxDatasetParts = std::size_t{1} << 20;
// What one worker has of a data set.
struct DatasetPart {
  WorkerId worker;
  std::uint64_t quota_bytes = 0;         // what its jobs may cache there
  std::uint64_t bytes = 0, entries = 0;  // now, without room that is kept for more
  std::uint64_t hits = 0, misses = 0;    // of its jobs, totals since the worker's start
  friend bool operator==(const DatasetPart&, const DatasetPart&) = default;
};
// A data set that jobs read, as it is cached.
struct DatasetStatus {
  std::uint64_t dataset = 0;  // hash of its sources and of what is made before the cache point
  std::string name;           // for people
  std::string form;           // for people: what is cached of a sample
  std::int64_t rows = 0;
  std::uint64_t bytes = 0;  // of all of it in this form; a guess until some of it is cached
  std::vector<JobId> jobs;
  std::vector<DatasetPart> parts;
  std::string phase;         // for people: "filling", "steady", "not cached"
  double hit_share = 0;      // of its jobs' reads of late, 0 to 1
  double hit_when_full = 0;  // what the quotas make of it once they are full, by the estimator
  std::string tenant;        // whose quota counts it
  bool pinned = false;
  std::uint64_t pinned_bytes = 0;  // at most; 0, if it is pinned: all of it
  bool warm = false;               // workers fill it while they are idle
  std::uint32_t dropping = 0;      // workers that still have to drop it
  HEADRACE_DATASET_METRICS(HEADRACE_METRIC_MEMBER);
  template <typename Visit>
  static void EachMetric(Visit&& visit) {
    using Self = DatasetStatus;
    HEADRACE_DATASET_METRICS(HEADRACE_METRIC_VISIT);
  }
  friend bool operator==(const DatasetStatus&, const DatasetStatus&) = default;
};

// What shall be done with a data set.
enum class DatasetAction : std::uint8_t { kUnknown, kWarm, kPin, kUnpin, kDrop };
struct DatasetOrder {
  std::uint64_t request = 0;
  DatasetAction action = DatasetAction::kUnknown;
  std::string name;         // of the data set, or its hash in 16 hex digits
  std::uint64_t bytes = 0;  // to pin at most; 0: all of it
  friend bool operator==(const DatasetOrder&, const DatasetOrder&) = default;
};
struct DatasetOrdered {
  std::uint64_t request = 0;
  Status status;
  std::uint64_t dataset = 0;
  std::string name;
  std::string text;           // for people: what was done
  std::uint32_t workers = 0;  // that were told to drop it
  friend bool operator==(const DatasetOrdered&, const DatasetOrdered&) = default;
};

}  // namespace headrace::wire
