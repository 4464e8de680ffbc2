#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/plain_text.h"
#include "base/printed.h"
#include "simulate/what_if/advise.h"

// Advice as a table and as JSON.
namespace headrace::simulate {
namespace {

using coordinator::kUnlimited;
using Json = nlohmann::ordered_json;

std::string TimeText(double seconds) {
  if (seconds < 300) return Printed("%.0f s", seconds);
  if (seconds < 7200) return Printed("%.0f min", seconds / 60);
  if (seconds < 172'800) return Printed("%.1f h", seconds / 3600);
  return Printed("%.1f days", seconds / 86'400);
}

std::string BytesText(double bytes) {
  if (bytes < 1e6) return Printed("%.3g kB", bytes / 1e3);
  if (bytes < 1e9) return Printed("%.3g MB", bytes / 1e6);
  return bytes < 1e12 ? Printed("%.3g GB", bytes / 1e9) : Printed("%.3g TB", bytes / 1e12);
}

std::string NameOf(const Job& job) {
  return "job " + PlainText(job.id, kMostNameBytes) +
         (job.model.empty() ? "" : " (" + PlainText(job.model, kMostNameBytes) + ")");
}

const char* KindText(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kCores:
      return "cores";
    case ChangeKind::kCache:
      return "cache_bytes";
    case ChangeKind::kSource:
      return "source_bytes_per_second";
    case ChangeKind::kPriority:
      return "priority";
    case ChangeKind::kHold:
      return "hold_s";
  }
  return "";
}

std::string TextOf(const Change& change) {
  const std::string job = "job " + PlainText(change.job, kMostNameBytes);
  switch (change.kind) {
    case ChangeKind::kCores:
      return Printed(change.amount == 1 ? "+%.0f core" : "+%.0f cores", change.amount);
    case ChangeKind::kCache:
      return "+" + BytesText(change.amount) + " of cache";
    case ChangeKind::kSource:
      return "+" + BytesText(change.amount) + "/s of the source";
    case ChangeKind::kPriority:
      return Printed("priority %.0f for ", change.amount) + job;
    case ChangeKind::kHold:
      return job + " waits until the others have ended *";
  }
  return "";
}

// "-22%"; "" where one of them is not known.
std::string ChangeText(double before, double after) {
  if (!(before > 0) || !std::isfinite(before) || !std::isfinite(after)) return "-";
  const double percent = 100 * (after / before - 1);
  return std::abs(percent) < 0.5 ? "0%" : Printed("%+.0f%%", percent);
}
Json Part(double before, double after) {
  if (!(before > 0) || !std::isfinite(before) || !std::isfinite(after)) return {};
  return after / before - 1;
}
Json Known(double value) { return std::isfinite(value) ? Json(value) : Json(); }

bool AnyKnown(const Forecast& forecast) {
  return std::ranges::any_of(forecast.left_s, [](double each) { return std::isfinite(each); });
}

std::vector<std::string> NotesOf(const LiveState& state, const Advice& advice) {
  std::vector<std::string> notes = {
      "All workers count as one pool: hosts and their links are left out. Jobs that will come are "
      "not known."};
  const auto endless = std::ranges::count(advice.now.left_s, kUnlimited);
  if (endless > 0) {
    notes.push_back(
        "The remaining work of " + std::to_string(endless) + (endless == 1 ? " job" : " jobs") +
        " is not known (`headrace run --epochs N` says it): samples of the next hour stand "
        "for the time left.");
  }
  if (!state.unmeasured.empty()) {
    std::string text = "Nothing is measured yet of job";
    for (std::size_t i = 0; i < state.unmeasured.size(); ++i) {
      text += (i > 0 ? ", " : " ") + PlainText(state.unmeasured[i], kMostNameBytes);
    }
    notes.push_back(text + ": left out.");
  }
  return notes;
}

constexpr const char* kForScheduler =
    "For the cluster's scheduler: Headrace gives no GPUs, and does not do it.";

class TextTable {
 public:
  void Row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] std::string Text() const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    }
    std::string text;
    for (const auto& row : rows_) {
      for (std::size_t c = 0; c < row.size(); ++c) {
        const bool last = c + 1 == row.size();
        text += row[c] + (last ? "\n" : std::string(widths[c] - row[c].size() + 2, ' '));
      }
    }
    return text;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::vector<std::string> Cells(const std::string& name, const Forecast& now, const Forecast& then,
                               std::optional<std::size_t> job) {
  std::vector<std::string> cells = {name};
  if (AnyKnown(now)) cells.push_back(ChangeText(now.mean_left_s, then.mean_left_s));
  if (job) {
    const bool known = std::isfinite(now.left_s[*job]);
    cells.push_back(known ? ChangeText(now.left_s[*job], then.left_s[*job])
                          : ChangeText(now.hour_samples[*job], then.hour_samples[*job]));
  }
  cells.push_back(ChangeText(1 - now.stall_share, 1 - then.stall_share));
  cells.push_back(Printed("%.0f%%", 100 * then.stall_share));
  return cells;
}

std::string HintLines(const LiveState& state, const Advice& advice) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < advice.hints.size() && i < kMost; ++i) {
    const Hint& hint = advice.hints[i];
    text +=
        "  " + std::to_string(i + 1) + ". " + NameOf(state.trace.jobs[hint.job]) + ": " +
        (std::isfinite(hint.work_s) ? TimeText(std::max(0.0, hint.work_s)) + " of the whole cluster"
                                    : "remaining work is not known") +
        (hint.starved ? "; better later: its GPUs would mostly wait for cores\n" : "\n");
  }
  if (advice.hints.size() > kMost) {
    text += "  and " + std::to_string(advice.hints.size() - kMost) + " more\n";
  }
  return text;
}

