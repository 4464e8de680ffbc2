#include "simulate/baseline/baseline.h"

#include <algorithm>
#include <numeric>

#include "coordinator/policy/core/divide.h"

namespace headrace::simulate {
namespace {

using coordinator::JobView;
using coordinator::kUnlimited;
using coordinator::Snapshot;

// Divides the source into max-min shares, for what each asks for.
std::vector<double> ShareSource(const std::vector<double>& asked, double supply) {
  std::vector<std::size_t> order(asked.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return asked[a] < asked[b]; });
  std::vector<double> shares(asked.size(), 0);
  double left = supply;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const double even = left / static_cast<double>(order.size() - k);
    shares[order[k]] = std::min(asked[order[k]], even);
    left -= shares[order[k]];
  }
  return shares;
}

}  // namespace

double NeededCores(const JobView& job) {
  return CoresFor(job.terms, job.terms.ready_rate, job.effective_hit);
}

coordinator::Allocation BaselineScheduler::Decide(const View& view) {
  const Snapshot& snapshot = view.snapshot;
  coordinator::Allocation allocation;
  allocation.jobs.resize(snapshot.jobs.size());
  allocation.dataset_bytes.assign(snapshot.datasets.size(), 0);
  coordinator::Admit(snapshot, CandidatesOf(view, order_), preempts() && view.round,
                     allocation.jobs);
  std::vector<std::size_t> working;
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
    if (allocation.jobs[i].admitted && NeededCores(snapshot.jobs[i]) > 0) working.push_back(i);
  }
  std::vector<double> cores(snapshot.jobs.size(), 0);
  baseline_->Divide(view, working, cores);
  const bool limited = snapshot.supply.source_rate < kUnlimited;
  std::vector<double> asked(snapshot.jobs.size(), 0);
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
    if (!allocation.jobs[i].admitted) continue;
    const JobView& job = snapshot.jobs[i];
    allocation.jobs[i].cores = cores[i];
    allocation.jobs[i].source_rate = kUnlimited;
    const double rate = Throughput(job.terms, cores[i], job.effective_hit, kUnlimited);
    asked[i] = SourceRateFor(job.terms, rate, job.effective_hit);
  }
  if (!limited) return allocation;
  const auto shares = ShareSource(asked, snapshot.supply.source_rate);
  for (std::size_t i = 0; i < shares.size(); ++i) allocation.jobs[i].source_rate = shares[i];
  return allocation;
}

std::unique_ptr<Baseline> MakeBaseline(std::string_view name) {
  for (const auto& make :
       {MakeFixed, MakeSynergy, MakeSynergyOpt, MakeTfdata, MakeCachew, MakePecan}) {
    auto made = make();
    if (made->name() == name) return made;
  }
  return nullptr;
}

std::vector<std::string> BaselineNames() {
  std::vector<std::string> names;
  for (const auto& make :
       {MakeFixed, MakeSynergy, MakeSynergyOpt, MakeTfdata, MakeCachew, MakePecan}) {
    names.emplace_back(make()->name());
  }
  return names;
}

}  // namespace headrace::simulate
