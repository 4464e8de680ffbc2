#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "simulate/summary.h"
#include "simulate/trace/csv.h"

namespace headrace::simulate {
namespace {

template <typename... Values>
std::string Format(const char* format, Values... values) {
  std::array<char, 128> line{};
  std::snprintf(line.data(), line.size(), format, values...);
  return line.data();
}

// "3 d 4 h", "4 h 10 min", "12 min 5 s", "4.25 s".
std::string Duration(double seconds) {
  const auto whole = [](double value) { return static_cast<long long>(value); };
  if (seconds >= 86400) {
    return Format("%lld d %lld h", whole(seconds / 86400), whole(seconds / 3600) % 24);
  }
  if (seconds >= 3600) {
    return Format("%lld h %lld min", whole(seconds / 3600), whole(seconds / 60) % 60);
  }
  if (seconds >= 60) return Format("%lld min %lld s", whole(seconds / 60), whole(seconds) % 60);
  return Format("%.3g s", seconds);
}

std::string Bytes(double bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  return Format("%.4g %s", bytes, kUnits[unit]);
}

// Share of a bound that is reached, 0..1; of a completion time, that is the bound over it.
double Reached(double part, double whole) { return whole > 0 ? part / whole : 0; }

template <typename Row>
void AddBounds(const Summary& s, const Row& row) {
  const CompletionBound& least = s.bounds->completion;
  const UtilizationBound& most = s.bounds->use;
  row("bound, completion",
      "at least " + Duration(least.avg_jct_s) +
          Format(": %.1f%% reached", 100 * Reached(least.avg_jct_s, s.avg_jct_s)));
  const auto use = [&](const char* name, double reached, double bound, const char* of) {
    row(name, Format("at most %.1f%% ", 100 * bound) + of +
                  Format(": %.1f%% reached", 100 * Reached(reached, bound)));
  };
  use("bound, GPUs", s.gpu_util, most.gpu_util, "of all");
  use("", s.gpu_util_held, most.gpu_util_held, "of those held");
  if (most.gpu_util_window > 0) {
    use("", s.gpu_util_window, most.gpu_util_window, "of all while jobs arrive");
  }
}

nlohmann::ordered_json BoundsJson(const Summary& s) {
  const CompletionBound& least = s.bounds->completion;
  const UtilizationBound& most = s.bounds->use;
  return {{"avg_jct_s", least.avg_jct_s},
          {"avg_jct_reached", Reached(least.avg_jct_s, s.avg_jct_s)},
          // A schedule that was run is one in the terms of the bound, too.
          {"avg_jct_of_best_prices_at_most_s", std::min(least.at_most_s, s.avg_jct_s)},
          {"makespan_s", most.makespan_s},
          {"gpu_util", most.gpu_util},
          {"gpu_util_reached", Reached(s.gpu_util, most.gpu_util)},
          {"gpu_util_held", most.gpu_util_held},
          {"gpu_util_held_reached", Reached(s.gpu_util_held, most.gpu_util_held)},
          {"gpu_util_window", most.gpu_util_window},
          {"gpu_util_window_reached", Reached(s.gpu_util_window, most.gpu_util_window)}};
}

}  // namespace

std::string NumberText(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string SummaryTable(const Setting& setting, const Summary& s) {
  std::string text;
  const auto row = [&](const char* name, const std::string& value) {
    text += Format("%-24s", name) + value + '\n';
  };
  const Cluster& cluster = setting.cluster;
  std::string on = Format("%d GPUs, %g cores a GPU", cluster.gpus, cluster.cpu_per_gpu);
  if (cluster.extra_cores > 0) on += Format(", %g cores more", cluster.extra_cores);
  row("trace", setting.trace + " (" + setting.format + ")");
  row("policy", setting.policy + (setting.order.empty() ? "" : ", GPUs " + setting.order) +
                    ", cache " + setting.cache);
  row("cluster", on);
  row("cache, source",
      Bytes(cluster.cache_bytes) +
          (cluster.cache_hosts > 1 ? Format(" apart on %d hosts, ", cluster.cache_hosts)
                                   : std::string(" as one, ")) +
          (cluster.source_rate < coordinator::kUnlimited ? Bytes(cluster.source_rate) + "/s"
                                                         : std::string("no limit")));
  if (cluster.link < coordinator::kUnlimited) {
    row("network", Bytes(cluster.link) + "/s each way, of each host" +
                       Format(" of %d GPUs", cluster.gpus_per_host));
  }
  std::string done = Format("%zu", s.jobs_done);
  if (s.jobs_refused > 0) done += Format(" (%zu ask for more GPUs than there are)", s.jobs_refused);
  row("jobs done", done);
  row("completion, average", Duration(s.avg_jct_s));
  row("completion, median", Duration(s.median_jct_s));
  row("completion, p99", Duration(s.p99_jct_s));
  row("wait for GPUs, average", Duration(s.avg_wait_s));
  row("makespan", Duration(s.makespan_s));
  row("GPUs useful",
      Format("%.1f%% of all, %.1f%% of those held", 100 * s.gpu_util, 100 * s.gpu_util_held) +
          (s.gpu_util_window > 0
               ? Format(", %.1f%% of all while jobs arrive", 100 * s.gpu_util_window)
               : std::string()));
  row("cores busy", Format("%.1f%%", 100 * s.cpu_util));
  row("fairness", Format("min %.3f, p1 %.3f, p5 %.3f, Jain %.3f", s.fairness_min, s.fairness_p1,
                         s.fairness_p5, s.fairness_jain));
  row("finish-time fairness",
      Format("median %.3f, p99 %.3f; %.1f%% of jobs are harmed", s.finish_time_median,
             s.finish_time_p99, 100 * s.finish_time_unfair));
  row("cache hits", Format("%.1f%%", 100 * s.cache_hit));
  row("read from the source", Bytes(s.remote_bytes));
  if (s.bounds) AddBounds(s, row);
  return text;
}

std::string SummaryJson(const Setting& setting, const Summary& s) {
  nlohmann::ordered_json json;
  json["avg_jct_s"] = s.avg_jct_s;
  json["median_jct_s"] = s.median_jct_s;
  json["p99_jct_s"] = s.p99_jct_s;
  json["makespan_s"] = s.makespan_s;
  json["gpu_util"] = s.gpu_util;
  json["fairness_min"] = s.fairness_min;
  json["fairness_jain"] = s.fairness_jain;
  json["cache_hit"] = s.cache_hit;
  json["remote_bytes"] = s.remote_bytes;
  json["gpu_util_held"] = s.gpu_util_held;
  json["cpu_util"] = s.cpu_util;
  json["avg_wait_s"] = s.avg_wait_s;
  json["jobs_done"] = s.jobs_done;
  json["jobs_refused"] = s.jobs_refused;
  json["preemptions"] = s.preemptions;
  json["decisions"] = s.decisions;
  json["gpu_util_window"] = s.gpu_util_window;
  json["backlog"] = s.backlog;
  json["fairness_p1"] = s.fairness_p1;
  json["fairness_p5"] = s.fairness_p5;
  json["finish_time_median"] = s.finish_time_median;
  json["finish_time_p99"] = s.finish_time_p99;
  json["finish_time_unfair"] = s.finish_time_unfair;
  if (s.bounds) json["bounds"] = BoundsJson(s);
  nlohmann::ordered_json& from = json["setting"];
  const Cluster& cluster = setting.cluster;
  from["format"] = setting.format;
  from["policy"] = setting.policy;
  if (!setting.order.empty()) from["order"] = setting.order;
  from["cache"] = setting.cache;
  from["gpus"] = cluster.gpus;
  from["cpu_per_gpu"] = cluster.cpu_per_gpu;
  from["extra_cores"] = cluster.extra_cores;
  from["cache_bytes"] = cluster.cache_bytes;
  from["cache_hosts"] = cluster.cache_hosts;
  if (cluster.source_rate < coordinator::kUnlimited) {
    from["source_bytes_per_s"] = cluster.source_rate;
  } else {
    from["source_bytes_per_s"] = nullptr;
  }
  if (cluster.link < coordinator::kUnlimited) {
    from["link_bytes_per_s"] = cluster.link;
    from["gpus_per_host"] = cluster.gpus_per_host;
  }
  from["profile_cores"] = setting.profile_cores;
  from["all_separable"] = setting.all_separable;
  from["noise"] = setting.noise;
  from["restart_s"] = setting.restart_s;
  from["seed"] = setting.seed;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

std::string JobsCsv(const Trace& trace, const Outcome& outcome) {
  std::string text =
      "job_id,model,gpus,separable,arrival_s,start_s,finish_s,jct_s,run_s,useful_gpu_s,fairness,"
      "preemptions\n";
  for (const JobOutcome& each : outcome.jobs) {
    const Job& job = trace.jobs[each.job];
    text += Quoted(job.id) + ',' + Quoted(job.model) + ',' + std::to_string(job.gpus) + ',' +
            (job.separable ? "1," : "0,");
    for (const double value :
         {job.arrival_s, each.start_s, each.finish_s, each.finish_s - job.arrival_s, each.run_s,
          each.useful_gpu_s, each.fairness}) {
      text += NumberText(value) + ',';
    }
    text += std::to_string(each.preemptions) + '\n';
  }
  return text;
}

std::string TimelineCsv(const Outcome& outcome) {
  std::string text =
      "time_s,gpus,useful_gpus,cores,granted_cores,cached_bytes,source_bytes_per_s,"
      "network_bytes_per_s,waiting\n";
  for (const TimelinePoint& each : outcome.timeline) {
    for (const double value :
         {each.time_s, each.gpus, each.useful_gpus, each.cores, each.granted_cores,
          each.cached_bytes, each.source_rate, each.network_rate}) {
      text += NumberText(value) + ',';
    }
    text += std::to_string(each.waiting) + '\n';
  }
  return text;
}

std::string CacheCsv(const Trace& trace, const Outcome& outcome) {
  std::string text = "time_s,job_id,dataset,quota_bytes,cached_bytes,hit,wait\n";
  for (const CachePoint& each : outcome.cache) {
    const Job& job = trace.jobs[each.job];
    text += NumberText(each.time_s) + ',' + Quoted(job.id) + ',' +
            Quoted(trace.datasets[static_cast<std::size_t>(job.dataset)].name) + ',' +
            NumberText(each.quota_bytes) + ',' + NumberText(each.cached_bytes) + ',' +
            NumberText(each.hit) + ',' + NumberText(each.wait) + '\n';
  }
  return text;
}

}  // namespace headrace::simulate
