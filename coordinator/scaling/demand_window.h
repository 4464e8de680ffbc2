#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "coordinator/estimate/estimator.h"

// What the last periods of a job say about the rate that it needs. A rate is enough if the trainer,
// with these steps and this buffer, would have waited for at most kTolerated of its time. So a burst
// that the buffer holds asks for no more than the mean, and one that it does not hold asks for what
// is missing. Noise asks for what it costs: 10% of it, without a buffer, for 3% more than the mean.
namespace headrace::coordinator {

// Work of some periods.
struct WorkPoint {
  double samples = 0;  // delivered
  double step_s = 0;   // > 0; the trainer's own time for them
  Terms terms;         // what they cost
  double buffer = 0;   // samples that may be ready
  double ready = 0;    // samples that were ready at its end, 0..buffer
  [[nodiscard]] double rate() const { return samples / step_s; }
};

// Thread-compatible; a value. All rates are samples/s, all needs cores.
class DemandWindow {
 public:
  static constexpr std::size_t kMost = 60;     // points
  static constexpr double kTolerated = 0.025;  // share of time

  void Add(const WorkPoint& point);
  // Forgets all but the last `count` points: what was before is another regime.
  void KeepLast(std::size_t count);
  [[nodiscard]] std::size_t size() const { return points_.size(); }
  // Points since the last KeepLast, with those that it kept.
  [[nodiscard]] std::size_t points_of_regime() const { return of_regime_; }
  [[nodiscard]] const WorkPoint& last() const { return points_.back(); }

  // The least rate that is enough if these points come again and again. REQUIRES: size() > 0.
  [[nodiscard]] double NeededRate() const;
  // Costs and bytes: means over the samples. Its ready_rate is NeededRate(). REQUIRES: size() > 0.
  [[nodiscard]] Terms Needed() const;
  // What the points are tried with. `trim`: factor of each cost.
  struct Offer {
    double cores = 0;
    double hit = 0;
    double trim = 1;
  };
  // Whether with the offer the trainer would have waited for more than kTolerated of its time in the
  // last `count` points, and more than their noise explains; and whether for at most kTolerated. The
  // level is what was ready before these points. REQUIRES: 0 < count <= size().
  [[nodiscard]] bool Lacked(std::size_t count, const Offer& offer, double noise) const;
  [[nodiscard]] bool Sufficed(std::size_t count, const Offer& offer) const;
  // Median of what the last `count` points need by themselves. REQUIRES: as Enough().
  [[nodiscard]] double MedianNeed(std::size_t count, double hit, double trim) const;
  // Standard deviation of one point's need, relative to `cores`. It is taken from the differences of
  // neighbours, so a step or an odd point does not count. 0 with fewer than four points.
  [[nodiscard]] double Noise(double cores, double hit, double trim) const;

 private:
  struct Work {
    double amount;   // samples, or core-seconds
    double step_s;   // that the trainer takes for them
    double pause_s;  // before it: the trainer did something else
    double buffer;   // as amount
  };
  using Works = std::vector<Work>;
  // The points from `first` on, in samples. One of `odd_of` points, and one at least, may be odd: its
  // rate counts as that of the next. A point that is far slower than most has a pause.
  [[nodiscard]] Works WorksOf(std::size_t first, std::size_t odd_of) const;
  // The last `count` points in core-seconds, and the level before them.
  [[nodiscard]] Works CoreWorksOf(std::size_t count, std::size_t odd_of, const Offer& offer) const;
  [[nodiscard]] double LevelBefore(std::size_t count, const Offer& offer) const;
  [[nodiscard]] double CostOf(std::size_t point, const Offer& offer) const;
  // Whether it gives the mean, and the trainer waits for at most kTolerated.
  static bool IsEnough(const Works& works, double rate, double level, int rounds);
  // Share of the time, pauses left out, that a trainer waits at `rate`, in the last of `rounds`
  // rounds. `level`: ready at the beginning.
  static double WaitShare(const Works& works, double rate, double level, int rounds);

  std::deque<WorkPoint> points_;  // the newest last
  std::size_t of_regime_ = 0;
};

}  // namespace headrace::coordinator
