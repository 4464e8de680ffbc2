#include "simulate/gpu_order.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "coordinator/policy/core/divide.h"
#include "coordinator/policy/core/index.h"

namespace headrace::simulate {
namespace {

using coordinator::JobView;
using coordinator::kUnlimited;
using coordinator::Snapshot;

}  // namespace

double WorkLeft(const View& view, std::size_t i) {
  const JobView& job = view.snapshot.jobs[i];
  const double cores =
      CoresFor(job.terms, job.terms.ready_rate, job.effective_hit) + view.pinned[i];
  const double share =
      static_cast<double>(job.gpus) / view.cluster.gpus + cores / view.cluster.cores();
  const double left = job.remaining_samples / job.terms.ready_rate;
  return share * (job.running ? left - view.restart_s : left);
}

namespace {

// A third was as good as a quarter or a half on the traces that it was chosen by, and on others
// (docs/adr/0081-bounds.md).
constexpr double kUsefulSpeed = 1.0 / 3;

// Seconds with the cores of its own GPUs.
double TimeLeft(const View& view, const JobView& job) {
  return job.remaining_samples /
         Throughput(job.terms, OwnCores(view, job), job.effective_hit, kUnlimited);
}

// What Sia (SOSP 2023) chooses by, for jobs that say how many GPUs they want: its sum of p-th powers of goodput,
// which is least, has p = -0.5, and 1.1 for each job that gets nothing. Goodput is 1 here, times the part of its
// time that a job would have lost to no restart, if it must be restored: (age - stops * restart) / (age + restart).
// The linear program is solved greedily: what a job gains, for each of its GPUs.
double SiaKey(const View& view, std::size_t i) {
  constexpr double kPower = -0.5, kOfNone = 1.1;
  const JobView& job = view.snapshot.jobs[i];
  double goodput = 1;
  if (!job.running && job.received > 0) {
    const double age = view.now_s - job.arrival_s;
    const double lost = view.stops.empty() ? 0 : view.stops[i] * view.restart_s;
    goodput = std::max(0.0, age - lost) / (age + view.restart_s);
  }
  const double gain = goodput > 0 ? kOfNone - std::pow(goodput, kPower) : -kUnlimited;
  return -gain / job.gpus;
}

}  // namespace

double OwnCores(const View& view, const JobView& job) {
  return job.gpus * view.cluster.cpu_per_gpu;
}

std::vector<std::size_t> OrderOf(const View& view, GpuOrder order) {
  const Snapshot& snapshot = view.snapshot;
  std::vector<double> key;
  key.reserve(snapshot.jobs.size());
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
    const JobView& job = snapshot.jobs[i];
    switch (order) {
      case GpuOrder::kFifo:
        key.push_back(job.arrival_s);
        break;
      case GpuOrder::kSjf:
        key.push_back(TimeLeft(view, job));
        break;
      case GpuOrder::kMaxMin:
        key.push_back(job.received / job.gpus);
        break;
      case GpuOrder::kLeastWork:
      case GpuOrder::kPacked:
        key.push_back(WorkLeft(view, i));
        break;
      case GpuOrder::kLeastService:
        key.push_back(job.gpus * TimeLeft(view, job));
        break;
      case GpuOrder::kLeastAttained:
        key.push_back(job.received);
        break;
      case GpuOrder::kSia:
        key.push_back(SiaKey(view, i));
        break;
    }
  }
  const JobView* first = snapshot.jobs.data();
  return coordinator::Order(snapshot, [&](const JobView& a, const JobView& b) {
    return key[static_cast<std::size_t>(&a - first)] < key[static_cast<std::size_t>(&b - first)];
  });
}

std::vector<std::size_t> UsersOf(const View& view, std::span<const std::size_t> ordered) {
  const Snapshot& snapshot = view.snapshot;
  const double all = view.cluster.cores();
  const double floor = snapshot.floor.value_or(coordinator::kFloorOfWorth);
  double left = all, gpus = view.cluster.gpus;
  std::vector<double> quota;
  for (const coordinator::Tenant& tenant : snapshot.tenants) quota.push_back(tenant.quota.gpus);
  std::vector<std::size_t> users;
  for (const std::size_t i : ordered) {
    const JobView& job = snapshot.jobs[i];
    const double need =
        CoresFor(job.terms, job.terms.ready_rate, job.effective_hit) + view.pinned[i];
    const double sure = floor * all * job.gpus / view.cluster.gpus;
    const bool stays = job.running && !view.round;
    if (!stays && std::max(left, sure) < kUsefulSpeed * std::min(need, all)) continue;
    users.push_back(i);
    // Who gets no GPUs anyway leaves its cores to others.
    double& of_tenant = quota[static_cast<std::size_t>(job.tenant)];
    if (!stays && job.gpus > std::min(gpus, of_tenant)) continue;
    gpus -= job.gpus;
    of_tenant -= job.gpus;
    left = std::max(0.0, left - need);
  }
  return users;
}

std::vector<std::size_t> CandidatesOf(const View& view, GpuOrder order) {
  std::vector<std::size_t> ordered = OrderOf(view, order);
  return order == GpuOrder::kPacked ? UsersOf(view, ordered) : ordered;
}

coordinator::Allocation OrderedPolicy::Decide(const View& view) {
  const Snapshot& all = view.snapshot;
  coordinator::Allocation allocation;
  allocation.jobs.resize(all.jobs.size());
  coordinator::Admit(all, CandidatesOf(view, order_), preempts() && view.round, allocation.jobs);
  // Those that are admitted have all GPUs. The others stay in sight, because their data may be cached, and come
  // last.
  Snapshot admitted = all;
  admitted.supply.gpus = 0;
  for (std::size_t i = 0; i < all.jobs.size(); ++i) {
    admitted.jobs[i].running = allocation.jobs[i].admitted;
    if (allocation.jobs[i].admitted) {
      admitted.supply.gpus += all.jobs[i].gpus;
    } else {
      admitted.jobs[i].priority = std::numeric_limits<std::int32_t>::min();
    }
  }
  coordinator::Allocation divided = policy_.Decide(admitted);
  for (std::size_t i = 0; i < all.jobs.size(); ++i) {
    if (divided.jobs[i].admitted) allocation.jobs[i] = std::move(divided.jobs[i]);
  }
  allocation.dataset_bytes = std::move(divided.dataset_bytes);
  return allocation;
}

}  // namespace headrace::simulate
