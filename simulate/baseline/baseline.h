#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/scheduler.h"

// What others do, written from their papers, to compare with. A baseline divides cores alone; GPUs
// go in one of three orders, the cache by CacheMode, and the source is shared by the connections
// that use it, each as fast as it can (max-min).
namespace headrace::simulate {

// Stateful; one thread.
class Baseline {
 public:
  virtual ~Baseline() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // One line for `--help` and the documentation.
  [[nodiscard]] virtual std::string_view summary() const = 0;
  // Writes cores for the jobs at the positions `admitted`, which are in order of arrival and need
  // cores; cores[] is as Snapshot::jobs and 0.
  virtual void Divide(const View& view, std::span<const std::size_t> admitted,
                      std::span<double> cores) = 0;
  // As Scheduler::settled.
  [[nodiscard]] virtual bool settled() const { return true; }
};

[[nodiscard]] std::unique_ptr<Baseline> MakeFixed();
[[nodiscard]] std::unique_ptr<Baseline> MakeSynergy();
[[nodiscard]] std::unique_ptr<Baseline> MakeTfdata();
[[nodiscard]] std::unique_ptr<Baseline> MakeCachew();
// nullptr if there is none of that name.
[[nodiscard]] std::unique_ptr<Baseline> MakeBaseline(std::string_view name);
[[nodiscard]] std::vector<std::string> BaselineNames();

// Who gets GPUs first, among the jobs that fit.
enum class GpuOrder : std::uint8_t {
  kFifo,
  kSjf,     // least time left with the cores of its own GPUs
  kMaxMin,  // least GPU time received for each GPU asked for; in rounds (Gavel)
};

class BaselineScheduler final : public Scheduler {
 public:
  BaselineScheduler(std::unique_ptr<Baseline> baseline, GpuOrder order)
      : baseline_(std::move(baseline)), order_(order) {}
  [[nodiscard]] coordinator::Allocation Decide(const View& view) override;
  [[nodiscard]] bool preempts() const override { return order_ == GpuOrder::kMaxMin; }
  [[nodiscard]] bool settled() const override { return baseline_->settled(); }

 private:
  std::unique_ptr<Baseline> baseline_;
  GpuOrder order_;
};

// Cores that keep the job's trainer busy.
[[nodiscard]] double NeededCores(const coordinator::JobView& job);
// Cores of the GPUs' hosts that belong to the job's GPUs.
[[nodiscard]] double OwnCores(const View& view, const coordinator::JobView& job);

}  // namespace headrace::simulate
