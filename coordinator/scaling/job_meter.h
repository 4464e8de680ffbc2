#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "coordinator/estimate/estimator.h"
#include "coordinator/scaling/controller.h"
#include "coordinator/scaling/leaf_meter.h"
#include "coordinator/scaling/recent_periods.h"
#include "coordinator/scaling/sent_bytes.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// What a job's reads at its source take, of late. A sample may be missing in the decoded cache and be
// there as encoded bytes: then it is a miss, and no read.
struct SourceReads {
  double fetch_s = 0;  // wall time of one; 0: none was read yet
  double bytes = 0;    // of one
  double hit = 0;      // share of all samples that were not read
};

// Measures one job from the growth of the totals in its client's heartbeats, period by period. It
// yields the terms of the estimator and the input of the job's controller.
//
// Costs are means over the last periods, weighted by samples. Their half-life is kHalfLife periods
// with samples. Before the first sample of a path, its cost is a guess: a hit costs kHitGuess of a
// miss. Thread-compatible; a value.
class JobMeter {
 public:
  static constexpr double kHalfLife = 10;  // periods
  static constexpr double kHitGuess = 0.1;

  // Takes the loads of the latest heartbeat: totals since each session began. Sessions come and go.
  // If the coordinator is new, a session may have run for long: its first load is where counting
  // starts.
  void Report(const std::vector<wire::SessionLoad>& loads);
  // Adds the seconds for which a worker held the job's work back because of a limit of the source.
  // Called once for each heartbeat of each of its workers.
  void ReportLimited(double seconds);
  // Adds the CPU seconds that a worker spent on the job. Called as ReportLimited.
  void ReportUsed(double seconds) {
    used_ += seconds;
    all_used_ += seconds;
  }
  // Says whether samples of the job wait for a thread of a worker. Called once for each heartbeat of each of them.
  void ReportQueued(bool queued) {
    ++reports_;
    queued_ += queued ? 1 : 0;
  }
  // Adds lookups of leaves that a worker has told of since its last heartbeat; and says what all workers hold
  // now, before a period ends. For jobs whose samples are in no cache (LeafMeter).
  void ReportLookups(double hits, double misses) { leaves_.ReportLookups(hits, misses); }
  void HoldLeaves(const LeavesHeld& held) { leaves_.Hold(held); }
  // Ends the period; the controller decides. `granted_cores`: in force during the period of so many
  // `seconds`. A period without reports changes nothing.
  Move EndPeriod(double granted_cores, double seconds = 1);

  [[nodiscard]] const Terms& measured() const { return measured_; }
  [[nodiscard]] const Demand& demand() const { return controller_.demand(); }
  [[nodiscard]] double hit() const { return hit_; }  // share of reads, of late
  [[nodiscard]] const LeafMeter& leaves() const { return leaves_; }
  [[nodiscard]] const SourceReads& reads() const { return reads_; }
  [[nodiscard]] const SentBytes& sent() const { return sent_; }
  [[nodiscard]] double rate() const { return rate_; }               // samples/s delivered, of late
  [[nodiscard]] const TimeShares& times() const { return times_; }  // times of the last period
  [[nodiscard]] const RecentPeriods& recent() const { return recent_; }  // for what people are told
  // Samples that were delivered since counting began, in all of its sessions.
  [[nodiscard]] double received() const { return received_; }
  // Samples that the trainer will still take; kUnlimited: not known.
  [[nodiscard]] double remaining() const;
  // What the job had and used since it began.
  [[nodiscard]] wire::JobTotals totals() const;

 private:
  struct Totals {
    double samples = 0, batches = 0;
    TimeShares times;
    double hits = 0, misses = 0;       // samples
    double hit_cpu = 0, miss_cpu = 0;  // seconds
    double reads = 0, read_s = 0;      // samples read at their source; wall time of that
    double read_bytes = 0;             // of those, where they are counted apart
    double source_bytes = 0;
    void Add(const Totals& more);
  };
  static Totals Growth(const wire::SessionLoad& now, const wire::SessionLoad& before);

  std::unordered_map<SessionId, wire::SessionLoad> last_;
  SentBytes sent_;
  LeafMeter leaves_;
  Totals period_;                  // so far; goes on until a sample was delivered
  double limited_ = 0;             // seconds, since the last period's end
  double used_ = 0, seconds_ = 0;  // CPU time, and time, of period_
  int reports_ = 0, queued_ = 0;   // of workers in period_; those with queued samples
  double buffer_ = 0, ready_ = 0;  // samples, of the sessions with samples in the last report
  double received_ = 0;
  Totals all_;                             // since the job began
  double all_used_ = 0, all_granted_ = 0;  // CPU seconds; core-seconds
  RecentPeriods recent_;
  bool reported_ = false;
  Totals decayed_;  // for the costs
  Terms measured_;
  TimeShares times_;
  double hit_ = 0;
  SourceReads reads_;
  double rate_ = 0;
  Controller controller_;
};

}  // namespace headrace::coordinator
