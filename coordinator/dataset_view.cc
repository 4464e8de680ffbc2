#include "coordinator/dataset_view.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "coordinator/common_forms.h"
#include "coordinator/dataset_jobs.h"
#include "coordinator/estimate/ask_cost.h"
#include "coordinator/estimate/cache_form.h"

namespace headrace::coordinator {
namespace {

// Size of a cached sample relative to the bytes that it was read from, until it is measured:
// decoded pixels against JPEG (Seneca's constant).
constexpr double kInflation = 5;
constexpr double kSampleBytesGuess = 600e3;
// Factor over the room that entries take now, since samples of a data set differ in size.
constexpr double kCacheSlack = 1.05;
// Part of a trainer's time above which it waits for its source.
constexpr double kWaitsForSource = 0.05;

void AddMeasures(const JobMeter& meter, double& rates, DatasetView& view) {
  const TimeShares& times = meter.times();
  if (!meter.demand().known || times.all() <= 0) return;
  const double rate = std::max(meter.rate(), 1e-9);
  const auto blend = [&](double& mean, double value) {
    mean += (value - mean) * rate / (rates + rate);
  };
  const Terms& terms = meter.measured();
  blend(view.terms.hit_cost, terms.hit_cost);
  blend(view.terms.miss_cost, terms.miss_cost);
  blend(view.terms.miss_bytes, terms.miss_bytes);
  blend(view.hit, view.encoded ? meter.reads().hit : meter.hit());
  blend(view.fetch_s, meter.reads().fetch_s);
  blend(view.read_bytes, meter.reads().bytes);
  rates += rate;
  view.terms.ready_rate += terms.ready_rate;
  if (times.source > kWaitsForSource * times.all()) view.waits_for_source = true;
}

void AddLeases(const State& state, std::size_t position, const Job& job,
               const std::unordered_map<WorkerId, double>& granted, std::map<WorkerId, bool>& seen,
               DatasetView& view) {
  for (const auto& [id, grant] : job.grants) {
    const Worker* worker = state.FindWorker(id);
    if (worker == nullptr || !worker->leasable()) continue;
    view.places.Add(position, worker->info, grant.millicores,
                    static_cast<double>(job.spec.cache_bytes));
    view.quota += static_cast<double>(grant.cache_bytes);
    if (!seen[id]) {
      view.free += std::max(0.0, static_cast<double>(worker->info.cache_bytes) - granted.at(id));
    }
    seen[id] = true;
  }
}

// `asks`: whether it is so by the grants that hold.
bool SharesWide(const DatasetView& view, bool asks) {
  if (!view.session->everywhere) return false;
  if (view.fetch_s <= 0) return WorthAsking(0, view.size.bytes(), asks);
  const double prefix_s = view.encoded ? 0 : view.terms.miss_cost - view.terms.hit_cost;
  return WorthAsking(view.fetch_s + std::max(0.0, prefix_s), view.size.bytes(), asks);
}

}  // namespace

const Session* CachedSession(std::span<const Job* const> jobs) {
  const Session* largest = nullptr;
  for (const Job* job : jobs) {
    for (const auto& [id, session] : job->sessions) {
      if (session.dataset != 0 && (!largest || session.rows > largest->rows)) largest = &session;
    }
  }
  return largest;
}

double EntryGuess(double miss_bytes) {
  return miss_bytes > 0 ? miss_bytes * kInflation : kSampleBytesGuess;
}

double DatasetBytes(std::int64_t rows, double entry_bytes) {
  return static_cast<double>(rows) * entry_bytes * kCacheSlack;
}

std::map<std::uint64_t, DatasetView> ViewDatasets(const State& state) {
  std::map<std::uint64_t, DatasetView> views;
  const std::map<std::uint64_t, CommonForm> forms = CommonForms(state);
  std::unordered_map<WorkerId, double> granted;
  for (const auto& [id, job] : state.jobs()) {
    for (const auto& [worker, grant] : job.grants) {
      granted[worker] += static_cast<double>(grant.cache_bytes);
    }
    if (job.phase != Job::Phase::kRunning) continue;
    const Job* const one = &job;
    const Session* session = CachedSession({&one, 1});
    if (session == nullptr) continue;
    const auto common = forms.find(session->dataset);
    const std::uint64_t dataset = common == forms.end() ? session->dataset : common->second.dataset;
    DatasetView& view = views[dataset];
    if (common != forms.end()) view.nodes = common->second.nodes;
    view.of_sessions.insert(session->dataset);
    if (view.session == nullptr || session->rows > view.session->rows) view.session = session;
    view.dataset = dataset;
    view.jobs.push_back(&job);
    for (const auto& [worker, grant] : job.grants) {
      view.encoded = view.encoded || grant.cache_encoded;
      view.wide = view.wide || grant.wide;
    }
  }
  std::unordered_map<JobId, EntrySize> held;
  std::unordered_map<std::uint64_t, EntrySize> left;  // by data set: of ended jobs
  for (const auto& [id, worker] : state.workers()) {
    if (!worker.leasable()) continue;
    for (const wire::JobUsage& usage : worker.last.usage) {
      held[usage.job].Add(usage);
      if (usage.cache_entries > 0 && state.FindJob(usage.job) == nullptr) {
        left[DatasetOf(state, usage.job)].Add(usage);
      }
    }
  }
  for (auto& [dataset, view] : views) {
    double rates = 0;
    for (const Job* job : view.jobs) {
      const auto own = held.find(job->spec.job);
      if (own != held.end()) view.size.Add(own->second);
      AddMeasures(job->meter, rates, view);
    }
    for (const std::uint64_t each : view.of_sessions) {
      if (view.size.entries == 0 && left.contains(each)) view.size.Add(left.at(each));
    }
    view.size.guess =
        view.encoded && view.read_bytes > 0 ? view.read_bytes : EntryGuess(view.terms.miss_bytes);
    view.bytes = DatasetBytes(view.session->rows, view.size.bytes());
    view.wide = SharesWide(view, view.wide);
    view.places = CachePlaces(view.size.bytes(), view.wide);
    std::map<WorkerId, bool> seen;
    for (std::size_t j = 0; j < view.jobs.size(); ++j) {
      AddLeases(state, j, *view.jobs[j], granted, seen, view);
    }
  }
  return views;
}

const DatasetView* FindView(const std::map<std::uint64_t, DatasetView>& views,
                            std::uint64_t dataset) {
  const auto plain = views.find(dataset);
  if (plain != views.end() && plain->second.of_sessions.contains(dataset)) return &plain->second;
  const auto common = std::ranges::find_if(
      views, [&](const auto& view) { return view.second.of_sessions.contains(dataset); });
  return common == views.end() ? nullptr : &common->second;
}

bool KeepsEncoded(const DatasetView& view) {
  if (!view.session->far || view.session->split.cache_node == 0) return false;
  if (view.fetch_s <= 0 || view.read_bytes <= 0) return view.encoded;
  if (!view.encoded && !view.waits_for_source) return false;
  FormCosts costs;
  costs.fetch_s = view.fetch_s;
  costs.encoded_bytes = view.read_bytes;
  // What the plan's whole prefix makes is what a worker keeps. Its pixels alone are not kept.
  costs.prefix_s = std::max(0.0, view.terms.miss_cost - view.terms.hit_cost);
  costs.prefix_bytes = view.encoded ? EntryGuess(view.read_bytes) : view.size.bytes();
  const CacheForms forms = FormsOf(costs);
  const std::array<CacheForm, 2> options = {forms.prefix, forms.encoded};
  const std::size_t held = view.encoded ? 1 : 0;
  return ChooseForm(options, held, static_cast<double>(view.session->rows), view.quota + view.free,
                    view.places.hosts()) == 1;
}

}  // namespace headrace::coordinator
