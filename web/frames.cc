#include "web/frames.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
#include <utility>

#include "base/plain_text.h"
#include "web/json_text.h"
#include "web/pool_text.h"

namespace headrace::web {
namespace {

// Bytes of memory, in MiB: what a page shows.
constexpr std::uint64_t kMemoryStep = std::uint64_t{1} << 20;
// Rates are of late: not of the time since somebody looked before, s.
constexpr double kTooOld = 60;
// A name or a sentence in a row; the object of the job has all of it.
constexpr std::size_t kMostText = 400;

// Writes the cells of a row in the order of its columns.
class Cells {
 public:
  Cells& Add(double value) { return Next(), AppendNumber(text_, value), *this; }
  Cells& Add(std::int64_t value) { return Next(), AppendNumber(text_, value), *this; }
  Cells& Add(std::uint64_t value) { return Next(), AppendNumber(text_, value), *this; }
  Cells& Add(bool value) { return Next(), text_ += value ? "true" : "false", *this; }
  Cells& Add(std::string_view value) {
    Next();
    AppendText(text_,
               value.size() <= kMostText ? value : std::string_view(PlainText(value, kMostText)));
    return *this;
  }
  Cells& Raw(std::string_view json) { return Next(), text_ += json, *this; }
  // null where it is negative: not known.
  Cells& Known(double value) { return value < 0 ? Raw("null") : Add(value); }
  [[nodiscard]] std::string Row() { return std::move(text_) + "]"; }

 private:
  void Next() {
    if (text_.size() > 1) text_ += ',';
  }
  std::string text_ = "[";
};

std::uint64_t Steps(std::uint64_t bytes) {
  return (bytes + kMemoryStep / 2) / kMemoryStep * kMemoryStep;
}
double Cores(std::uint32_t millicores) { return std::round(millicores / 10.0) / 100; }
double Share(double share) { return std::round(share * 1000) / 1000; }

template <typename Id>
std::string Ids(const std::vector<Id>& ids, std::size_t most = 16) {
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(ids.size(), most); ++i) {
    if (i > 0) text += ',';
    AppendNumber(text, ids[i].value);
  }
  return text + "]";
}

std::string Names(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const std::string& name : names) {
    if (text.size() > 1) text += ',';
    AppendText(text, name);
  }
  return text + "]";
}

std::string JobRow(const wire::JobStatus& job, const HistoryStep* last) {
  std::string waits = "null";
  if (last != nullptr && last->waits_known()) {
    waits = "[";
    for (std::size_t i = 0; i < last->waits.size(); ++i) {
      if (i > 0) waits += ',';
      AppendNumber(waits, last->waits[i] / HistoryStep::kWhole);
    }
    waits += ']';
  }
  return Cells()
      .Add(job.job.value)
      .Add(std::string_view(job.name))
      .Add(std::string_view(job.hostname))
      .Add(job.pid)
      .Add(std::string_view(job.state))
      .Add(job.opened_ms)
      .Add(std::string_view(job.tenant))
      .Add(static_cast<std::int64_t>(job.priority))
      .Add(std::string_view(job.group))
      .Add(static_cast<std::int64_t>(job.rank))
      .Add(Rounded(job.samples_per_second))
      .Add(Rounded(job.samples_per_second_when_ready))
      .Add(Share(job.wait_share))
      .Add(Cores(job.demand_millicores))
      .Add(Cores(job.granted_millicores))
      .Add(Cores(job.granted_local_millicores))
      .Add(Steps(job.cache_bytes_granted))
      .Add(Rounded(static_cast<double>(job.source_bytes_per_second_limit)))
      .Add(Rounded(static_cast<double>(job.link_bytes_per_second_share)))
      .Add(std::string_view(job.advice))
      .Known(static_cast<double>(job.remaining_samples))
      .Raw(waits)
      .Add(static_cast<std::int64_t>(job.workers.size()))
      .Add(static_cast<std::int64_t>(job.unfit.size()))
      .Add(static_cast<std::uint64_t>(std::max<std::size_t>(job.bad_known, job.bad.size())))
      .Row();
}

