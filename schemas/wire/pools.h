#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/metric.h"
#include "base/result.h"

// Where workers come from, as people see it: parts of control.h.
namespace headrace::wire {

// The most of a message; more is refused.
inline constexpr std::size_t kMaxPools = std::size_t{1} << 10;

struct PoolStatus {
  std::string name = {};  // among the coordinator's pools
  std::string kind = {};  // "static", "local", "slurm"
  // "usable": it is asked in its turn. Or why it is passed over: "closed", "held", "late".
  std::string state = {};
  bool preemptible = false;
  std::uint32_t most = 0;       // members; 0: no bound
  Status trouble = {};          // what stood in the way of workers last; Ok: nothing did
  std::int64_t trouble_ms = 0;  // since it was met last
  bool trouble_stands = false;  // it was met of late, and no worker has come since
  std::string what = {};        // for people: the kind of trouble
  std::string remedy = {};      // for people: what to do about it
  HEADRACE_POOL_METRICS(HEADRACE_METRIC_MEMBER);
  template <typename Visit>
  static void EachMetric(Visit&& visit) {
    using Self = PoolStatus;
    HEADRACE_POOL_METRICS(HEADRACE_METRIC_VISIT);
  }
  // Members that are not there yet, and are to be.
  [[nodiscard]] std::uint32_t coming() const { return queued + starting + waiting; }
  friend bool operator==(const PoolStatus&, const PoolStatus&) = default;
};

// A word for the kind of a pool's trouble: "quota", "forbidden", "no_image", "no_place", "unreachable", "no_room",
// "workers_fail", "other"; empty: there is none.
[[nodiscard]] std::string_view TroubleWord(const Status& trouble);

}  // namespace headrace::wire
