#include "coordinator/story.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/printed.h"

namespace headrace::coordinator {
namespace {

std::string NameOf(const AddJob& job) {
  return "job " + std::to_string(job.job.value) + " (" + job.name + ")";
}
std::string NameOf(const Worker& worker) {
  return "worker " + std::to_string(worker.info.worker.value) + " on " + worker.info.host.hostname;
}

std::string TimeText(double seconds) {
  if (seconds < 120) return Printed("%.0f s", seconds);
  if (seconds < 7200) return Printed("%.0f min", seconds / 60);
  return Printed("%.1f h", seconds / 3600);
}

struct Teller {
  const State& before;
  std::int64_t wall_ms = 0;

  std::string operator()(const AddJob& job) const {
    std::string text = NameOf(job) + " of " + job.host.hostname + " is opened";
    if (!job.tenant.empty()) text += ", tenant " + job.tenant;
    if (job.rank > 0) text += ", rank " + std::to_string(job.rank);
    return text;
  }
  std::string operator()(const ReviveJob& update) const {
    const Job* const job = before.FindJob(update.job);
    return job == nullptr ? "" : NameOf(job->spec) + " is back";
  }
  std::string operator()(const RemoveJob& update) const {
    const Job* const job = before.FindJob(update.job);
    if (job == nullptr) return "";
    const double seconds =
        static_cast<double>(std::max<std::int64_t>(0, wall_ms - job->spec.opened_ms)) * 1e-3;
    return NameOf(job->spec) + " has ended after " + TimeText(seconds);
  }
  std::string operator()(const SetLeases& update) const {
    const Job* const job = before.FindJob(update.job);
    if (job == nullptr || job->leases.empty() == update.workers.empty()) return "";
    const std::size_t count = update.workers.size();
    if (count == 0) return NameOf(job->spec) + " has no worker any more";
    return NameOf(job->spec) + " has " + std::to_string(count) +
           (count == 1 ? " worker" : " workers");
  }
  std::string operator()(const SetGrants& update) const {
    const Job* const job = before.FindJob(update.job);
    if (job == nullptr || job->waits_for == update.reason) return "";
    return NameOf(job->spec) +
           (update.reason.empty() ? " is admitted" : " waits: " + update.reason);
  }
  std::string operator()(const AddWorker& update) const {
    const wire::WorkerInfo& info = update.info;
    std::string text = "worker " + std::to_string(info.worker.value) + " on " + info.host.hostname +
                       " is ready: " + Printed("%g cores", info.usable_cores());
    if (info.cache_bytes > 0) {
      text += Printed(", %.3g GB of cache", static_cast<double>(info.cache_bytes) * 1e-9);
    }
    return text;
  }
  std::string operator()(const ReviveWorker& update) const {
    const Worker* const worker = before.FindWorker(update.worker);
    return worker == nullptr ? "" : NameOf(*worker) + " is back";
  }
  std::string operator()(const DrainWorker& update) const {
    const Worker* const worker = before.FindWorker(update.worker);
    if (worker == nullptr || worker->draining) return "";
    return NameOf(*worker) + " leaves when its work is done" +
           (update.reason.empty() ? "" : ": " + update.reason);
  }
  std::string operator()(const RemoveWorker& update) const {
    const Worker* const worker = before.FindWorker(update.worker);
    return worker == nullptr ? "" : NameOf(*worker) + " has left";
  }
  template <typename Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

}  // namespace

std::string StoryOf(const State& before, const Update& update, std::int64_t wall_ms) {
  return std::visit(Teller{before, wall_ms}, update);
}

}  // namespace headrace::coordinator
