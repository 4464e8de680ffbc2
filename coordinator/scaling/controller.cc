#include "coordinator/scaling/controller.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace headrace::coordinator {
namespace {

constexpr double kInFull = 0.99;  // part of the cores asked for: shares are rounded

double Median(double a, double b, double c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

}  // namespace

Controller::Needs Controller::NeedsAt(double hit) const {
  std::vector<double> each;
  for (const Terms& terms : past_) {
    each.push_back(CoresFor(terms, terms.ready_rate, hit) * trim_);
  }
  Needs needs;
  const std::size_t n = each.size();
  needs.last = each[n - 1];
  needs.now = needs.largest = n < 3 ? needs.last : Median(each[n - 3], each[n - 2], each[n - 1]);
  for (std::size_t i = 3; i < n; ++i) {
    needs.largest = std::max(needs.largest, Median(each[i - 3], each[i - 2], each[i - 1]));
  }
  return needs;
}

void Controller::Provide(const Terms& measured, double need, double hit) {
  // The median's rate, with costs that lead to its need.
  const std::size_t n = past_.size();
  demand_.terms = measured;
  demand_.terms.ready_rate =
      n < 3 ? past_.back().ready_rate
            : Median(past_[n - 3].ready_rate, past_[n - 2].ready_rate, past_[n - 1].ready_rate);
  // If all samples are cached and cost nothing, no cost leads to a need.
  const double made = CoresFor(measured, demand_.terms.ready_rate, hit);
  const double factor = made > 0 ? need / made : 1;
  demand_.terms.hit_cost *= factor;
  demand_.terms.miss_cost *= factor;
  demand_.cores = need;
  demand_.known = true;
}

Move Controller::Observe(const Sample& period, const Terms& measured) {
  const double time = period.step_s + period.wait_s;
  if (period.samples <= 0 || period.step_s <= 0 || measured.miss_cost + measured.hit_cost <= 0) {
    return Move::kHold;
  }
  const double wait = period.wait_s / time;
  const double cores_wait = period.cores_wait_s / time;
  past_.push_back(measured);
  past_.back().ready_rate = period.samples / period.step_s;
  if (past_.size() > static_cast<std::size_t>(options_.shrink_periods)) past_.pop_front();
  const Needs needs = NeedsAt(period.hit);
  // The same terms need other cores if the cache has filled meanwhile.
  demand_.cores = CoresFor(demand_.terms, demand_.terms.ready_rate, period.hit);
  demand_.terms.sent_bytes = measured.sent_bytes;  // no cost of cores
  const bool in_full = period.granted_cores >= kInFull * demand_.cores;
  provided_ = in_full ? provided_ + 1 : 0;
  // The formula says that there is enough, but the trainer waits.
  const bool unexplained =
      in_full && cores_wait > options_.wait_high && needs.last <= demand_.cores;
  unexplained_ = unexplained ? unexplained_ + 1 : 0;
  calm_ = wait < options_.wait_low ? calm_ + 1 : 0;
  hold_ = std::max(0, hold_ - 1);
  floor_left_ = std::max(0, floor_left_ - 1);

  const bool more = cores_wait > options_.wait_high
                        ? needs.now > demand_.cores
                        : needs.now > (1 + options_.grow_margin) * demand_.cores;
  const bool whole = past_.size() == static_cast<std::size_t>(options_.shrink_periods);
  const bool learning = !whole && needs.now > demand_.cores;
  if (!demand_.known || more || learning) {
    // Provides the largest recent need: noise that asked for it once will ask again.
    Provide(measured, std::max(needs.largest, needs.last), period.hit);
    trial_.reset();
    provided_ = unexplained_ = 0;
    return Move::kGrow;
  }
  if (whole && needs.largest < options_.shrink_below * demand_.cores) {
    Provide(measured, needs.largest, period.hit);
    trial_.reset();
    provided_ = unexplained_ = 0;
    return Move::kShrink;
  }
  const double trim = trim_;
  const Move move = Feedback(period.samples / time, wait, cores_wait);
  if (trim_ != trim) {
    demand_.terms.hit_cost *= trim_ / trim;
    demand_.terms.miss_cost *= trim_ / trim;
    demand_.cores *= trim_ / trim;
    provided_ = unexplained_ = 0;
  }
  return move;
}

Move Controller::Feedback(double delivered, double wait, double cores_wait) {
  if (trial_ && provided_ >= options_.trim_after) {
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
  if (!trial_ && unexplained_ >= options_.trim_after && hold_ == 0 && trim_ < options_.most_trim) {
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
