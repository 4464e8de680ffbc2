#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulate/scheduler.h"

namespace headrace::simulate {

// Which of the jobs that fit get GPUs first.
enum class GpuOrder : std::uint8_t {
  kFifo,
  kSjf,     // least time left with the cores of its own GPUs
  kMaxMin,  // least GPU time received for each GPU asked for; in rounds (Gavel)
  // Least work left: the time left at full speed, times the sum of its parts of the cluster's GPUs and
  // cores. In rounds; what is free between them goes to those that wait. A job that runs counts as
  // if it had less left, by what its restart would take.
  kLeastWork,
  // As kLeastWork, but GPUs are for jobs that can use them (UsersOf) alone. The others wait.
  kPacked,
  // Orders of published systems, in rounds:
  kLeastService,  // least time left with the cores of its own GPUs, times its GPUs (Muri-S, SIGCOMM 2022)
  kLeastAttained,  // least GPU time received (2D-LAS: Tiresias, NSDI 2019; Muri-L)
  kSia,            // see SiaKey (gpu_order.cc)
};

// Whether a round may take GPUs away from a running job.
[[nodiscard]] constexpr bool Preempts(GpuOrder order) {
  return order != GpuOrder::kFifo && order != GpuOrder::kSjf;
}
// Whether jobs that wait take what is free between rounds.
[[nodiscard]] constexpr bool FillsBetweenRounds(GpuOrder order) {
  return Preempts(order) && order != GpuOrder::kMaxMin;
}

// Seconds of the whole cluster that the job still needs, of its GPUs and of its cores together; kUnlimited: its
// remaining work is not known.
[[nodiscard]] double WorkLeft(const View& view, std::size_t job);

// Positions in Snapshot::jobs, by priority first.
[[nodiscard]] std::vector<std::size_t> OrderOf(const View& view, GpuOrder order);

// Of `ordered` those that can use GPUs, in the same order. A job can if it would run at a third of its full
// speed (kUsefulSpeed) at least. Its cores are what those before it leave at full speed, or its floor if
// that is more. Between rounds, running jobs stay.
[[nodiscard]] std::vector<std::size_t> UsersOf(const View& view,
                                               std::span<const std::size_t> ordered);

// Whom `order` gives GPUs, as far as they last: OrderOf, of kPacked without those that cannot use them.
[[nodiscard]] std::vector<std::size_t> CandidatesOf(const View& view, GpuOrder order);

// The job's part of the cores on the GPUs' hosts, by its GPUs.
[[nodiscard]] double OwnCores(const View& view, const coordinator::JobView& job);

// One of the coordinator's policies, with GPUs in an order of the simulator in place of its own. So it
// divides cores, cache and bandwidth alone: what a cluster can have of it whose GPUs another scheduler
// gives. `policy` must outlive it.
class OrderedPolicy final : public Scheduler {
 public:
  OrderedPolicy(const coordinator::Policy& policy, GpuOrder order)
      : policy_(policy), order_(order) {}
  [[nodiscard]] coordinator::Allocation Decide(const View& view) override;
  [[nodiscard]] bool preempts() const override { return Preempts(order_); }
  [[nodiscard]] bool fills_between_rounds() const override { return FillsBetweenRounds(order_); }
  [[nodiscard]] bool has_controllers() const override { return true; }

 private:
  const coordinator::Policy& policy_;
  GpuOrder order_;
};

}  // namespace headrace::simulate
