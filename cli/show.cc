#include "cli/show.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cli/table.h"
#include "cli/text.h"

namespace headrace::cli {
namespace {

// The sum over the loaders of a job.
wire::SessionLoad Totals(const wire::JobStatus& job) {
  wire::SessionLoad sum;
  for (const wire::SessionLoad& load : job.sessions) {
    wire::SessionLoad::EachMetric([&](const Metric&, auto member) { sum.*member += load.*member; });
  }
  return sum;
}

std::string CellOf(const Metric& metric, double value) {
  if (metric.unit == MetricUnit::kBytes) return BytesText(static_cast<std::uint64_t>(value));
  if (ShownUnit(metric) == "seconds") return Format("%.1fs", ShownValue(metric, value));
  return Format("%.0f", ShownValue(metric, value));
}

// Appends the headings, or the values, of those metrics of T that have a column.
template <typename T>
void AddHeadings(std::vector<std::string>& head) {
  T::EachMetric([&](const Metric& metric, auto) {
    if (!metric.column.empty()) head.emplace_back(metric.column);
  });
}
template <typename T>
void AddCells(const T& numbers, std::vector<std::string>& row) {
  T::EachMetric([&](const Metric& metric, auto member) {
    if (!metric.column.empty()) {
      row.push_back(CellOf(metric, static_cast<double>(numbers.*member)));
    }
  });
}

// How many of the batches that were made twice were equal.
std::string EqualText(const wire::SessionLoad& t) {
  if (t.compared == 0) return "-";
  return std::to_string(t.compared - std::min(t.differed, t.compared)) + "/" +
         std::to_string(t.compared);
}

std::string StallShare(std::uint64_t stall_ns, std::uint64_t step_ns) {
  const double all = static_cast<double>(stall_ns) + static_cast<double>(step_ns);
  if (all <= 0) return "-";
  return Format("%.0f%%", 100 * static_cast<double>(stall_ns) / all);
}

// Growth of a counter; a smaller value than before means that the counter restarted.
std::uint64_t Growth(std::uint64_t now, std::uint64_t before) {
  return now >= before ? now - before : now;
}

double SecondsBetween(const wire::ClusterStatus& now, const wire::ClusterStatus& before) {
  return std::max(static_cast<double>(now.wall_ms - before.wall_ms) / 1000, 0.001);
}

// "1.5/4.4": granted cores, and the cores asked for.
std::string CoresOf(const wire::JobStatus& job) {
  return Format("%.1f", job.granted_millicores / 1000.0) + "/" +
         Format("%.1f", job.demand_millicores / 1000.0);
}

std::string Ids(const std::vector<WorkerId>& ids) {
  if (ids.size() > 6) return std::to_string(ids.size()) + " workers";
  std::string text;
  for (const WorkerId id : ids) {
    if (!text.empty()) text += ',';
    text += std::to_string(id.value);
  }
  return text.empty() ? "-" : text;
}

}  // namespace

std::string BytesText(std::uint64_t bytes) {
  constexpr std::array<char, 5> kUnits{'K', 'M', 'G', 'T', 'P'};
  if (bytes < 1024) return std::to_string(bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); value /= 1024) ++unit;
  return Format(value < 10 ? "%.1f" : "%.0f", value) + kUnits[unit];
}

std::string AgeText(std::int64_t ms) {
  const std::int64_t s = std::max<std::int64_t>(ms, 0) / 1000;
  if (s < 60) return std::to_string(s) + "s";
  if (s < 3600) return std::to_string(s / 60) + "m";
  if (s < 86400) return std::to_string(s / 3600) + "h" + std::to_string(s % 3600 / 60) + "m";
  return std::to_string(s / 86400) + "d" + std::to_string(s % 86400 / 3600) + "h";
}

std::string JobsTable(const wire::ClusterStatus& now, const wire::ClusterStatus* before) {
  if (now.jobs.empty()) return "no jobs\n";
  std::vector<std::string> head = {"JOB",   "NAME", "HOST",    "PID",
                                   "STATE", "AGE",  "WORKERS", "CORES"};
  AddHeadings<wire::SessionLoad>(head);
  head.insert(head.end(), {"EQUAL", "STALL"});
  if (before) head.emplace_back("SAMPLES/S");
  Table table(std::move(head));
  for (const wire::JobStatus& job : now.jobs) {
    const wire::SessionLoad t = Totals(job);
    std::string stall = StallShare(t.stall_ns, t.step_ns);
    std::string rate;
    if (before) {
      wire::SessionLoad old;
      for (const wire::JobStatus& each : before->jobs) {
        if (each.job == job.job) old = Totals(each);
      }
      stall = StallShare(Growth(t.stall_ns, old.stall_ns), Growth(t.step_ns, old.step_ns));
      rate = Format("%.0f", static_cast<double>(Growth(t.samples, old.samples)) /
                                SecondsBetween(now, *before));
    }
    std::vector<std::string> row = {std::to_string(job.job.value),
                                    Plain(job.name),
                                    Plain(job.hostname),
                                    std::to_string(job.pid),
                                    Plain(job.state),
                                    AgeText(now.wall_ms - job.opened_ms),
                                    Ids(job.workers),
                                    CoresOf(job)};
    AddCells(t, row);
    row.insert(row.end(), {EqualText(t), std::move(stall)});
    if (before) row.push_back(std::move(rate));
    table.Add(std::move(row));
  }
  return table.Text();
}

