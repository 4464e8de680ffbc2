#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "coordinator/estimate/estimator.h"

// Decides what one job should get, once a control period (the client's heartbeat, 1 s), from what
// the job measured. Feed-forward comes first: a trainer that takes g samples/s of c core-seconds
// each needs g * c cores. Both are known even while it starves, because its steps are timed apart
// from its waiting. Feedback corrects what the estimator does not know (slower cores, memory
// bandwidth, busy hosts). Hysteresis then keeps noise from moving leases.
//
//   measured                                          demand
//   in the first 20 periods, need > demand            the largest need so far
//   need > demand, and the trainer waits (> 5%)       the largest need of 20 periods
//   need > 1.5 demand, waiting or not                 the same
//   largest need of 20 periods < 0.7 demand           that need: what is idle is given back
//   provided in full for 2 periods, still waits       trim up: cost * (1 + waiting), at most 1.5 a
//                                                     time
//   trim up brought < 1/4 of what it should           trim back, and no trial for 60 periods: the
//                                                     trainer does not wait for cores
//   does not wait (< 1%) for 30 periods, trim > 1     trim down by 5%, but for 600 periods not
//                                                     below a trim that has helped
//
// So it grows two periods after a step of demand, and stops growing where the trainer is the
// bottleneck. `need` is g * cost, the median of the last three periods: one odd period changes
// nothing, two show a step.
namespace headrace::coordinator {

// One control period of one job.
struct Sample {
  double samples = 0;        // delivered
  double step_s = 0;         // the trainer's own time, not waiting
  double wait_s = 0;         // blocked in next(), of which
  double cores_wait_s = 0;   // waiting that more cores would cure (decode, Python stage, queue)
  double granted_cores = 0;  // in force during the period
  double hit = 0;            // effective share of reads from the cache
};

struct Demand {
  Terms terms;         // to be provided for: trimmed and held
  double cores = 0;    // CoresFor(terms, terms.ready_rate, hit)
  bool known = false;  // false: nothing measured yet
};

enum class Move : std::uint8_t { kHold, kGrow, kShrink, kTrimUp, kTrimBack, kTrimDown };

// Thread-compatible; a value.
class Controller {
 public:
  struct Options {
    double wait_high = 0.05;  // share of time above which a trainer waits
    double wait_low = 0.01;   // below which it does not
    double grow_margin = 0.5;
    double shrink_below = 0.7;
    int shrink_periods = 20;
    int trim_after = 2;  // periods provided in full
    double most_trim_step = 0.5;
    double most_trim = 4;
    double trial_yield = 0.25;  // least part of the expected gain
    int trim_hold = 60;
    int calm_periods = 30;
    double trim_down = 0.95;
    int floor_periods = 600;
  };
  Controller() : Controller(Options{}) {}
  explicit Controller(Options options) : options_(options) {}

  // Takes the period that ended. `measured` has the costs of the samples as the workers metered
  // them; its ready_rate follows from `period`. A period without a delivered sample teaches
  // nothing.
  Move Observe(const Sample& period, const Terms& measured);
  [[nodiscard]] const Demand& demand() const { return demand_; }
  [[nodiscard]] double trim() const { return trim_; }

 private:
  struct Trial {
    double trim;  // before it
    double rate;  // samples/s delivered before it
  };
  struct Needs {
    double now = 0;      // cores, the median of the last three periods
    double last = 0;     // need of the last period alone
    double largest = 0;  // largest median of the last shrink_periods
  };
  [[nodiscard]] Needs NeedsAt(double hit) const;
  void Provide(const Terms& measured, double need, double hit);
  Move Feedback(double delivered, double wait, double cores_wait);

  Options options_;
  Demand demand_;
  double trim_ = 1;
  std::deque<Terms> past_;  // terms of the last shrink_periods, the newest last
  std::optional<Trial> trial_;
  int provided_ = 0;     // periods in a row with all that was asked
  int unexplained_ = 0;  // periods in a row in which it waited for no known reason
  int calm_ = 0;         // periods in a row without waiting
  int hold_ = 0;         // periods until the next trial may begin
  double floor_ = 1;     // a trim that helped
  int floor_left_ = 0;   // periods for which it holds
};

}  // namespace headrace::coordinator
