#include "coordinator/policy/core/fair_share.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>

#include "coordinator/policy/core/pour.h"

namespace headrace::coordinator {
namespace {

// Part of its demand that every job surely can have, by tenant: kLeastShare, or the part at which these
// shares take half of the scarcest resource or quota.
std::vector<double> LeastShares(const Snapshot& snapshot, std::span<const double> hits) {
  const auto fit = [](double& share, double need, double have) {
    const double half = std::max(0.0, have) / 2;
    if (need * share > half) share = half / need;
  };
  std::vector<Need> needs = NeedsOf(snapshot, hits);
  Need all = needs.back();
  needs.pop_back();
  // The part of kLeastShare that the tenant's quota allows. The rest of its demand does not concern
  // others.
  std::vector<double> shares;
  for (const Need& need : needs) {
    double share = kLeastShare;
    fit(share, need.cores, need.limit.cores);
    fit(share, need.source, need.limit.source_rate);
    shares.push_back(share / kLeastShare);
    all.cores -= (1 - shares.back()) * need.cores;
    all.source -= (1 - shares.back()) * need.source;
  }
  double common = kLeastShare;
  fit(common, all.cores, all.limit.cores);
  fit(common, all.source, all.limit.source_rate);
  for (double& share : shares) share *= common;
  return shares;
}

}  // namespace

std::vector<Need> NeedsOf(const Snapshot& snapshot, std::span<const double> hits) {
  std::vector<Need> needs;
  for (const Tenant& tenant : snapshot.tenants) needs.push_back({0, 0, tenant.quota});
  needs.push_back({0, 0, snapshot.supply});
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
    const JobView& job = snapshot.jobs[i];
    const double rate = AskedRate(job, hits[i]);
    for (Need* need : {&needs[static_cast<std::size_t>(job.tenant)], &needs.back()}) {
      need->cores += CoresFor(job.terms, rate, hits[i]);
      need->source += SourceRateFor(job.terms, rate, hits[i]);
    }
  }
  return needs;
}

double WeightOf(const Snapshot& snapshot, const JobView& job) {
  return job.gpus * snapshot.tenants[static_cast<std::size_t>(job.tenant)].weight;
}

double AskedRate(const JobView& job, double hit) {
  const double cost = CostPerSample(job.terms, hit);
  return cost > 0 ? std::min(job.terms.ready_rate, job.most_cores / cost) : job.terms.ready_rate;
}

Budget::Budget(const Snapshot& snapshot) : supply(snapshot.supply) {
  quotas.reserve(snapshot.tenants.size());
  for (const Tenant& tenant : snapshot.tenants) quotas.push_back(tenant.quota);
}

void Budget::Take(const JobView& job, double hit, double rate) {
  const double cores = rate * CostPerSample(job.terms, hit);
  const double source = rate * SourceBytesPerSample(job.terms, hit);
  for (Resources* each : {&supply, &quotas[static_cast<std::size_t>(job.tenant)]}) {
    each->cores -= cores;
    each->source_rate -= source;
  }
}

std::vector<FairShare> FairShares(const Snapshot& snapshot, std::span<const double> hits,
                                  std::span<const std::size_t> members, const Budget& budget) {
  struct Weights {
    double cores = 0, source = 0;
  };
  Weights all;
  std::vector<Weights> of_tenants(snapshot.tenants.size());
  for (const std::size_t i : members) {
    const JobView& job = snapshot.jobs[i];
    const double weight = WeightOf(snapshot, job);
    for (Weights* each : {&all, &of_tenants[static_cast<std::size_t>(job.tenant)]}) {
      if (CostPerSample(job.terms, hits[i]) > 0) each->cores += weight;
      if (SourceBytesPerSample(job.terms, hits[i]) > 0) each->source += weight;
    }
  }
  const auto share = [](double have, double weight, double weights) {
    if (std::isinf(have)) return kUnlimited;
    return weights > 0 ? std::max(0.0, have) * weight / weights : 0;
  };
  std::vector<FairShare> shares;
  shares.reserve(members.size());
  for (const std::size_t i : members) {
    const JobView& job = snapshot.jobs[i];
    const auto t = static_cast<std::size_t>(job.tenant);
    const double weight = WeightOf(snapshot, job);
    const Resources& quota = budget.quotas[t];
    const Weights& own = of_tenants[t];
    shares.push_back({std::min(share(budget.supply.cores, weight, all.cores),
                               share(quota.cores, weight, own.cores)),
                      std::min(share(budget.supply.source_rate, weight, all.source),
                               share(quota.source_rate, weight, own.source))});
  }
  return shares;
}