std::string WorkersTable(const wire::ClusterStatus& now, const wire::ClusterStatus* before) {
  if (now.workers.empty()) return "no workers\n";
  std::vector<std::string> head = {"WORKER", "HOST", "PID", "STATE", "CORES", "JOBS"};
  AddHeadings<wire::WorkerHeartbeat>(head);
  head.insert(head.end(), {"HITS", "SEEN"});
  const bool links = std::ranges::any_of(now.workers, [](const wire::WorkerStatus& worker) {
    return worker.info.link_bytes_per_second > 0 || !worker.info.rack.empty();
  });
  if (links) head.insert(head.end(), {"LINK", "RACK"});
  const bool unlike = std::ranges::any_of(now.workers, [](const auto& w) { return w.speed != 1; });
  if (unlike) head.emplace_back("SPEED");
  if (before) head.insert(head.end(), {"CPU%", "SAMPLES/S"});
  Table table(std::move(head));
  for (const wire::WorkerStatus& worker : now.workers) {
    const wire::WorkerHeartbeat& last = worker.last;
    const auto reads = static_cast<double>(last.cache_hits + last.cache_misses);
    std::vector<std::string> row = {
        std::to_string(worker.info.worker.value), Plain(worker.info.host.hostname),
        std::to_string(worker.info.host.pid),     Plain(worker.state),
        Format("%g", worker.info.usable_cores()), std::to_string(last.jobs.size())};
    AddCells(last, row);
    row.insert(
        row.end(),
        {reads > 0 ? Format("%.0f%%", 100 * static_cast<double>(last.cache_hits) / reads) : "-",
         Format("%.1fs", static_cast<double>(worker.silent_ms) / 1000)});
    if (links) {
      const std::uint64_t link = worker.info.link_bytes_per_second;
      row.push_back(link > 0 ? BytesText(link) + "/s" : "-");
      row.push_back(worker.info.rack.empty() ? "-" : Plain(worker.info.rack));
    }
    if (unlike) row.push_back(Format("%.2f", worker.speed));
    if (before) {
      wire::WorkerHeartbeat old;
      for (const wire::WorkerStatus& each : before->workers) {
        if (each.info.worker == worker.info.worker) old = each.last;
      }
      const double seconds = SecondsBetween(now, *before);
      row.push_back(
          Format("%.0f%%", 100 * std::max(last.cpu_seconds - old.cpu_seconds, 0.0) / seconds));
      row.push_back(
          Format("%.0f", static_cast<double>(Growth(last.samples, old.samples)) / seconds));
    }
    table.Add(std::move(row));
  }
  return table.Text();
}

std::string UnfitLines(const wire::ClusterStatus& now) {
  std::string text;
  for (const wire::JobStatus& job : now.jobs) {
    for (const wire::UnfitWorker& unfit : job.unfit) {
      text += WorkerName(now, unfit.worker) + " is unfit for job " + std::to_string(job.job.value) +
              " (" + Plain(job.name) + "): " + Plain(unfit.reason) + "\n";
    }
  }
  return text;
}

std::string RoomLine(const wire::ClusterStatus& now) {
  const std::uint32_t programs = now.programs_without_room;
  if (programs == 0) return "";
  return std::to_string(programs) + (programs == 1 ? " program waits" : " programs wait") +
         " for room: the coordinator has as many jobs as --max-jobs or --max-jobs-of-a-tenant "
         "allows\n";
}

std::string SlowLines(const wire::ClusterStatus& now) {
  std::string text;
  for (const wire::WorkerStatus& worker : now.workers) {
    if (worker.reason.empty()) continue;
    text += WorkerName(now, worker.info.worker) + " is " + Plain(worker.state) + ": " +
            Plain(worker.reason) + "\n";
  }
  return text;
}

std::string WorkerName(const wire::ClusterStatus& now, WorkerId id) {
  std::string name = "worker " + std::to_string(id.value);
  for (const wire::WorkerStatus& worker : now.workers) {
    if (worker.info.worker == id) name += " on " + Plain(worker.info.host.hostname);
  }
  return name;
}

std::string TopPage(const std::string& address, const wire::ClusterStatus& now,
                    const wire::ClusterStatus* before) {
  double cpu = now.coordinator_cpu_seconds + now.ended_workers_cpu_seconds;
  for (const wire::WorkerStatus& worker : now.workers) cpu += worker.last.cpu_seconds;
  const std::string lines =
      AdviceLines(now) + UnfitLines(now) + SlowLines(now) + RoomLine(now) + PoolsLine(now);
  return "headrace " + Plain(now.version) + "  " + address + "  " +
         std::to_string(now.jobs.size()) + " jobs  " + std::to_string(now.workers.size()) +
         " workers  " + Format("%.1f", cpu) + " CPU s (coordinator " +
         Format("%.2f", now.coordinator_cpu_seconds) + ")\n\n" + JobsTable(now, before) + "\n" +
         WorkersTable(now, before) + (lines.empty() ? "" : "\n" + lines);
}

}  // namespace headrace::cli
