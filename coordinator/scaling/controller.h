#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "coordinator/estimate/estimator.h"
#include "coordinator/scaling/demand_window.h"
#include "coordinator/scaling/use_bound.h"

// Decides what one job should get, once a control period (the client's heartbeat, 1 s), from what
// the job measured. Feed-forward comes first: a trainer that takes g samples/s of c core-seconds
// each needs g * c cores. Both are known even while it starves, because its steps are timed apart
// from its waiting. Feedback corrects what the estimator does not know (slower cores, memory
// bandwidth, busy hosts). Periods are put together until they have 8 batches, or 2 where the trainer
// waits most of its time: a *point*.
//
//   measured, up to the last point                    demand
//   1 to 8, then 16, 32, 60 points                    what these points need (DemandWindow)
//   the trainer waits (> 5%), and the demand was too  what these points need; all before them is
//   little for the last 2, 4, 8, 16 or 32 points, by  forgotten
//   more than their noise explains
//   it does not wait, and the demand was too little   the same
//   by half for the last 16 points and for most of
//   them
//   1/1.1 of the demand, and what noise explains      what these 20 points need: what is idle is
//   less, was enough for the last 20 points           given back
//   more than twice what workers used, eight times    that bound (UseBound), when the demand grows or
//   where all were used and the trainer waits; it     has been beyond it for 20 points
//   waits for nothing else
//   provided in full for 2 points (more with noise),  trim up: cost * (1 + waiting), at most 1.5 a
//   still waits                                       time
//   trim up brought < 1/4 of what it should           trim back, and no trial for 60 points: the
//                                                     trainer does not wait for cores
//   does not wait (< 1%) for 30 points, trim > 1      trim down by 5%, but for 600 points not
//                                                     below a trim that has helped
//
// So it grows two periods after a step of demand, and stops growing where the trainer is the
// bottleneck. On steady load it settles after 60 points and then stands still: a move takes five
// standard deviations of what the points say. One odd point in eight changes nothing.
namespace headrace::coordinator {

// One control period of one job.
struct Sample {
  double samples = 0;           // delivered
  double step_s = 0;            // the trainer's own time, not waiting
  double wait_s = 0;            // blocked in next(), of which
  double cores_wait_s = 0;      // waiting that more cores would cure (decode, Python stage, queue)
  double granted_cores = 0;     // in force during the period
  double hit = 0;               // effective share of reads from the cache
  double batches = kUnlimited;  // delivered; kUnlimited: enough for an estimate
  double used_cores = 0;        // that computed for it, as workers measured; 0: not known
  double buffer = 0;            // samples that may be ready before the trainer asks for them
  double ready = 0;             // samples that were ready at the end of the period
  double queued = 0;            // part of its workers' reports with samples of it that wait, 0..1
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
    double least_batches = 8;  // of a point
    double starved = 0.5;      // share of time above which a trainer that waits starves
    double starved_batches = 2;
    double wait_high = 0.05;   // share of time above which a trainer waits
    double wait_low = 0.01;    // below which it does not
    double grow_margin = 0.5;  // without waiting
    double shrink_margin = 0.1;
    int shrink_periods = 20;
    double deviations = 5;     // of the noise, that a move takes
    double least_move = 0.02;  // relative
    int trim_after = 2;        // points provided in full
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
  // them; its ready_rate follows from `period`. A period without a delivered sample is a part of
  // the next point.
  Move Observe(const Sample& period, const Terms& measured);
  [[nodiscard]] const Demand& demand() const { return demand_; }
  [[nodiscard]] double trim() const { return trim_; }

 private:
  struct Trial {
    double trim;  // before it
    double rate;  // samples/s delivered before it
  };
  // Periods that are put together, until they have enough batches. Sums; means if they are divided by
  // `periods`, or by samples.
  struct Point {
    Sample sums;
    Terms costs;  // times samples
    int periods = 0;
  };
  void Gather(const Sample& period, const Terms& measured);
  [[nodiscard]] bool IsWhole() const;
  Move Decide(const Sample& point);
  void LearnNoise(double hit);
  // Moves the demand to what the window needs.
  Move Provide(const Sample& point);
  // How many of the last points had too little; 0: none.
  [[nodiscard]] std::size_t TooLittle(const Sample& point) const;
  [[nodiscard]] bool TooMuch(const Sample& point) const;
  // Its use has long spoken against the demand.
  [[nodiscard]] bool Contradicted() const;
  [[nodiscard]] bool IsDue() const;
  // Of the demand, that its noise explains for so many points; `least` at least.
  [[nodiscard]] double Margin(std::size_t points, double least) const;
  [[nodiscard]] int TrimAfter() const;
  Move Feedback(double delivered, double wait, double cores_wait);

  Options options_;
  Demand demand_;
  double trim_ = 1;
  Point open_;
  DemandWindow window_;
  UseBound use_;
  double noise_ = 0;      // of one point's need, relative to the demand
  bool clipped_ = false;  // the demand is less than the window needs
  std::optional<Trial> trial_;
  int provided_ = 0;     // points in a row with all that was asked
  int unexplained_ = 0;  // points in a row in which it waited for no known reason
  int calm_ = 0;         // points in a row without waiting
  int hold_ = 0;         // points until the next trial may begin
  double floor_ = 1;     // a trim that helped
  int floor_left_ = 0;   // points for which it holds
};

}  // namespace headrace::coordinator