double RateOfShare(const JobView& job, double hit, const FairShare& share, double part) {
  const double rate = Throughput(job.terms, part * share.cores, hit, part * share.source_rate);
  return std::min(rate, AskedRate(job, hit));
}

double MostOfShare(const JobView& job, double hit, const FairShare& share) {
  Terms tireless = job.terms;
  tireless.ready_rate = kUnlimited;
  const double rate = Throughput(tireless, share.cores, hit, share.source_rate);
  return std::isinf(rate) ? job.terms.ready_rate : rate;
}

double PourRates(const Snapshot& snapshot, std::span<const double> hits,
                 std::span<const std::size_t> members, std::span<const double> weights,
                 Budget& budget, Division& division) {
  std::vector<double> limits = {budget.supply.cores, budget.supply.source_rate};
  for (const Resources& quota : budget.quotas) {
    limits.push_back(quota.cores);
    limits.push_back(quota.source_rate);
  }
  std::vector<Flow> flows;
  flows.reserve(members.size());
  for (std::size_t k = 0; k < members.size(); ++k) {
    const std::size_t i = members[k];
    const JobView& job = snapshot.jobs[i];
    const double cores = CostPerSample(job.terms, hits[i]);
    const double source = SourceBytesPerSample(job.terms, hits[i]);
    flows.push_back({AskedRate(job, hits[i]) - division.rates[i],
                     weights[k],
                     {{{LimitOf(LimitOn::kCores), cores},
                       {LimitOf(LimitOn::kSource), source},
                       {LimitOf(LimitOn::kCores, job.tenant), cores},
                       {LimitOf(LimitOn::kSource, job.tenant), source}}}});
  }
  const Poured poured = Pour(flows, limits);
  for (std::size_t k = 0; k < members.size(); ++k) {
    const std::size_t i = members[k];
    division.rates[i] += poured.amounts[k];
    division.stopped[i] = poured.stopped[k];
    budget.Take(snapshot.jobs[i], hits[i], poured.amounts[k]);
  }
  return poured.level;
}

Division DivideByPriority(const Snapshot& snapshot, std::span<const double> hits,
                          const ClassRule& rule) {
  std::map<std::int32_t, std::vector<std::size_t>, std::greater<>> classes;
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
    classes[snapshot.jobs[i].priority].push_back(i);
  }
  Division division;
  division.rates.assign(snapshot.jobs.size(), 0);
  division.stopped.assign(snapshot.jobs.size(), -1);
  Budget rest(snapshot);  // after the least of lower classes and the rates of higher ones
  std::vector<double> least;
  const auto take_least = [&](std::span<const std::size_t> members, double sign) {
    if (least.empty()) least = LeastShares(snapshot, hits);
    for (const std::size_t i : members) {
      const JobView& job = snapshot.jobs[i];
      const double share = least[static_cast<std::size_t>(job.tenant)];
      rest.Take(job, hits[i], sign * share * AskedRate(job, hits[i]));
    }
  };
  for (auto lower = classes.begin(); lower != classes.end(); ++lower) {
    if (lower != classes.begin()) take_least(lower->second, 1);
  }
  for (auto at = classes.begin(); at != classes.end(); ++at) {
    if (at != classes.begin()) take_least(at->second, -1);
    const double objective = rule(at->second, rest, division);
    if (at == classes.begin()) division.objective = objective;
  }
  return division;
}

}  // namespace headrace::coordinator
