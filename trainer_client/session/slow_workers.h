#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"

namespace headrace::client {

// Decides which workers a session lets rest: those that are much slower than their peers for long. It is
// told how many batches each worker made first, and how many another one made before it, because it
// was late.
//
//   judged    at the end of each window, if it was late for its share of the last `windows` ones in
//             a row while its peers were not  -> resting
//   resting   `until` has come                -> judged
//
// A worker that has to rest again soon rests twice as long. The last worker never rests. Pure. Reactor
// thread.
class SlowWorkers {
 public:
  struct Rules {
    Duration window = std::chrono::seconds(10);
    std::int32_t windows = 3;      // in a row; 0: no worker ever rests
    std::uint64_t least_late = 3;  // batches in each window
    double late_share = 0.5;       // of its batches in each window, at least
    double peers_share = 0.1;      // of all its peers' batches, at most
    Duration first_rest = std::chrono::minutes(1);
    Duration longest_rest = std::chrono::minutes(30);
  };
  struct Rest {
    SteadyTime until;
    std::string reason;  // for people
    friend bool operator==(const Rest&, const Rest&) = default;
  };

  explicit SlowWorkers(Rules rules) : rules_(rules) {}

  // Adds what was counted since the last report.
  void Report(WorkerId worker, std::uint64_t made, std::uint64_t late);
  [[nodiscard]] bool Due(SteadyTime now) const {
    return rules_.windows > 0 && now - began_ >= rules_.window;
  }
  // Ends the window, and the rest of those whose time has come. `usable`: the workers that are there,
  // those that rest included. At most one more worker rests after it.
  void EndWindow(const std::set<WorkerId>& usable, SteadyTime now);
  [[nodiscard]] const std::map<WorkerId, Rest>& resting() const { return resting_; }
  // What the coordinator is told: those that rest, and those that have rested and were not good in
  // `windows` windows in a row since. With the reason, for people.
  [[nodiscard]] std::map<WorkerId, std::string> slow() const;

 private:
  struct Counts {
    std::uint64_t made = 0, late = 0;
    [[nodiscard]] std::uint64_t all() const { return made + late; }
  };
  struct Record {
    Counts window;
    std::int32_t late_windows = 0;  // in a row
    std::int32_t good_windows = 0;  // in a row
    std::int32_t rests = 0;         // soon after each other
    std::string slow;               // why it had to rest; empty: it need not, or is good again
  };

  [[nodiscard]] bool IsLate(const Counts& counts, const Counts& peers) const;

  Rules rules_;
  std::map<WorkerId, Record> records_;
  std::map<WorkerId, Rest> resting_;
  SteadyTime began_{};
};

}  // namespace headrace::client
