#include "web/metrics_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/plain_text.h"

namespace headrace::web {
namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

// Whose numbers a struct has: a part of the name, and what the page says.
struct Owner {
  std::string_view name;
  std::string_view meaning;
  std::string_view labels;
};
constexpr Owner kCluster{"", "the cluster", ""};
constexpr Owner kJob{"job", "a job", "job_id"};
constexpr Owner kTotals{"job", "a job, since it began", "job_id, and cause where it is one"};
constexpr Owner kSession{"session", "a loader of a job, since it began", "job_id, session_id"};
constexpr Owner kWorker{"worker", "a worker, since its start", "worker_id"};
constexpr Owner kUsage{"worker_job", "a job on a worker, since the worker's start",
                       "worker_id, job_id"};

constexpr Owner kDataset{"dataset", "a data set in caches", "dataset, name"};
constexpr Owner kPool{"pool", "a pool of the coordinator's", "pool, and state where it is one"};

constexpr std::string_view kJobInfo = "a job: always 1; the labels say which";
constexpr std::string_view kWorkerInfo = "a worker: always 1; the labels say which";
constexpr std::string_view kPoolInfo =
    "a pool: always 1; the labels say which, and what stands in its way";

// The label of a row that is a part of a metric; empty: the row is a metric of its own.
struct Part {
  std::string_view label, value;
};

// "source" of stall_source_ns; empty: the row is a metric of its own.
std::string_view CauseOf(const Metric& metric) {
  constexpr std::string_view kStall = "stall_", kEnd = "_ns";
  const std::string_view name = metric.name;
  if (!name.starts_with(kStall) || !name.ends_with(kEnd)) return "";
  if (name.size() <= kStall.size() + kEnd.size()) return "";
  return name.substr(kStall.size(), name.size() - kStall.size() - kEnd.size());
}

Part PartOf(const Owner& owner, const Metric& metric) {
  if (const std::string_view cause = CauseOf(metric); !cause.empty()) return {"cause", cause};
  constexpr std::array<std::string_view, 6> kStates = {"queued",  "starting", "running",
                                                       "waiting", "draining", "lost"};
  const bool is_state =
      owner.name == kPool.name && std::ranges::find(kStates, metric.name) != kStates.end();
  return is_state ? Part{"state", metric.name} : Part{};
}

std::string NameOf(const Owner& owner, const Metric& metric) {
  std::string name = "headrace_";
  const Part part = PartOf(owner, metric);
  if (part.label == "cause") return name + std::string(owner.name) + "_stall_seconds_total";
  if (part.label == "state") return name + std::string(owner.name) + "_workers";
  name += owner.name;
  if (!owner.name.empty()) name += '_';
  name += ShownName(metric);
  if (metric.kind == MetricKind::kCounter) name += "_total";
  return name;
}

std::string_view KindOf(const Metric& metric) {
  return metric.kind == MetricKind::kCounter ? "counter" : "gauge";
}

// Not of the locale, and with all digits that matter.
template <typename T>
std::string Number(T value) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

template <typename T>
std::string ShownNumber(const Metric& metric, T value) {
  if (std::is_integral_v<T> && ShownName(metric) == metric.name) return Number(value);
  return Number(ShownValue(metric, static_cast<double>(value)));
}

// In quotes. One label that is no UTF-8, or has another escape than \\ and \", would spoil the
// whole text for its reader. JSON's form has no other once control characters are gone.
std::string Quoted(const std::string& text) {
  using Json = nlohmann::json;
  return Json(PlainText(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string LabelText(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += text.empty() ? '{' : ',';
    text += name;
    text += '=';
    text += Quoted(value);
  }
  if (!text.empty()) text += '}';
  return text;
}

std::string Head(const std::string& name, std::string_view help, std::string_view kind) {
  return "# HELP " + name + " " + std::string(help) + "\n# TYPE " + name + " " + std::string(kind) +
         "\n";
}

// Whether it was measured at all.
template <typename T>
bool Known(const T&, const Metric&) {
  return true;
}
bool Known(const wire::SessionLoad& load, const Metric& metric) {
  return metric.name != "idle_ns" || load.idle_known;
}
bool Known(const wire::PoolStatus& pool, const Metric& metric) {
  return pool.core_price > 0 || (metric.name != "core_price" && metric.name != "cost_per_hour");
}
bool Known(const wire::DatasetStatus& dataset, const Metric& metric) {
  return !metric.name.starts_with("duplicate_share") || dataset.sampled_entries > 0;
}

// All lines of one metric must stand together, so the metrics are the outer loop. `each` calls its
// argument with every T and its labels.
template <typename T, typename Each>
std::string Family(const Owner& owner, Each each) {
  std::string text, last;
  T::EachMetric([&](const Metric& metric, auto member) {
    const std::string name = NameOf(owner, metric);
    std::string lines;
    each([&](const T& numbers, Labels labels) {
      if (!Known(numbers, metric)) return;
      if (const Part part = PartOf(owner, metric); !part.label.empty()) {
        labels.emplace_back(part.label, part.value);
      }
      lines += name + LabelText(labels) + " " + ShownNumber(metric, numbers.*member) + "\n";
    });
    if (!lines.empty())
      text += (name == last ? "" : Head(name, metric.help, KindOf(metric))) + lines;
    if (!lines.empty()) last = name;
  });
  return text;
}

std::string Id(std::int64_t value) { return std::to_string(value); }

std::string InfosOf(std::span<const wire::JobStatus> of_jobs,
                    std::span<const wire::WorkerStatus> of_workers) {
  std::string jobs, workers;
  for (const wire::JobStatus& job : of_jobs) {
    jobs += "headrace_job_info" +
            LabelText({{"job_id", Id(job.job.value)},
                       {"name", job.name},
                       {"hostname", job.hostname},
                       {"pid", Id(job.pid)},
                       {"tenant", job.tenant},
                       {"group", job.group},
                       {"rank", Id(job.rank)},
                       {"state", job.state}}) +
            " 1\n";
  }
  for (const wire::WorkerStatus& worker : of_workers) {
    workers += "headrace_worker_info" +
               LabelText({{"worker_id", Id(worker.info.worker.value)},
                          {"hostname", worker.info.host.hostname},
                          {"pid", Id(worker.info.host.pid)},
                          {"version", worker.info.version},
                          {"cores", Number(worker.info.usable_cores())},
                          {"state", worker.state}}) +
               " 1\n";
  }
  std::string text;
  if (!jobs.empty()) text += Head("headrace_job_info", kJobInfo, "gauge") + jobs;
  if (!workers.empty()) text += Head("headrace_worker_info", kWorkerInfo, "gauge") + workers;
  return text;
}

std::string PoolInfos(std::span<const wire::PoolStatus> pools) {
  std::string lines;
  for (const wire::PoolStatus& pool : pools) {
    lines +=
        "headrace_pool_info" +
        LabelText({{"pool", pool.name},
                   {"kind", pool.kind},
                   {"preemptible", pool.preemptible ? "1" : "0"},
                   {"state", pool.state},
                   {"trouble", pool.trouble_stands ? std::string(wire::TroubleWord(pool.trouble))
                                                   : std::string()}}) +
        " 1\n";
  }
  return lines.empty() ? "" : Head("headrace_pool_info", kPoolInfo, "gauge") + lines;
}

template <typename T>
std::string Rows(const Owner& owner) {
  std::string text = "\n## Of " + std::string(owner.meaning) + "\n\n";
  if (!owner.labels.empty()) text += "Labels: " + std::string(owner.labels) + ".\n\n";
  text += "| metric | in the code | kind | unit | is |\n|---|---|---|---|---|\n";
  T::EachMetric([&](const Metric& metric, auto) {
    text += "| `" + NameOf(owner, metric) + "` | `" + std::string(metric.name) + "` | " +
            std::string(KindOf(metric)) + " | " + std::string(ShownUnit(metric)) + " | " +
            std::string(metric.help) + " |\n";
  });
  return text;
}

std::string WorkersText(std::span<const wire::WorkerStatus> all) {
  const auto workers = [&](const auto& line) {
    for (const wire::WorkerStatus& worker : all) {
      line(worker.last, Labels{{"worker_id", Id(worker.info.worker.value)}});
    }
  };
  const auto usages = [&](const auto& line) {
    for (const wire::WorkerStatus& worker : all) {
      for (const wire::JobUsage& usage : worker.last.usage) {
        line(usage,
             Labels{{"worker_id", Id(worker.info.worker.value)}, {"job_id", Id(usage.job.value)}});
      }
    }
  };
  return Family<wire::WorkerHeartbeat>(kWorker, workers) + Family<wire::JobUsage>(kUsage, usages);
}

}  // namespace

std::string MetricsText(const wire::ClusterStatus& now) {
  const auto cluster = [&](const auto& line) { line(now, Labels()); };
  const auto jobs = [&](const auto& line) {
    for (const wire::JobStatus& job : now.jobs) line(job, Labels{{"job_id", Id(job.job.value)}});
  };
  const auto totals = [&](const auto& line) {
    for (const wire::JobStatus& job : now.jobs) {
      line(job.totals, Labels{{"job_id", Id(job.job.value)}});
    }
  };
  const auto sessions = [&](const auto& line) {
    for (const wire::JobStatus& job : now.jobs) {
      for (const wire::SessionLoad& load : job.sessions) {
        line(load, Labels{{"job_id", Id(job.job.value)}, {"session_id", Id(load.session.value)}});
      }
    }
  };
  const auto datasets = [&](const auto& line) {
    for (const wire::DatasetStatus& dataset : now.datasets) {
      line(dataset, Labels{{"dataset", HexText(dataset.dataset)}, {"name", dataset.name}});
    }
  };
  const auto pools = [&](const auto& line) {
    for (const wire::PoolStatus& pool : now.pools) line(pool, Labels{{"pool", pool.name}});
  };
  return Family<wire::ClusterStatus>(kCluster, cluster) + InfosOf(now.jobs, now.workers) +
         Family<wire::JobStatus>(kJob, jobs) + Family<wire::JobTotals>(kTotals, totals) +
         Family<wire::SessionLoad>(kSession, sessions) + WorkersText(now.workers) +
         Family<wire::DatasetStatus>(kDataset, datasets) + PoolInfos(now.pools) +
         Family<wire::PoolStatus>(kPool, pools);
}

std::string WorkerMetricsText(const wire::WorkerStatus& worker) {
  return InfosOf({}, {&worker, 1}) + WorkersText({&worker, 1});
}

std::string MetricsPage() {
  const auto info = [](std::string_view name, std::string_view help) {
    return "| `headrace_" + std::string(name) + "_info` | | gauge | | " + std::string(help) +
           " |\n";
  };
  return "# Metrics\n\nGenerated from `base/metrics.h`; see [how to add one]"
         "(../howto/add-metric.md). `headrace metrics` prints them in Prometheus' text format, and "
         "`--http` "
         "of a coordinator and a worker serves them. "
         "`headrace jobs --json` and `headrace workers --json` show them without `headrace_`, the "
         "owner and `_total`.\n" +
         Rows<wire::ClusterStatus>(kCluster) + info("job", kJobInfo) + info("worker", kWorkerInfo) +
         Rows<wire::JobStatus>(kJob) + Rows<wire::JobTotals>(kTotals) +
         Rows<wire::SessionLoad>(kSession) + Rows<wire::WorkerHeartbeat>(kWorker) +
         Rows<wire::JobUsage>(kUsage) + Rows<wire::DatasetStatus>(kDataset) +
         Rows<wire::PoolStatus>(kPool) + info("pool", kPoolInfo);
}

}  // namespace headrace::web
