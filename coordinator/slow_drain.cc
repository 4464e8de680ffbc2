#include "coordinator/slow_drain.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace headrace::coordinator {
namespace {

// The ranks of a group have one; a job without a group is a program of its own.
using Program = std::tuple<std::string_view, std::string_view, JobId>;
Program ProgramOf(const Job& job) {
  return {job.spec.tenant, job.spec.group, job.spec.group.empty() ? job.spec.job : JobId()};
}

bool Runs(const Job& job) { return job.phase == Job::Phase::kRunning; }

bool UsesOfLate(const SlowRules& rules, const Worker& worker, JobId job, SteadyTime now) {
  const auto used = worker.used_at.find(job);
  return used != worker.used_at.end() && now - used->second <= rules.of_late;
}

bool CountsWordOf(const SlowRules& rules, const State& state, const Job& job, SteadyTime now) {
  const auto others = std::ranges::count_if(job.leases, [&](WorkerId id) {
    return !job.slow.contains(id) && UsesOfLate(rules, *state.FindWorker(id), job.spec.job, now);
  });
  return static_cast<std::size_t>(others) >= job.slow.size();
}

// Whose words say that a worker is slow.
struct Words {
  std::vector<const Job*> jobs;
  std::map<Program, SteadyTime> since;  // the earliest word of each
};
using AllWords = std::map<WorkerId, Words>;

AllWords Collect(const SlowRules& rules, const State& state, SteadyTime now) {
  AllWords all;
  for (const auto& [id, job] : state.jobs()) {
    if (!Runs(job) || job.slow.empty() || !CountsWordOf(rules, state, job, now)) continue;
    for (const auto& [worker, since] : job.slow) {
      if (!job.leases.contains(worker)) continue;
      Words& words = all[worker];
      words.jobs.push_back(&job);
      const auto [at, first] = words.since.emplace(ProgramOf(job), since);
      if (!first) at->second = std::min(at->second, since);
    }
  }
  return all;
}

SlowWorker Describe(WorkerId worker, const Words& words) {
  SlowWorker slow{.worker = worker, .jobs = {}, .reason = {}};
  for (const Job* job : words.jobs) slow.jobs.push_back(job->spec.job);
  const std::size_t programs = words.since.size();
  slow.reason = "slow for " + std::to_string(programs) +
                (programs == 1 ? " program" : " programs") + "; for job " +
                std::to_string(slow.jobs.front().value) + " it ";
  for (const wire::UnfitWorker& each : words.jobs.front()->unfit) {
    if (each.worker == worker) slow.reason += each.reason;
  }
  return slow;
}

// Whether they have said it for long enough.
bool ForLong(const SlowRules& rules, const Words& words, SteadyTime now) {
  std::vector<SteadyTime> since;
  for (const auto& [program, at] : words.since) since.push_back(at);
  std::ranges::sort(since);
  return now - since[0] >= rules.alone || (since.size() > 1 && now - since[1] >= rules.agreed);
}

bool IsContent(const SlowRules& rules, const Worker& worker, const Job& job, SteadyTime now) {
  return !job.slow.contains(worker.info.worker) && UsesOfLate(rules, worker, job.spec.job, now);
}

bool HasAnother(const State& state, const Job& job, WorkerId but) {
  return std::ranges::any_of(job.leases, [&](WorkerId id) {
    const bool unfit = std::ranges::any_of(
        job.unfit, [&](const wire::UnfitWorker& each) { return each.worker == id; });
    return id != but && !unfit && state.FindWorker(id)->leasable();
  });
}

bool IsOneTenantsWord(const State& state, const Words& words) {
  const auto tenant_of = [](const Job* job) { return job->spec.tenant; };
  const std::string& first = words.jobs.front()->spec.tenant;
  const auto others = [&](const std::string& tenant) { return tenant != first; };
  if (std::ranges::any_of(words.jobs, others, tenant_of)) return false;
  return std::ranges::any_of(state.jobs(), [&](const auto& entry) {
    return Runs(entry.second) && others(entry.second.spec.tenant);
  });
}

bool MayDrain(const SlowRules& rules, const State& state, const Worker& worker, const Words& words,
              SteadyTime now) {
  if (!worker.leasable() || worker.info.local || !ForLong(rules, words, now)) return false;
  if (IsOneTenantsWord(state, words)) return false;
  return std::ranges::all_of(worker.jobs, [&](JobId id) {
    const Job& job = *state.FindJob(id);
    return !IsContent(rules, worker, job, now) && HasAnother(state, job, worker.info.worker);
  });
}

}  // namespace

std::vector<SlowWorker> SlowWorkersOf(const SlowRules& rules, const State& state, SteadyTime now) {
  std::vector<SlowWorker> slow;
  for (const auto& [worker, words] : Collect(rules, state, now)) {
    slow.push_back(Describe(worker, words));
  }
  return slow;
}

std::optional<SlowWorker> ChooseSlowDrain(const SlowRules& rules, const State& state,
                                          SteadyTime now) {
  const AllWords all = Collect(rules, state, now);
  if (all.empty()) return std::nullopt;
  if (state.slow_drained_at() != SteadyTime::min() && now - state.slow_drained_at() < rules.pause) {
    return std::nullopt;
  }
  std::size_t leasable = 0;
  for (const auto& [id, worker] : state.workers()) {
    if (worker.draining && !worker.drain_reason.empty()) return std::nullopt;
    leasable += worker.leasable();
  }
  if (static_cast<double>(all.size()) >
      std::max(1.0, rules.most_slow * static_cast<double>(leasable))) {
    return std::nullopt;
  }
  for (const auto& [id, words] : all) {
    if (MayDrain(rules, state, *state.FindWorker(id), words, now)) {
      return Describe(id, words);
    }
  }
  return std::nullopt;
}

}  // namespace headrace::coordinator
