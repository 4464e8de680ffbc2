#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include "coordinator/scaling/controller.h"

// A trainer, its workers and the buffer between them, on a clock of its own: what a controller is tried
// on. The cluster grants the demand and a tenth more, up to what there is. Used by tests and by
// demand_bench, which writes bench/report/demand.md.
namespace headrace::coordinator {

// A part of the trainer's cycle: it takes `samples` at `rate` a second, or pauses.
struct TrainerPhase {
  double samples = 0;
  double rate = 0;     // samples/s of its own time
  double pause_s = 0;  // in place of samples
  double cost = 0.01;  // core-seconds a sample
};

struct DemandScene {
  std::vector<TrainerPhase> cycle;
  // Standard deviation of each period's speed, and of each measured cost, relative.
  double noise = 0;
  double batch = 4;         // samples
  double buffer = 0;        // batches that may be ready
  double cores = 64;        // there are
  int lies = 0;             // of 60 periods, by chance: the steps read a tenth of their time
  bool odd_counts = false;  // by chance, a period counts one batch more or less
};

class DemandWorld {
 public:
  DemandWorld(DemandScene scene, unsigned seed) : scene_(std::move(scene)), rng_(seed) {}

  // Runs one second. Returns the share of it that the trainer waited.
  double Period() {
    constexpr int kSteps = 50;
    constexpr double kStep = 1.0 / kSteps;
    const double speed = Error();
    Sample sample;
    double used = 0, cost = 0, made = 0;
    for (int i = 0; i < kSteps; ++i) {
      const TrainerPhase& phase = scene_.cycle[at_];
      const double want =
          std::min(phase.rate * speed * kStep, std::max(0.0, phase.samples - done_));
      const double room = scene_.buffer * scene_.batch - ready_ + want;
      const double more = std::clamp(granted_ / phase.cost * kStep, 0.0, std::max(0.0, room));
      used += more * phase.cost;
      cost += more * phase.cost;
      made += more;
      ready_ += more;
      if (phase.pause_s > 0) {
        sample.step_s += kStep;
        done_ += kStep;
        if (done_ >= phase.pause_s - 1e-9) Next();
        continue;
      }
      const double taken = std::min(want, ready_);
      ready_ -= taken;
      done_ += taken;
      taken_ += taken;
      const double own = taken / (phase.rate * speed);
      sample.step_s += own;
      // The last part of a phase is shorter than a step.
      sample.wait_s += want < phase.rate * speed * kStep ? 0 : std::max(0.0, kStep - own);
      if (done_ >= phase.samples - 1e-6) Next();
    }
    const double batches = std::floor(taken_ / scene_.batch + 1e-9);
    taken_ -= batches * scene_.batch;
    sample.batches = std::max(0.0, batches + (scene_.odd_counts ? Odd() : 0));
    sample.samples = sample.batches * scene_.batch;
    sample.cores_wait_s = sample.wait_s;
    sample.granted_cores = granted_;
    sample.used_cores = used;
    sample.buffer = scene_.buffer * scene_.batch;
    sample.ready = ready_;
    if (std::uniform_int_distribution<int>(0, 59)(rng_) < scene_.lies) sample.step_s /= 10;
    if (made > 0) cost_ = cost / made;
    Terms measured{0, 0, cost_ * Error(), 0};
    if (sample.step_s > 0) measured.ready_rate = sample.samples / sample.step_s;
    controller_.Observe(sample, measured);
    if (controller_.demand().known)
      granted_ = std::min(scene_.cores, 1.1 * controller_.demand().cores);
    demands_.push_back(controller_.demand().cores);
    waits_.push_back(sample.wait_s);
    return sample.wait_s;
  }
  void Run(int periods) {
    for (int i = 0; i < periods; ++i) Period();
  }
  // The trainer goes `factor` times as fast from now on.
  void Ramp(double factor) {
    for (TrainerPhase& phase : scene_.cycle) phase.rate *= factor;
  }

  [[nodiscard]] const Controller& controller() const { return controller_; }
  [[nodiscard]] const std::vector<double>& demands() const { return demands_; }  // cores, by period
  [[nodiscard]] const std::vector<double>& waits() const { return waits_; }  // shares, by period

 private:
  double Error() {
    return std::max(0.05, 1 + scene_.noise * std::normal_distribution<double>()(rng_));
  }
  double Odd() { return std::uniform_int_distribution<int>(-1, 1)(rng_); }
  void Next() {
    at_ = (at_ + 1) % scene_.cycle.size();
    done_ = 0;
  }

  DemandScene scene_;
  std::mt19937 rng_;
  Controller controller_;
  double granted_ = 16;
  std::size_t at_ = 0;
  double done_ = 0;   // of the phase: samples, or seconds
  double ready_ = 0;  // samples
  double taken_ = 0;  // samples of the batch that is not whole yet
  double cost_ = 0.01;
  std::vector<double> demands_, waits_;
};

}  // namespace headrace::coordinator
