#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "coordinator/policy/core/policy.h"
#include "simulate/what_if/live_state.h"

// What would change if the cluster were another one: the same policy on the same state, simulated with and without
// each of several changes. All functions are pure.
namespace headrace::simulate {

// What a simulation from a state expects.
struct Forecast {
  // By job of the state's trace. Seconds from the state's moment until it ends; kUnlimited: its remaining work is
  // not known.
  std::vector<double> left_s;
  double mean_left_s = 0;  // of the jobs whose remaining work is known; 0: of none
  // Of the next hour, or until the last job ends. Samples by job, and part of the time of all GPUs that they wait
  // for data, 0..1.
  std::vector<double> hour_samples;
  double hour_s = 0;
  double stall_share = 0;
};
// kInfeasible: some jobs never go on.
[[nodiscard]] Result<Forecast> Foresee(const LiveState& state, const coordinator::Policy& policy);

enum class ChangeKind : std::uint8_t {
  kCores,     // more of them
  kCache,     // more bytes
  kSource,    // more bytes/s of the source
  kPriority,  // of one job, above all others
  kHold,      // one job waits until the others have ended: an order of GPUs
};
struct Change {
  ChangeKind kind = ChangeKind::kCores;
  double amount = 0;  // cores, bytes, bytes/s, the priority, seconds
  std::string job;    // of kPriority and kHold: its name
  // kHold alone: Headrace gives no GPUs. It is for the cluster's scheduler.
  [[nodiscard]] bool for_scheduler() const { return kind == ChangeKind::kHold; }
  friend bool operator==(const Change&, const Change&) = default;
};
// The state with this change alone. A job that is held is the last one of the trace.
[[nodiscard]] LiveState WithChange(const LiveState& state, const Change& change);

struct AdviceRow {
  Change change;
  Forecast forecast;  // its jobs are in the order of the state that was asked about
};
// A job's place in the order of least remaining work (GpuOrder::kPacked).
struct Hint {
  std::size_t job = 0;   // position in the trace
  double work_s = 0;     // WorkLeft: seconds of the whole cluster; kUnlimited: not known, and last
  bool starved = false;  // after those before it, its GPUs would mostly wait for cores (UsersOf)
};
struct Advice {
  Forecast now;  // without a change
  std::vector<AdviceRow> rows;
  // For the cluster's scheduler: who should have GPUs first. Advice that Headrace does not follow itself.
  std::vector<Hint> hints;
};

// `job`: position of the one that is asked about; none: all.
[[nodiscard]] Result<Advice> Advise(const LiveState& state, const coordinator::Policy& policy,
                                    std::optional<std::size_t> job);
// Position of the job of that name. kNotFound: the message says which there are.
[[nodiscard]] Result<std::size_t> FindJob(const LiveState& state, const std::string& name);

[[nodiscard]] std::string AdviceTable(const LiveState& state, const Advice& advice,
                                      std::optional<std::size_t> job);
[[nodiscard]] std::string AdviceJson(const LiveState& state, const Advice& advice,
                                     std::optional<std::size_t> job);

}  // namespace headrace::simulate
