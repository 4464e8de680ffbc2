#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/ids.h"
#include "schemas/wire/control.h"

namespace headrace::web {

// What a trainer waits for, in the order of HistoryStep::waits.
inline constexpr std::array<std::string_view, 7> kCauses = {
    "sampler", "source", "compute", "python", "queue", "network", "copy"};

// A job in one step of time.
struct HistoryStep {
  static constexpr std::uint8_t kUnknown = 255;
  static constexpr double kWhole = 250;
  // Parts of the trainer's time, of kWhole; kUnknown: no trainer took a step then, or nobody looked.
  std::array<std::uint8_t, kCauses.size()> waits = Unknown();
  float samples_per_second = -1;  // -1: nobody looked
  std::uint32_t granted_millicores = 0;
  std::uint32_t demand_millicores = 0;

  [[nodiscard]] bool waits_known() const { return waits[0] != kUnknown; }

 private:
  static constexpr std::array<std::uint8_t, kCauses.size()> Unknown() {
    std::array<std::uint8_t, kCauses.size()> all{};
    all.fill(kUnknown);
    return all;
  }
};

// What each job waited for and was granted, for the last hour, in steps of 5 s. It holds 15 MB at most, for
// 1,024 jobs; of more jobs, those that came first are kept. What a job was is forgotten when it is gone.
// Pure; thread-compatible.
class History {
 public:
  struct Options {
    Duration step = std::chrono::seconds(5);
    std::size_t steps = 720;
    std::size_t jobs = 1024;
  };
  History() : History(Options()) {}
  explicit History(Options options) : options_(options) {}

  // Whether a step is due.
  [[nodiscard]] bool Due(SteadyTime now) const { return StepOf(now) > last_step_; }
  // Ends the step before `now`; nothing if none is due. Steps in which nobody looked are unknown.
  void Observe(const wire::ClusterStatus& status, SteadyTime now);

  // The last step; nullptr: the job has none.
  [[nodiscard]] const HistoryStep* Last(JobId job) const;
  // {"step_seconds", "last_ms", "wait_share": {CAUSE: [...]}, "samples_per_second": [...], "granted_cores":
  // [...], "demand_cores": [...]}, oldest step first, null where nothing is known. Without steps: null.
  [[nodiscard]] std::string Json(JobId job) const;

 private:
  struct OfJob {
    std::deque<HistoryStep> steps;  // the last is of last_step_
    wire::JobTotals totals;         // at the end of the last step
  };
  [[nodiscard]] std::int64_t StepOf(SteadyTime now) const;
  static HistoryStep Step(const wire::JobStatus& job, OfJob& of);

  Options options_;
  std::int64_t last_step_ = -1;
  std::int64_t last_ms_ = 0;  // wall clock
  std::map<JobId, OfJob> jobs_;
};

}  // namespace headrace::web
