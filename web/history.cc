#include "web/history.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "web/json_text.h"

namespace headrace::web {
namespace {

// In the order of kCauses.
constexpr std::array<std::uint64_t wire::JobTotals::*, kCauses.size()> kCounters = {
    &wire::JobTotals::stall_sampler_ns, &wire::JobTotals::stall_source_ns,
    &wire::JobTotals::stall_compute_ns, &wire::JobTotals::stall_python_ns,
    &wire::JobTotals::stall_queue_ns,   &wire::JobTotals::stall_network_ns,
    &wire::JobTotals::stall_copy_ns};

}  // namespace

std::int64_t History::StepOf(SteadyTime now) const {
  return now.time_since_epoch() / options_.step;
}

void History::Observe(const wire::ClusterStatus& status, SteadyTime now) {
  if (!Due(now)) return;
  const std::int64_t step = StepOf(now);
  const std::int64_t missed = last_step_ < 0 ? 0 : step - last_step_ - 1;
  const auto unknown = static_cast<std::size_t>(
      std::min<std::int64_t>(missed, static_cast<std::int64_t>(options_.steps)));
  last_step_ = step;
  last_ms_ = status.wall_ms;
  std::set<JobId> there;
  for (const wire::JobStatus& job : status.jobs) there.insert(job.job);
  std::erase_if(jobs_, [&](const auto& each) { return !there.contains(each.first); });
  for (const wire::JobStatus& job : status.jobs) {
    if (!jobs_.contains(job.job) && jobs_.size() >= options_.jobs) continue;
    OfJob& of = jobs_[job.job];
    const HistoryStep next = Step(job, of);
    if (!of.steps.empty()) of.steps.insert(of.steps.end(), unknown, HistoryStep());
    of.steps.push_back(next);
    while (of.steps.size() > options_.steps) of.steps.pop_front();
  }
}

HistoryStep History::Step(const wire::JobStatus& job, OfJob& of) {
  HistoryStep step;
  step.samples_per_second = static_cast<float>(job.samples_per_second);
  step.granted_millicores = job.granted_millicores;
  step.demand_millicores = job.demand_millicores;
  const wire::JobTotals before = std::exchange(of.totals, job.totals);
  if (of.steps.empty()) return step;  // what was before is not of this step
  // A counter that is smaller than before is another one's.
  const auto grown = [&](std::uint64_t wire::JobTotals::*counter) {
    const std::uint64_t now = job.totals.*counter, old = before.*counter;
    return now > old ? static_cast<double>(now - old) : 0.0;
  };
  std::array<double, kCauses.size()> waits{};
  double all = grown(&wire::JobTotals::step_ns);
  for (std::size_t i = 0; i < waits.size(); ++i) all += waits[i] = grown(kCounters[i]);
  if (all <= 0) return step;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    step.waits[i] = static_cast<std::uint8_t>(std::lround(HistoryStep::kWhole * waits[i] / all));
  }
  return step;
}

const HistoryStep* History::Last(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() || found->second.steps.empty() ? nullptr
                                                             : &found->second.steps.back();
}

std::string History::Json(JobId job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return "null";
  const std::deque<HistoryStep>& steps = found->second.steps;
  std::string text = "{\"step_seconds\":";
  AppendNumber(text, std::chrono::duration<double>(options_.step).count());
  text += ",\"last_ms\":";
  AppendNumber(text, last_ms_);
  // NaN is written as null.
  const auto list = [&](auto value) {
    text += '[';
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (i > 0) text += ',';
      AppendNumber(text, value(steps[i]));
    }
    text += ']';
  };
  text += ",\"wait_share\":{";
  for (std::size_t cause = 0; cause < kCauses.size(); ++cause) {
    if (cause > 0) text += ',';
    AppendText(text, kCauses[cause]);
    text += ':';
    list([&](const HistoryStep& step) {
      return step.waits_known() ? step.waits[cause] / HistoryStep::kWhole : std::nan("");
    });
  }
  text += "},\"samples_per_second\":";
  list([](const HistoryStep& step) {
    return step.samples_per_second < 0 ? std::nan("") : Rounded(step.samples_per_second);
  });
  text += ",\"granted_cores\":";
  list([](const HistoryStep& step) {
    return step.samples_per_second < 0 ? std::nan("") : step.granted_millicores / 1000.0;
  });
  text += ",\"demand_cores\":";
  list([](const HistoryStep& step) {
    return step.samples_per_second < 0 ? std::nan("") : step.demand_millicores / 1000.0;
  });
  return text + "}";
}

}  // namespace headrace::web
