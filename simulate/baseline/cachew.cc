#include <algorithm>
#include <cmath>
#include <map>

#include "simulate/baseline/baseline.h"

namespace headrace::simulate {
namespace {

// Cachew's autoscaler (Graur et al., ATC 2022): a hill climb on the time of a batch. It adds one
// worker while that gains over 7%, then removes one while that loses under 3%, then rests. After 20
// reports it climbs again if batches take over 1.5 times as long as when it came to rest. Gains
// beyond 120% count as noise and are not used. A worker has a core for each GPU of its job. With
// single cores, no job of more than 14 GPUs would ever get a second one. The job waits for workers
// that the pool cannot give; each job keeps one core.
class Cachew final : public Baseline {
 public:
  [[nodiscard]] std::string_view name() const override { return "cachew"; }
  [[nodiscard]] std::string_view summary() const override {
    return "one worker more while it gains over 7%, first come, first served (Cachew)";
  }
  [[nodiscard]] bool settled() const override { return settled_; }

  void Divide(const View& view, std::span<const std::size_t> admitted,
              std::span<double> cores) override {
    settled_ = true;
    if (admitted.empty()) return;
    const double supply = std::max(0.0, view.snapshot.supply.cores);
    const double least = std::min(1.0, supply / static_cast<double>(admitted.size()));
    double free = supply - least * static_cast<double>(admitted.size());
    for (const std::size_t i : admitted) {
      const auto& job = view.snapshot.jobs[i];
      Climb& climb = climbs_[job.job];
      if (view.rates[i] > 0) Report(view.rates[i], view.cores[i] / job.gpus, climb);
      const double wanted = climb.workers * job.gpus;
      const double more = std::clamp(wanted - least, 0.0, free);
      cores[i] = least + more;
      free -= more;
      // The next measurement is of a change that has come into effect.
      if (climb.phase != Phase::kRest && cores[i] >= wanted * kInFull) settled_ = false;
    }
  }

 private:
  static constexpr double kInFull = 1 - 1e-9;
  enum class Phase { kFirst, kUp, kDown, kRest };
  struct Climb {
    Phase phase = Phase::kFirst;
    double workers = 1;
    double last = 0;  // samples/s before the last change, or at rest
    int reports = 0;  // at rest
  };

  static void Report(double rate, double workers, Climb& climb) {
    if (climb.phase != Phase::kRest && workers < climb.workers * kInFull) return;
    const double gain = climb.last > 0 ? rate / climb.last - 1 : 0;
    if (std::abs(gain) > 1.2) {
      climb.last = rate;
      return;
    }
    switch (climb.phase) {
      case Phase::kFirst:
        climb = {Phase::kUp, climb.workers + 1, rate};
        return;
      case Phase::kUp:
        if (gain > 0.07) {
          climb = {Phase::kUp, climb.workers + 1, rate};
        } else {
          climb = {Phase::kDown, climb.workers - 1, rate};
        }
        return;
      case Phase::kDown:
        if (gain < -0.03) {
          climb = {Phase::kRest, climb.workers + 1, climb.last};
        } else if (climb.workers <= 1) {
          climb = {Phase::kRest, 1, rate};
        } else {
          climb = {Phase::kDown, climb.workers - 1, rate};
        }
        return;
      case Phase::kRest:
        if (++climb.reports >= 20 && rate * 1.5 < climb.last)
          climb = {Phase::kFirst, climb.workers};
        return;
    }
  }

  std::map<JobId, Climb> climbs_;
  bool settled_ = true;
};

}  // namespace

std::unique_ptr<Baseline> MakeCachew() { return std::make_unique<Cachew>(); }

}  // namespace headrace::simulate
