#include "coordinator/scaling/controller.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace headrace::coordinator {
namespace {

constexpr double kInFull = 0.99;  // part of the cores asked for: shares are rounded
// Numbers of points after which a demand is looked at again. Up to the first one: after each.
constexpr std::array<std::size_t, 4> kLooks{8, 16, 32, DemandWindow::kMost};
// Numbers of points that show a step, if all of them say so.
constexpr std::array<std::size_t, 5> kSteps{2, 4, 8, 16, 32};
// Points that show that a trainer needs more, although it does not wait.
constexpr std::size_t kSure = 16;
constexpr double kFewAreCalm = 4;  // points
// Deviations by which a point may need more than the demand, and still be one like the others.
constexpr double kDoubt = 2;
// Points more until a trial, and until its verdict, for a noise of 1.
constexpr double kPointsOfNoise = 40;

}  // namespace

void Controller::Gather(const Sample& period, const Terms& measured) {
  Sample& sums = open_.sums;
  if (open_.periods == 0) sums.batches = 0;
  ++open_.periods;
  sums.samples += period.samples;
  sums.step_s += period.step_s;
  sums.wait_s += period.wait_s;
  sums.cores_wait_s += period.cores_wait_s;
  sums.granted_cores += period.granted_cores;
  sums.used_cores += period.used_cores;
  sums.queued += period.queued;
  sums.batches += period.batches;
  if (period.samples > 0) sums.hit = period.hit;
  sums.buffer = period.buffer;
  sums.ready = period.ready;
  open_.costs.hit_cost += period.samples * measured.hit_cost;
  open_.costs.miss_cost += period.samples * measured.miss_cost;
  open_.costs.miss_bytes += period.samples * measured.miss_bytes;
  open_.costs.sent_bytes = measured.sent_bytes;
}

bool Controller::IsWhole() const {
  const Sample& sums = open_.sums;
  if (sums.samples <= 0 || sums.step_s <= 0) return false;
  if (open_.costs.miss_cost + open_.costs.hit_cost <= 0) return false;
  // A trainer that starves has few batches, and no time to wait for more.
  const bool starves =
      demand_.known && sums.cores_wait_s > options_.starved * (sums.step_s + sums.wait_s);
  return sums.batches >= (starves ? options_.starved_batches : options_.least_batches);
}

Move Controller::Observe(const Sample& period, const Terms& measured) {
  Gather(period, measured);
  // The same terms need other cores if the cache has filled meanwhile.
  if (period.samples > 0) {
    demand_.cores = CoresFor(demand_.terms, demand_.terms.ready_rate, period.hit);
    demand_.terms.sent_bytes = measured.sent_bytes;  // no cost of cores
  }
  if (!IsWhole()) return Move::kHold;
  const Point point = std::exchange(open_, {});
  Sample mean = point.sums;
  mean.granted_cores /= point.periods;
  mean.used_cores /= point.periods;
  mean.queued /= point.periods;
  Terms terms = point.costs;
  terms.ready_rate = mean.samples / mean.step_s;
  terms.hit_cost /= mean.samples;
  terms.miss_cost /= mean.samples;
  terms.miss_bytes /= mean.samples;
  // A batch that came a moment too late is counted in the next period.
  const double batch = std::isfinite(mean.batches) ? mean.samples / mean.batches : 0;
  window_.Add({mean.samples, mean.step_s, terms, mean.buffer + batch, mean.ready + batch});
  return Decide(mean);
}

void Controller::LearnNoise(double hit) {
  const auto points = static_cast<double>(window_.size());
  if (window_.size() < kLooks[0]) return;
  // Few points may look calmer than they are.
  const double noise = window_.Noise(demand_.cores, hit, trim_) * (1 + kFewAreCalm / points);
  noise_ = window_.size() < kLooks[1] ? std::max(noise_, noise) : noise;
}

bool Controller::IsDue() const {
  const std::size_t points = window_.points_of_regime();
  return points <= kLooks[0] || std::ranges::find(kLooks, points) != kLooks.end();
}

double Controller::Margin(std::size_t points, double least) const {
  return std::max(least, options_.deviations * noise_ / std::sqrt(static_cast<double>(points)));
}

std::size_t Controller::TooLittle(const Sample& point) const {
  const auto enough = [&](std::size_t count, double least) {
    const double cores = demand_.cores * (1 + Margin(count, least));
    return !window_.Lacked(count, {cores, point.hit, trim_}, noise_);
  };
  if (point.cores_wait_s > options_.wait_high * (point.step_s + point.wait_s)) {
    for (const std::size_t count : kSteps) {
      if (count <= window_.size() && !enough(count, options_.least_move)) return count;
    }
    return 0;
  }
  // Nobody waits, so there is time to be sure.
  const bool more =
      window_.size() >= kSure && !enough(kSure, options_.grow_margin) &&
      window_.MedianNeed(kSure, point.hit, trim_) > (1 + options_.grow_margin) * demand_.cores;
  return more ? kSure : 0;
}