std::string DatasetRow(const wire::DatasetStatus& dataset) {
  std::uint64_t cached = 0, quota = 0;
  for (const wire::DatasetPart& part : dataset.parts) {
    cached += part.bytes;
    quota += part.quota_bytes;
  }
  std::string key;
  AppendText(key, HexText(dataset.dataset));
  return Cells()
      .Raw(key)
      .Add(std::string_view(dataset.name))
      .Add(dataset.rows)
      .Add(dataset.bytes)
      .Add(Steps(cached))
      .Add(Steps(quota))
      .Add(std::string_view(dataset.tenant))
      .Add(dataset.pinned)
      .Add(dataset.warm)
      .Add(std::string_view(dataset.form))
      .Add(std::string_view(dataset.phase))
      .Add(Share(dataset.hit_share))
      .Add(Share(dataset.hit_when_full))
      .Add(Share(dataset.duplicate_share))
      .Add(Steps(dataset.replica_bytes))
      .Raw(Ids(dataset.jobs))
      .Add(static_cast<std::int64_t>(dataset.jobs.size()))
      .Row();
}

void AppendKey(std::string& to, std::string_view name) {
  to += ",\"";
  to += name;
  to += "\":";
}

// The metrics of the cluster, and what is summed over its jobs and workers.
std::string ClusterText(const PageState& state) {
  std::string text = "{\"version\":";
  AppendText(text, state.cluster.version);
  text += ",\"policy\":";
  AppendText(text, state.policy);
  wire::ClusterStatus::EachMetric([&](const Metric& metric, auto member) {
    AppendKey(text, ShownName(metric));
    AppendNumber(text, ShownValue(metric, static_cast<double>(state.cluster.*member)));
  });
  double cores = 0;
  for (const wire::WorkerStatus& worker : state.cluster.workers) {
    if (worker.state == "ready") cores += worker.info.usable_cores();
  }
  text += ",\"ready_cores\":";
  AppendNumber(text, Rounded(cores, 6));
  return text + "}";
}

}  // namespace

const std::vector<std::string>& JobColumns() {
  static const std::vector<std::string> all = {"job",
                                               "name",
                                               "hostname",
                                               "pid",
                                               "state",
                                               "opened_ms",
                                               "tenant",
                                               "priority",
                                               "group",
                                               "rank",
                                               "samples_per_second",
                                               "samples_per_second_when_ready",
                                               "wait_share",
                                               "demand_cores",
                                               "granted_cores",
                                               "granted_local_cores",
                                               "cache_bytes_granted",
                                               "source_bytes_per_second_limit",
                                               "link_bytes_per_second_share",
                                               "advice",
                                               "remaining_samples",
                                               "wait_shares",
                                               "worker_count",
                                               "unfit_count",
                                               "bad_samples_known"};
  return all;
}
const std::vector<std::string>& WorkerColumns() {
  static const std::vector<std::string> all = {"worker",
                                               "hostname",
                                               "pid",
                                               "state",
                                               "cores",
                                               "local",
                                               "member",
                                               "rack",
                                               "jobs",
                                               "job_count",
                                               "reason",
                                               "busy_cores",
                                               "samples_per_second",
                                               "hit_share",
                                               "resident_bytes",
                                               "cache_bytes",
                                               "queued_samples",
                                               "silent_ms"};
  return all;
}
const std::vector<std::string>& DatasetColumns() {
  static const std::vector<std::string> all = {"dataset",
                                               "name",
                                               "samples",
                                               "bytes",
                                               "cached_bytes",
                                               "quota_bytes",
                                               "tenant",
                                               "pinned",
                                               "warm",
                                               "form",
                                               "phase",
                                               "hit_share",
                                               "hit_share_when_full",
                                               "duplicate_share",
                                               "replica_bytes",
                                               "jobs",
                                               "job_count"};
  return all;
}

FrameMaker::FrameMaker()
    : jobs_(Names(JobColumns())),
      workers_(Names(WorkerColumns())),
      datasets_(Names(DatasetColumns())) {}

