#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/gpu_order.h"
#include "simulate/scheduler.h"

// Published systems to compare with, written from their papers. A baseline divides only cores. GPUs
// go in one of the simulator's orders, and the cache by CacheMode. The connections that use the source share
// it, each as fast as it can (max-min).
namespace headrace::simulate {

// Stateful; one thread.
class Baseline {
 public:
  virtual ~Baseline() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // One line for `--help` and the documentation.
  [[nodiscard]] virtual std::string_view summary() const = 0;
  // Writes the cores of the jobs at the positions `admitted`, which are in order of arrival and
  // need cores. cores[] is in the order of Snapshot::jobs, and 0 before the call.
  virtual void Divide(const View& view, std::span<const std::size_t> admitted,
                      std::span<double> cores) = 0;
  // Means the same as Scheduler::settled.
  [[nodiscard]] virtual bool settled() const { return true; }
};

[[nodiscard]] std::unique_ptr<Baseline> MakeFixed();
[[nodiscard]] std::unique_ptr<Baseline> MakeSynergy();
[[nodiscard]] std::unique_ptr<Baseline> MakeSynergyOpt();
[[nodiscard]] std::unique_ptr<Baseline> MakeTfdata();
[[nodiscard]] std::unique_ptr<Baseline> MakeCachew();
[[nodiscard]] std::unique_ptr<Baseline> MakePecan();
// nullptr if there is no such baseline.
[[nodiscard]] std::unique_ptr<Baseline> MakeBaseline(std::string_view name);
[[nodiscard]] std::vector<std::string> BaselineNames();

class BaselineScheduler final : public Scheduler {
 public:
  BaselineScheduler(std::unique_ptr<Baseline> baseline, GpuOrder order)
      : baseline_(std::move(baseline)), order_(order) {}
  [[nodiscard]] coordinator::Allocation Decide(const View& view) override;
  [[nodiscard]] bool preempts() const override { return Preempts(order_); }
  [[nodiscard]] bool fills_between_rounds() const override { return FillsBetweenRounds(order_); }
  [[nodiscard]] bool settled() const override { return baseline_->settled(); }

 private:
  std::unique_ptr<Baseline> baseline_;
  GpuOrder order_;
};

// Cores that keep the job's trainer busy.
[[nodiscard]] double NeededCores(const coordinator::JobView& job);

}  // namespace headrace::simulate
