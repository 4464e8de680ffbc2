#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string_view>

#include "coordinator/estimate/estimator.h"

// What one job should be provided with, decided once a control period (the client's heartbeat, 1 s)
// from what it measured. Feed-forward first: a trainer that takes g samples/s of c core-seconds
// each needs g * c cores, and both are known even while it starves, because the time of its own
// steps is measured apart from its waiting. Feedback corrects what the estimator does not know
// (slower cores, memory bandwidth, busy hosts). Then hysteresis, so that noise moves no lease.
//
//   measured                                        demand
//   need > demand, and the trainer waits (> 5%)     need, at once
//   need > 1.25 demand, waiting or not              need, at once
//   largest need of 10 periods < 0.8 demand         that need: what is idle is given back
//   provided in full for 2 periods, still waits     trim up: cost * (1 + waiting), at most 1.5 a
//   time trim up brought no throughput (< 1/4 of what it should)   trim back, held for 60 periods:
//   cores
//                                                   are not what it waits for
//   does not wait (< 1%) for 30 periods, trim > 1   trim down by 5%
//
// `need` is the median of the last three periods' g * cost, so one odd period changes nothing and
// two show a step.
namespace headrace::coordinator {

// One control period of one job.
struct Sample {
  double samples = 0;        // delivered
  double step_s = 0;         // the trainer's own time, not waiting
  double wait_s = 0;         // blocked in next(), of which
  double cores_wait_s = 0;   // for what more cores would cure (decode, Python stage, queue)
  double granted_cores = 0;  // in force during the period
  double hit = 0;            // effective share of reads from the cache
};

struct Demand {
  Terms terms;         // to be provided for: trimmed and held
  double cores = 0;    // CoresFor(terms, terms.ready_rate, hit)
  bool known = false;  // false: nothing measured yet
};

enum class Move : std::uint8_t { kHold, kGrow, kShrink, kTrimUp, kTrimBack, kTrimDown };
[[nodiscard]] std::string_view Name(Move move);

// Thread-compatible; a value.
class Controller {
 public:
  struct Options {
    double wait_high = 0.05;  // share of time above which a trainer waits
    double wait_low = 0.01;   // below which it does not
    double grow_margin = 0.25;
    double shrink_below = 0.8;
    int shrink_periods = 10;
    int trim_after = 2;  // periods provided in full
    double most_trim_step = 0.5;
    double most_trim = 4;
    int trim_hold = 60;
    int calm_periods = 30;
  };
  Controller() : Controller(Options{}) {}
  explicit Controller(Options options) : options_(options) {}

  // The period that ended. `measured` has the costs of the samples as the workers metered them;
  // its ready_rate is not looked at: it follows from `period`. A period without a delivered sample
  // teaches nothing.
  Move Observe(const Sample& period, const Terms& measured);
  [[nodiscard]] const Demand& demand() const { return demand_; }
  [[nodiscard]] double trim() const { return trim_; }

 private:
  void Hold(const Terms& raw, double hit);

  Options options_;
  Demand demand_;
  double trim_ = 1;
  std::deque<double> needs_;  // cores, the newest last
  std::deque<double> rates_;  // g, the newest last, three of them
  int provided_ = 0;          // periods in a row with all that was asked
  int calm_ = 0;              // periods in a row without waiting
  int hold_ = 0;              // periods until trim may go up again
  double trim_before_ = 0;    // 0: no trial under way
  double rate_before_ = 0;    // samples/s delivered before the trial
};

}  // namespace headrace::coordinator