void FrameMaker::Take(const PageState& state,
                      const std::function<const HistoryStep*(JobId)>& last) {
  ++number_;
  const wire::ClusterStatus& now = state.cluster;
  head_ = ",\"wall_ms\":";
  AppendNumber(head_, now.wall_ms);
  head_ += ",\"cluster\":" + ClusterText(state) + ",\"pool\":" + PoolText(state.pool, now.pools) +
           ",\"actions\":" + Names(state.actions);
  jobs_.Begin();
  for (const wire::JobStatus& job : now.jobs) jobs_.Set(job.job.value, JobRow(job, last(job.job)));
  workers_.Begin();
  for (const wire::WorkerStatus& worker : now.workers) TakeWorker(worker, now.wall_ms);
  std::erase_if(bases_, [&](const auto& each) { return each.second.seen != number_; });
  datasets_.Begin();
  for (const wire::DatasetStatus& dataset : now.datasets) {
    datasets_.Set(std::bit_cast<std::int64_t>(dataset.dataset), DatasetRow(dataset));
  }
}

void FrameMaker::TakeWorker(const wire::WorkerStatus& worker, std::int64_t now_ms) {
  const wire::WorkerHeartbeat& last = worker.last;
  const WorkerId id = worker.info.worker;
  const auto [at, is_new] = bases_.try_emplace(id);
  Base& base = at->second;
  const bool due = (static_cast<std::uint64_t>(id.value) + number_) % kRenewal == 0;
  std::string told = worker.state + '\n' + worker.reason + '\n' + Ids(last.jobs);
  const bool other = told != base.told;
  base.seen = number_;
  if (!is_new && !due && !other && workers_.Keep(id.value)) return;
  base.told = std::move(told);
  const double seconds = static_cast<double>(now_ms - base.ms) / 1000;
  if (due && base.ms > 0 && seconds > kTooOld) {
    base.busy_cores = base.samples_per_second = base.hit_share = -1;
  } else if (due && base.ms > 0 && seconds > 0) {
    // A counter that is smaller than before began again.
    const auto growth = [](auto now, auto before) { return now >= before ? now - before : now; };
    base.busy_cores = growth(last.cpu_seconds, base.cpu_seconds) / seconds;
    base.samples_per_second = static_cast<double>(growth(last.samples, base.samples)) / seconds;
    const auto hits = static_cast<double>(growth(last.cache_hits, base.hits));
    const double reads = hits + static_cast<double>(growth(last.cache_misses, base.misses));
    base.hit_share = reads > 0 ? hits / reads : -1;
  }
  if (due || is_new) {
    base.ms = now_ms;
    base.cpu_seconds = last.cpu_seconds;
    base.samples = last.samples;
    base.hits = last.cache_hits;
    base.misses = last.cache_misses;
  }
  workers_.Set(id.value,
               Cells()
                   .Add(id.value)
                   .Add(std::string_view(worker.info.host.hostname))
                   .Add(worker.info.host.pid)
                   .Add(std::string_view(worker.state))
                   .Add(Rounded(worker.info.usable_cores(), 6))
                   .Add(worker.info.local)
                   .Add(std::string_view(worker.info.member))
                   .Add(std::string_view(worker.info.rack))
                   .Raw(Ids(last.jobs))
                   .Add(static_cast<std::int64_t>(last.jobs.size()))
                   .Add(std::string_view(worker.reason))
                   .Known(base.busy_cores < 0 ? -1 : std::round(base.busy_cores * 100) / 100)
                   .Known(Rounded(base.samples_per_second))
                   .Known(base.hit_share < 0 ? -1 : Share(base.hit_share))
                   .Add(Steps(last.resident_bytes))
                   .Add(Steps(last.cache_bytes))
                   .Add(last.queued_samples)
                   .Add(worker.silent_ms / 1000 * 1000)
                   .Row());
}

std::string FrameMaker::Text(bool whole) const {
  std::string text = "{\"format\":";
  AppendNumber(text, std::int64_t{kFormat});
  text += ",\"frame\":";
  AppendNumber(text, number_);
  text += whole ? ",\"whole\":true" : ",\"whole\":false";
  text += head_;
  text += ",\"jobs\":" + (whole ? jobs_.Whole() : jobs_.Change());
  text += ",\"workers\":" + (whole ? workers_.Whole() : workers_.Change());
  text += ",\"datasets\":" + (whole ? datasets_.Whole() : datasets_.Change());
  return text + "}";
}

}  // namespace headrace::web
