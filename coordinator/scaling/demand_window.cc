#include "coordinator/scaling/demand_window.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace headrace::coordinator {
namespace {

constexpr std::size_t kOddOfAll = 8;    // of so many points that are provided for, one may be odd
constexpr std::size_t kOddOfSteps = 4;  // of so many points that are to show a step
// With the mean alone, noise makes a trainer wait for so much of its standard deviation.
constexpr double kWaitOfNoise = 0.4;
constexpr double kPause = 3;         // a point that is so many times slower than most has a pause
constexpr double kPrecision = 1e-4;  // of a rate
constexpr double kRateRounding = 1e-9;
constexpr std::size_t kFewPoints = 4;  // with fewer, nothing is known about noise
// Standard deviation over the median of absolute differences of two normal values.
constexpr double kOfMedian = 1.4826 / 1.4142;

double NeedOf(const WorkPoint& point, double hit, double trim) {
  return CoresFor(point.terms, point.rate(), hit) * trim;
}

}  // namespace

void DemandWindow::Add(const WorkPoint& point) {
  points_.push_back(point);
  ++of_regime_;
  if (points_.size() > kMost) points_.pop_front();
}

void DemandWindow::KeepLast(std::size_t count) {
  while (points_.size() > count) points_.pop_front();
  of_regime_ = points_.size();
}

DemandWindow::Works DemandWindow::WorksOf(std::size_t first, std::size_t odd_of) const {
  Works works;
  std::vector<double> rates;
  for (std::size_t i = first; i < points_.size(); ++i) rates.push_back(points_[i].rate());
  const std::size_t count = rates.size();
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(rates.begin(), middle, rates.end(), std::greater<>());
  const double usual = *middle;
  const std::size_t odd = count < 2 ? 0 : std::max<std::size_t>(1, count / odd_of);
  const auto at = rates.begin() + static_cast<std::ptrdiff_t>(odd);
  std::nth_element(rates.begin(), at, rates.end(), std::greater<>());
  for (std::size_t i = first; i < points_.size(); ++i) {
    const WorkPoint& point = points_[i];
    Work work{std::min(point.samples, *at * point.step_s), point.step_s, 0, point.buffer};
    if (count >= kFewPoints && point.rate() * kPause < usual) {
      work.step_s = point.samples / usual;
      work.pause_s = point.step_s - work.step_s;
    }
    works.push_back(work);
  }
  return works;
}

bool DemandWindow::IsEnough(const Works& works, double rate, double level, int rounds) {
  // What is tolerated makes less than the mean enough for no time.
  double amount = 0, made = 0;
  for (const Work& work : works) {
    amount += work.amount;
    made += rate * work.step_s + std::min(rate * work.pause_s, work.buffer);
  }
  return amount <= made * (1 + kRateRounding) &&
         WaitShare(works, rate, level, rounds) <= kTolerated;
}

double DemandWindow::WaitShare(const Works& works, double rate, double level, int rounds) {
  if (rate <= 0) return std::ranges::any_of(works, [](const Work& w) { return w.amount > 0; });
  double wait = 0, time = 0;
  for (int round = 0; round < rounds; ++round) {
    wait = time = 0;
    for (const Work& work : works) {
      level = std::min(work.buffer, level + rate * work.pause_s);
      const double late = std::max(0.0, (work.amount - level) / rate - work.step_s);
      level = std::clamp(level + rate * (work.step_s + late) - work.amount, 0.0, work.buffer);
      wait += late;
      time += work.step_s + late;
    }
  }
  return wait / time;
}

double DemandWindow::NeededRate() const {
  Works works = WorksOf(0, kOddOfAll);
  double low = 0, high = 0;
  for (const Work& work : works) high = std::max(high, work.amount / work.step_s);
  // The window may begin amid a burst. What follows the first pause is whole, if it is most of the
  // window. Otherwise it goes round twice: then the level at the beginning is that at the end.
  const auto pause = std::ranges::find_if(works, [](const Work& w) { return w.pause_s > 0; });
  const int rounds = 2 * (works.end() - pause) < std::ssize(works) ? 2 : 1;
  if (rounds == 1) works.erase(works.begin(), pause);
  while (high - low > kPrecision * high) {
    const double middle = (low + high) / 2;
    (IsEnough(works, middle, 0, rounds) ? high : low) = middle;
  }
  return high;
}

Terms DemandWindow::Needed() const {
  Terms sum;
  double samples = 0;
  for (const WorkPoint& point : points_) {
    sum.hit_cost += point.samples * point.terms.hit_cost;
    sum.miss_cost += point.samples * point.terms.miss_cost;
    sum.miss_bytes += point.samples * point.terms.miss_bytes;
    samples += point.samples;
  }
  return {NeededRate(), sum.hit_cost / samples, sum.miss_cost / samples, sum.miss_bytes / samples,
          points_.back().terms.sent_bytes};
}

bool DemandWindow::Lacked(std::size_t count, const Offer& offer, double noise) const {
  const Works works = CoreWorksOf(count, kOddOfSteps, offer);
  return WaitShare(works, offer.cores, LevelBefore(count, offer), 1) >
         kTolerated + kWaitOfNoise * noise;
}

bool DemandWindow::Sufficed(std::size_t count, const Offer& offer) const {
  const Works works = CoreWorksOf(count, kOddOfAll, offer);
  return IsEnough(works, offer.cores, LevelBefore(count, offer), 1);
}

double DemandWindow::CostOf(std::size_t point, const Offer& offer) const {
  return CostPerSample(points_[point].terms, offer.hit) * offer.trim;
}

DemandWindow::Works DemandWindow::CoreWorksOf(std::size_t count, std::size_t odd_of,
                                              const Offer& offer) const {
  const std::size_t first = points_.size() - count;
  Works works = WorksOf(first, odd_of);
  for (std::size_t i = 0; i < count; ++i) {
    works[i].amount *= CostOf(first + i, offer);
    works[i].buffer *= CostOf(first + i, offer);
  }
  return works;
}

double DemandWindow::LevelBefore(std::size_t count, const Offer& offer) const {
  const std::size_t first = points_.size() - count;
  const double samples = first > 0 ? points_[first - 1].ready : points_[first].buffer;
  return samples * CostOf(first, offer);
}

double DemandWindow::MedianNeed(std::size_t count, double hit, double trim) const {
  std::vector<double> needs;
  for (std::size_t i = points_.size() - count; i < points_.size(); ++i) {
    needs.push_back(NeedOf(points_[i], hit, trim));
  }
  const auto middle = needs.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(needs.begin(), middle, needs.end());
  return *middle;
}

double DemandWindow::Noise(double cores, double hit, double trim) const {
  if (points_.size() < kFewPoints || cores <= 0) return 0;
  std::vector<double> steps;
  steps.reserve(points_.size());
  for (std::size_t i = 1; i < points_.size(); ++i) {
    steps.push_back(std::abs(NeedOf(points_[i], hit, trim) - NeedOf(points_[i - 1], hit, trim)));
  }
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return kOfMedian * *middle / cores;
}

}  // namespace headrace::coordinator
