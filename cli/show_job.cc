#include <algorithm>
#include <string>
#include <vector>

#include "cli/show.h"
#include "cli/show_ended.h"
#include "cli/text.h"

namespace headrace::cli {
namespace {

std::string Who(const wire::JobStatus& job) {
  if (job.rank >= 0) return "rank " + std::to_string(job.rank);
  return "job " + std::to_string(job.job.value);
}

std::string Line(const std::string& name, const std::string& value) {
  return name + std::string(name.size() < 10 ? 10 - name.size() : 1, ' ') + value + "\n";
}

// ", 2h5m at this speed".
std::string TimeLeftText(const wire::JobStatus& job) {
  if (job.samples_per_second <= 0) return "";
  const double ms = 1e3 * static_cast<double>(job.remaining_samples) / job.samples_per_second;
  return ", " + AgeText(static_cast<std::int64_t>(std::min(ms, 1e15))) + " at this speed";
}

std::string TotalsText(const wire::JobTotals& totals) {
  return Line("so far", std::to_string(totals.samples) + " samples; waited " + StallText(totals)) +
         Line("used", Format("%.2f", totals.cpu_seconds / 3600) + " CPU-hours, of " +
                          Format("%.2f", totals.granted_core_seconds / 3600) +
                          " core-hours that it was granted");
}

std::string EndedPage(const wire::ClusterStatus& now, const wire::EndedJob& job) {
  return Line("job", std::to_string(job.job.value) + "  " + Plain(job.name) + ", pid " +
                         std::to_string(job.pid) + " on " + Plain(job.hostname)) +
         Line("state", Plain(job.end) + " " + AgeText(now.wall_ms - job.ended_ms) + " ago, after " +
                           AgeText(job.ended_ms - job.opened_ms)) +
         Line("tenant", job.tenant.empty() ? "default" : Plain(job.tenant)) +
         TotalsText(job.totals);
}

std::string RankText(const wire::ClusterStatus& now, const wire::JobStatus& job) {
  std::string text = Line("cores", Format("%.2f", job.granted_millicores / 1000.0) + " granted, " +
                                       Format("%.2f", job.demand_millicores / 1000.0) +
                                       " asked for, on " + std::to_string(job.workers.size()) +
                                       (job.workers.size() == 1 ? " worker" : " workers"));
  if (!job.why.text.empty()) text += Line("why", Plain(job.why.text));
  if (job.cache_bytes_granted > 0)
    text += Line("cache", BytesText(job.cache_bytes_granted) + " granted");
  if (job.source_bytes_per_second_limit > 0) {
    text += Line("source", "at most " + BytesText(job.source_bytes_per_second_limit) + "/s");
  }
  if (job.link_bytes_per_second_share > 0) {
    text += Line("network", "at most " + BytesText(job.link_bytes_per_second_share) + "/s, " +
                                BytesText(job.sent_bytes_per_sample) + " a sample");
  }
  if (job.samples_per_second_when_ready > 0) {
    text += Line("speed",
                 Format("%.0f", job.samples_per_second) + " samples/s; its trainer would take " +
                     Format("%.0f", job.samples_per_second_when_ready) + " with data always ready");
  }
  if (job.remaining_samples >= 0) {
    text +=
        Line("remaining", std::to_string(job.remaining_samples) + " samples" + TimeLeftText(job));
  }
  if (job.totals != wire::JobTotals{}) text += TotalsText(job.totals);
  if (!job.advice.empty()) text += Line("waiting", Who(job) + " " + Plain(job.advice));
  for (const wire::UnfitWorker& unfit : job.unfit) {
    text += Line("unfit", WorkerName(now, unfit.worker) + ": " + Plain(unfit.reason));
  }
  for (const wire::WorkerStatus& worker : now.workers) {
    if (std::ranges::find(worker.slow_for, job.job) == worker.slow_for.end()) continue;
    text += Line("slow", WorkerName(now, worker.info.worker) + " (" + Plain(worker.state) +
                             "): " + Plain(worker.reason));
  }
  if (job.bad_known > job.bad.size()) {
    text += Line("bad", std::to_string(job.bad_known) + " samples, the last of them:");
  }
  for (const wire::BadSample& bad : job.bad) {
    const std::string where = bad.name.empty() ? "" : Plain(bad.name) + ", ";
    text += Line("bad", where + "sample " + std::to_string(bad.row) + ": " + Plain(bad.cause) +
                            (bad.held_back ? "; no worker is given it" : "") +
                            (bad.times > 1 ? " (" + std::to_string(bad.times) + " times)" : ""));
  }
  return text;
}

}  // namespace

std::string AdviceLines(const wire::ClusterStatus& now) {
  std::string text;
  for (const wire::JobStatus& job : now.jobs) {
    if (job.advice.empty()) continue;
    if (job.rank >= 0) text += "job " + std::to_string(job.job.value) + ", ";
    text += Who(job) + " " + Plain(job.advice) + "\n";
  }
  return text;
}

Result<std::string> JobPage(const wire::ClusterStatus& now, JobId id) {
  const auto found = std::find_if(now.jobs.begin(), now.jobs.end(),
                                  [id](const wire::JobStatus& each) { return each.job == id; });
  if (found == now.jobs.end()) {
    const auto ended = std::ranges::find(now.ended, id, &wire::EndedJob::job);
    if (ended != now.ended.end()) return EndedPage(now, *ended);
    return NotFound("no job " + std::to_string(id.value) + "; `headrace jobs --all` lists them");
  }
  const wire::JobStatus& job = *found;
  std::string text =
      Line("job", std::to_string(id.value) + "  " + Plain(job.name) + ", pid " +
                      std::to_string(job.pid) + " on " + Plain(job.hostname)) +
      Line("state", Plain(job.state) + ", since " + AgeText(now.wall_ms - job.opened_ms));
  text += Line("tenant", (job.tenant.empty() ? "default" : Plain(job.tenant)) + ", priority " +
                             std::to_string(job.priority));
  std::vector<const wire::JobStatus*> ranks;
  for (const wire::JobStatus& each : now.jobs) {
    // A lost job may belong to an earlier run with the same name.
    const bool rank = !job.group.empty() && each.group == job.group && each.tenant == job.tenant &&
                      each.state != "lost";
    if (each.job == id || rank) ranks.push_back(&each);
  }
  std::sort(ranks.begin(), ranks.end(), [](const auto* a, const auto* b) {
    return std::pair(a->rank, a->job) < std::pair(b->rank, b->job);
  });
  for (const wire::JobStatus* rank : ranks) {
    if (ranks.size() > 1) {
      text += '\n';
      text += Who(*rank) + ", job " + std::to_string(rank->job.value) + "\n";
    }
    text += RankText(now, *rank);
  }
  return text;
}

}  // namespace headrace::cli