Json Write(const LiveState& state, const Forecast& forecast) {
  Json jobs = Json::array();
  for (std::size_t i = 0; i < state.trace.jobs.size(); ++i) {
    jobs.push_back({{"job", state.trace.jobs[i].id},
                    {"left_s", Known(forecast.left_s[i])},
                    {"next_hour_samples", forecast.hour_samples[i]}});
  }
  return {{"mean_left_s", AnyKnown(forecast) ? Json(forecast.mean_left_s) : Json()},
          {"next_hour_s", forecast.hour_s},
          {"gpu_stall_share", forecast.stall_share},
          {"jobs", std::move(jobs)}};
}

}  // namespace

std::string AdviceTable(const LiveState& state, const Advice& advice,
                        std::optional<std::size_t> job) {
  const Forecast& now = advice.now;
  const std::size_t jobs = state.trace.jobs.size();
  std::string text = "now: " + std::to_string(jobs) + (jobs == 1 ? " job, " : " jobs, ") +
                     Printed(state.cluster.cores() < 100 ? "%.3g cores, " : "%.0f cores, ",
                             state.cluster.cores()) +
                     state.policy;
  if (AnyKnown(now)) text += "; mean time left " + TimeText(now.mean_left_s);
  text += Printed("; GPUs wait for data %.0f%% of the next hour\n", 100 * now.stall_share);
  if (job) {
    text += NameOf(state.trace.jobs[*job]) + ": ";
    text += std::isfinite(now.left_s[*job])
                ? TimeText(now.left_s[*job]) + " left\n"
                : Printed("%.0f samples in the next hour\n", now.hour_samples[*job]);
  }
  TextTable table;
  std::vector<std::string> head = {"CHANGE"};
  if (AnyKnown(now)) head.push_back("MEAN TIME LEFT");
  if (job) {
    head.push_back(
        (std::isfinite(now.left_s[*job]) ? "TIME LEFT OF JOB " : "NEXT HOUR'S SAMPLES OF JOB ") +
        PlainText(state.trace.jobs[*job].id, kMostNameBytes));
  }
  head.insert(head.end(), {"USEFUL GPU TIME", "GPUS WAIT"});
  table.Row(head);
  bool for_scheduler = false;
  for (const AdviceRow& row : advice.rows) {
    table.Row(Cells(TextOf(row.change), now, row.forecast, job));
    for_scheduler = for_scheduler || row.change.for_scheduler();
  }
  text += "\n" + table.Text();
  if (for_scheduler) text += "* " + std::string(kForScheduler) + "\n";
  if (jobs > 1) {
    text += "\nGPUs first to those with the least work left. " + std::string(kForScheduler) + "\n" +
            HintLines(state, advice);
  }
  text += "\n";
  for (const std::string& note : NotesOf(state, advice)) text += note + "\n";
  return text;
}

std::string AdviceJson(const LiveState& state, const Advice& advice,
                       std::optional<std::size_t> job) {
  const Forecast& now = advice.now;
  Json rows = Json::array();
  for (const AdviceRow& row : advice.rows) {
    Json entry = {
        {"change", KindText(row.change.kind)},
        {"amount", row.change.amount},
        {"of_job", row.change.job.empty() ? Json() : Json(row.change.job)},
        {"for_scheduler", row.change.for_scheduler()},
        {"mean_left_change", Part(now.mean_left_s, row.forecast.mean_left_s)},
        {"useful_gpu_time_change", Part(1 - now.stall_share, 1 - row.forecast.stall_share)}};
    if (job) {
      entry["job_left_change"] = Part(now.left_s[*job], row.forecast.left_s[*job]);
      entry["job_next_hour_samples_change"] =
          Part(now.hour_samples[*job], row.forecast.hour_samples[*job]);
    }
    entry["then"] = Write(state, row.forecast);
    rows.push_back(std::move(entry));
  }
  Json order = Json::array();
  for (const Hint& hint : advice.hints) {
    order.push_back({{"job", state.trace.jobs[hint.job].id},
                     {"name", state.trace.jobs[hint.job].model},
                     {"work_s", Known(hint.work_s)},
                     {"starved", hint.starved}});
  }
  const Json json = {{"format", "headrace advice 1"},
                     {"policy", state.policy},
                     {"cores", state.cluster.cores()},
                     {"job", job ? Json(state.trace.jobs[*job].id) : Json()},
                     {"now", Write(state, now)},
                     {"changes", std::move(rows)},
                     {"gpu_order_for_scheduler", std::move(order)},
                     {"notes", NotesOf(state, advice)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace headrace::simulate
