#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "coordinator/estimate/estimator.h"
#include "coordinator/scaling/epoch_length.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// What a job's workers hold of leaves (docs/reference/lanes.md#leaves), now.
struct LeavesHeld {
  double entries = 0;
  double bytes = 0;    // of the entries alone
  double room = 0;     // that they take
  double quota = 0;    // granted on these workers
  double made_s = 0;   // CPU time that making them took
  double workers = 0;  // with entries; each keeps its own
  // Adds what one worker has.
  void Add(const wire::JobUsage& usage, std::uint64_t quota_bytes);
};

// Measures what leaves are worth to a job whose stages keep some, period by period. A stage looks several times for
// a sample, or once in many. Its CPU time comes as one sum, whatever was found. So what a hit saves is taken from
// what the kept entries took to make, and the costs of hits and misses follow (TermsOf).
//
// Means have a half-life of kHalfLife periods with samples. Lookups come late, in lumps: lanes tell of them every
// few seconds. Thread-compatible; a value.
class LeafMeter {
 public:
  static constexpr double kHalfLife = 10;  // periods
  // What finding an entry and copying it takes: CPU seconds, and seconds a byte (bench/report/leaves.md).
  static constexpr double kFindSeconds = 30e-6, kFindSecondsPerByte = 0.05e-9;
  // Entries of a data set differ in size.
  static constexpr double kSlack = 1.05;

  // Adds lookups of which a worker has told.
  void ReportLookups(double hits, double misses);
  void ReportLoads(const std::vector<wire::SessionLoad>& loads) { epochs_.Report(loads); }
  void Hold(const LeavesHeld& held) { held_ = held; }
  // Ends a period in which so many samples were made.
  void EndPeriod(double samples);

  // Whether there were entries to learn from, and lookups.
  [[nodiscard]] bool known() const { return entry_bytes_ > 0 && lookups_a_sample() > 0; }
  // Part of what is worth keeping that was found, 0..1, of late.
  [[nodiscard]] double hit() const;
  // Lookups a sample, of what is worth keeping. Others are misses forever, and no cache changes that.
  [[nodiscard]] double lookups_a_sample() const;
  // Core-seconds that a sample takes less if all its lookups hit.
  [[nodiscard]] double saved() const;
  // Means of what was kept: bytes of an entry, and CPU seconds that making it took.
  [[nodiscard]] double entry_bytes() const { return entry_bytes_; }
  [[nodiscard]] double entry_seconds() const { return entry_s_; }
  [[nodiscard]] double held_bytes() const { return held_.room; }  // by all workers, now
  // Bytes of all that is worth keeping; nullopt: not known yet.
  [[nodiscard]] std::optional<double> bytes() const;
  // The estimator's terms from those of all samples together: `whole.miss_cost` is what a sample takes at the
  // present share of hits, and `whole.miss_bytes` what it reads. REQUIRES: known().
  [[nodiscard]] Terms TermsOf(Terms whole) const;

 private:
  [[nodiscard]] double raw_hit() const { return lookups_ > 0 ? hits_ / lookups_ : 0; }
  [[nodiscard]] double raw_lookups() const { return samples_ > 0 ? lookups_ / samples_ : 0; }
  // Whether nothing was added for longer than an epoch, and not for want of room.
  [[nodiscard]] bool is_whole() const;

  EpochLength epochs_;
  LeavesHeld held_;
  double new_hits_ = 0, new_lookups_ = 0;  // in this period
  // Decayed sums. cached_: bytes on a worker, by lookups.
  double samples_ = 0, lookups_ = 0, hits_ = 0, cached_ = 0;
  double entry_bytes_ = 0, entry_s_ = 0;
  double grown_to_ = 0;  // bytes, when something was added last
  double since_ = 0;     // lookups since then
  double reach_ = 1;     // part of the lookups that can hit
};

}  // namespace headrace::coordinator