bool Controller::TooMuch(const Sample& point) const {
  const auto count = static_cast<std::size_t>(options_.shrink_periods);
  if (window_.size() < count) return false;
  const double cores = demand_.cores / (1 + Margin(count, options_.shrink_margin));
  return window_.Sufficed(count, {cores, point.hit, trim_});
}

bool Controller::Contradicted() const {
  return use_.whole() && demand_.cores > (1 + options_.shrink_margin) * use_.Most();
}

Move Controller::Provide(const Sample& point) {
  Terms terms = window_.Needed();
  terms.hit_cost *= trim_;
  terms.miss_cost *= trim_;
  double cores = CoresFor(terms, terms.ready_rate, point.hit);
  // A demand that use has not spoken against for long is not taken back here.
  const double most =
      demand_.known && !Contradicted() ? std::max(use_.Most(), demand_.cores) : use_.Most();
  clipped_ = cores > most;
  if (clipped_) {
    terms.ready_rate *= most / cores;
    cores = most;
  }
  const bool known = std::exchange(demand_.known, true);
  const double change = demand_.cores > 0 ? cores / demand_.cores - 1 : cores;
  demand_.terms = terms;
  demand_.cores = cores;
  if (known && std::abs(change) < options_.least_move) return Move::kHold;
  trial_.reset();
  provided_ = unexplained_ = 0;
  return known && change < 0 ? Move::kShrink : Move::kGrow;
}

Move Controller::Decide(const Sample& point) {
  const double time = point.step_s + point.wait_s;
  const double wait = point.wait_s / time;
  const double cores_wait = point.cores_wait_s / time;
  use_.Add(point.used_cores, point.granted_cores, cores_wait > options_.wait_high,
           wait - cores_wait > options_.wait_high, point.queued);
  const double last = CoresFor(window_.last().terms, window_.last().rate(), point.hit) * trim_;
  const bool in_full = point.granted_cores >= kInFull * demand_.cores;
  provided_ = in_full ? provided_ + 1 : 0;
  // The formula says that there is enough, but the trainer waits.
  const bool unexplained =
      in_full && cores_wait > options_.wait_high && last <= (1 + kDoubt * noise_) * demand_.cores;
  unexplained_ = unexplained ? unexplained_ + 1 : 0;
  calm_ = wait < options_.wait_low ? calm_ + 1 : 0;
  hold_ = std::max(0, hold_ - 1);
  floor_left_ = std::max(0, floor_left_ - 1);

  LearnNoise(point.hit);
  if (!demand_.known || clipped_ || IsDue() || Contradicted()) {
    if (const Move move = Provide(point); move != Move::kHold) return move;
  }
  if (const std::size_t count = TooLittle(point); count > 0) {
    window_.KeepLast(count);
    if (const Move move = Provide(point); move != Move::kHold) return move;
  } else if (TooMuch(point)) {
    window_.KeepLast(static_cast<std::size_t>(options_.shrink_periods));
    if (const Move move = Provide(point); move != Move::kHold) return move;
  }
  const double trim = trim_;
  const Move move = Feedback(point.samples / time, wait, cores_wait);
  if (trim_ != trim) {
    demand_.terms.hit_cost *= trim_ / trim;
    demand_.terms.miss_cost *= trim_ / trim;
    demand_.cores *= trim_ / trim;
    provided_ = unexplained_ = 0;
  }
  return move;
}

int Controller::TrimAfter() const {
  return options_.trim_after + static_cast<int>(std::lround(kPointsOfNoise * noise_));
}

Move Controller::Feedback(double delivered, double wait, double cores_wait) {
  if (trial_ && provided_ >= TrimAfter()) {
    const Trial trial = *std::exchange(trial_, std::nullopt);
    const double expected = trim_ / trial.trim - 1;
    if (delivered < trial.rate * (1 + expected * options_.trial_yield)) {
      trim_ = trial.trim;
      hold_ = options_.trim_hold;
      return Move::kTrimBack;
    }
    floor_ = trim_;
    floor_left_ = options_.floor_periods;
  }
  if (!trial_ && unexplained_ >= TrimAfter() && hold_ == 0 && trim_ < options_.most_trim) {
    trial_ = Trial{trim_, delivered};
    trim_ =
        std::min(options_.most_trim, trim_ * (1 + std::min(options_.most_trim_step, cores_wait)));
    return Move::kTrimUp;
  }
  const double least = floor_left_ > 0 ? floor_ : 1;
  if (wait < options_.wait_low && calm_ >= options_.calm_periods && trim_ > least) {
    trim_ = std::max(least, trim_ * options_.trim_down);
    calm_ = 0;
    return Move::kTrimDown;
  }
  return Move::kHold;
}

}  // namespace headrace::coordinator
