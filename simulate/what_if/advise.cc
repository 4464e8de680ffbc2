#include "simulate/what_if/advise.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "simulate/gpu_order.h"

namespace headrace::simulate {
namespace {

using coordinator::kUnlimited;

// Below this share of GPU time that waits for data, nothing is left to win.
constexpr double kLittle = 0.01;

bool IsKnown(const Job& job) { return std::isfinite(job.iterations); }

// Bytes of caches that all data sets would fill, beyond those that there are. Data that no cache can hold does not
// count.
double MissingCache(const LiveState& state) {
  constexpr double kNoCache = 1e17;
  double all = 0;
  for (const Dataset& each : state.trace.datasets) all += each.bytes < kNoCache ? each.bytes : 0;
  return std::max(0.0, all - state.cluster.cache_bytes);
}

// Two significant digits, upwards.
double Round(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  return std::ceil(value / unit - 1e-9) * unit;
}

std::vector<Change> ChangesOf(const LiveState& state, std::optional<std::size_t> job) {
  std::vector<Change> changes;
  const auto add = [&](ChangeKind kind, double amount, std::string name = "") {
    const Change change{kind, amount, std::move(name)};
    if (amount > 0 && std::ranges::find(changes, change) == changes.end()) {
      changes.push_back(change);
    }
  };
  for (const double part : {0.25, 1.0}) {
    add(ChangeKind::kCores, std::max(1.0, std::round(part * state.cluster.cores())));
  }
  if (const double missing = MissingCache(state); missing > 0) {
    for (const double part : {0.5, 1.0}) add(ChangeKind::kCache, Round(part * missing));
  }
  if (std::isfinite(state.cluster.source_rate)) {
    for (const double part : {0.25, 1.0})
      add(ChangeKind::kSource, part * state.cluster.source_rate);
  }
  const std::size_t jobs = state.trace.jobs.size();
  if (job && jobs > 1) {
    int highest = state.trace.jobs[*job].priority;
    for (std::size_t i = 0; i < jobs; ++i) {
      if (i != *job) highest = std::max(highest, state.trace.jobs[i].priority);
    }
    changes.push_back({ChangeKind::kPriority, highest + 1.0, state.trace.jobs[*job].id});
  }
  return changes;
}

// The job that has most work left is to wait until all others have ended, if all of them end.
Result<std::optional<Change>> HoldOf(const LiveState& state, const coordinator::Policy& policy,
                                     const std::vector<Hint>& hints) {
  if (hints.size() < 2 || !std::ranges::all_of(state.trace.jobs, IsKnown)) {
    return std::optional<Change>();
  }
  const std::size_t last = hints.back().job;
  LiveState others = state;
  others.trace.jobs.erase(others.trace.jobs.begin() + static_cast<std::ptrdiff_t>(last));
  if (!others.start.jobs.empty()) {
    others.start.jobs.erase(others.start.jobs.begin() + static_cast<std::ptrdiff_t>(last));
  }
  HR_TRY(const Forecast without, Foresee(others, policy));
  const double until = *std::ranges::max_element(without.left_s);
  return std::optional<Change>({ChangeKind::kHold, until, state.trace.jobs[last].id});
}

std::vector<Hint> HintsOf(const LiveState& state) {
  coordinator::Snapshot snapshot;
  snapshot.tenants = {{"default"}};
  const std::size_t jobs = state.trace.jobs.size();
  std::vector<double> pinned;
  for (std::size_t i = 0; i < jobs; ++i) {
    const Job& job = state.trace.jobs[i];
    const JobStart start = state.start.jobs.empty() ? JobStart{} : state.start.jobs[i];
    coordinator::JobView view;
    view.gpus = job.gpus;
    view.running = start.running;
    view.arrival_s = job.arrival_s;
    view.terms = job.terms();
    view.effective_hit = start.cached_share;
    view.remaining_samples = job.samples() - start.done;
    snapshot.jobs.push_back(view);
    pinned.push_back(0);
  }
  const View view{snapshot, state.cluster, {}, {}, pinned};
  const std::vector<std::size_t> order = OrderOf(view, GpuOrder::kPacked);
  const std::vector<std::size_t> users = UsersOf(view, order);
  std::vector<Hint> hints;
  auto next = users.begin();
  for (const std::size_t i : order) {
    const bool uses = next != users.end() && *next == i;
    if (uses) ++next;
    hints.push_back({i, WorkLeft(view, i), !uses});
  }
  return hints;
}

// In the order of `state`, of whose jobs `change` has moved one to the end.
Forecast InOrder(const LiveState& state, const Change& change, Forecast forecast) {
  if (change.kind != ChangeKind::kHold) return forecast;
  const auto held = std::ranges::find(state.trace.jobs, change.job, &Job::id);
  const auto at = held - state.trace.jobs.begin();
  for (std::vector<double>* each : {&forecast.left_s, &forecast.hour_samples}) {
    std::rotate(each->begin() + at, each->end() - 1, each->end());
  }
  return forecast;
}

}  // namespace

Result<std::size_t> FindJob(const LiveState& state, const std::string& name) {
  const auto found = std::ranges::find(state.trace.jobs, name, &Job::id);
  if (found != state.trace.jobs.end()) {
    return static_cast<std::size_t>(found - state.trace.jobs.begin());
  }
  if (std::ranges::find(state.unmeasured, name) != state.unmeasured.end()) {
    return NotFound("nothing is measured of job " + name + " yet; ask again in a minute");
  }
  constexpr std::size_t kSome = 10;
  std::string there;
  for (std::size_t i = 0; i < state.trace.jobs.size() && i < kSome; ++i) {
    there += (i > 0 ? ", " : "") + state.trace.jobs[i].id;
  }
  if (state.trace.jobs.size() > kSome) there += ", ...";
  return NotFound("no job " + name + " runs; there are " + there);
}

LiveState WithChange(const LiveState& state, const Change& change) {
  LiveState changed = state;
  const auto named = [&] {
    return static_cast<std::size_t>(std::ranges::find(changed.trace.jobs, change.job, &Job::id) -
                                    changed.trace.jobs.begin());
  };
  switch (change.kind) {
    case ChangeKind::kCores:
      changed.cluster.extra_cores += change.amount;
      break;
    case ChangeKind::kCache:
      changed.cluster.cache_bytes += change.amount;
      break;
    case ChangeKind::kSource:
      changed.cluster.source_rate += change.amount;
      break;
    case ChangeKind::kPriority:
      changed.trace.jobs[named()].priority = static_cast<int>(change.amount);
      break;
    case ChangeKind::kHold: {
      const auto at = static_cast<std::ptrdiff_t>(named());
      changed.start.jobs.resize(changed.trace.jobs.size());
      JobStart& start = changed.start.jobs[static_cast<std::size_t>(at)];
      start.running = false;
      start.cores = start.source_rate = 0;
      changed.trace.jobs[static_cast<std::size_t>(at)].arrival_s =
          state.start.time_s + change.amount;
      std::rotate(changed.trace.jobs.begin() + at, changed.trace.jobs.begin() + at + 1,
                  changed.trace.jobs.end());
      std::rotate(changed.start.jobs.begin() + at, changed.start.jobs.begin() + at + 1,
                  changed.start.jobs.end());
      break;
    }
  }
  return changed;
}

Result<Advice> Advise(const LiveState& state, const coordinator::Policy& policy,
                      std::optional<std::size_t> job) {
  Advice advice;
  HR_TRY(advice.now, Foresee(state, policy));
  advice.hints = HintsOf(state);
  std::vector<Change> changes = ChangesOf(state, job);
  if (advice.now.stall_share >= kLittle) {
    HR_TRY(const std::optional<Change> hold, HoldOf(state, policy, advice.hints));
    if (hold) changes.push_back(*hold);
  }
  for (const Change& change : changes) {
    HR_TRY(Forecast forecast, Foresee(WithChange(state, change), policy));
    advice.rows.push_back({change, InOrder(state, change, std::move(forecast))});
  }
  return advice;
}

}  // namespace headrace::simulate
