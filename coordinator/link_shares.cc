#include "coordinator/link_shares.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>

#include "coordinator/estimate/fair_parts.h"
#include "coordinator/host_keys.h"
#include "coordinator/policy/core/divide.h"

namespace headrace::coordinator {

const JobNetwork LinkShares::kNone;

// A job that sends something.
struct LinkShares::Rank {
  const Job* job;
  std::string host;
  double cores;  // that it wants
  double hit;
  JobNetwork network;
  // With the cores that are beyond its need.
  [[nodiscard]] double asked() const { return network.wanted * (1 + kHeadroom); }
};

namespace {

// Calls `divide` with those of the ranks that have the same key, for each key. O(n log n).
template <typename Rank>
void EachGroup(std::vector<Rank>& ranks, const std::function<std::string(const Rank&)>& key,
               const std::function<void(const std::string&, std::vector<Rank*>&)>& divide) {
  std::unordered_map<std::string, std::vector<Rank*>> groups;
  for (Rank& rank : ranks) groups[key(rank)].push_back(&rank);
  for (auto& [name, members] : groups) divide(name, members);
}

std::string TenantKey(const AddJob& job) { return HostKey(job.host) + "\n" + job.tenant; }

}  // namespace

LinkShares::LinkShares(const State& state) {
  CollectHosts(state);
  std::vector<Rank> ranks;
  for (const auto& [id, job] : state.jobs()) {
    const JobMeter& meter = job.meter;
    if (job.phase != Job::Phase::kRunning || !meter.demand().known) continue;
    if (meter.measured().sent_bytes <= 0) continue;
    Rank rank{&job, HostKey(job.spec.host), meter.demand().cores, meter.hit(), {}};
    rank.network.terms = meter.demand().terms;
    rank.network.terms.sent_bytes = meter.measured().sent_bytes;
    ranks.push_back(std::move(rank));
  }
  if (limited()) {
    DivideCores(ranks);
    DivideLinks(ranks);
    DividePool(ranks);
  }
  for (const Rank& rank : ranks) jobs_.emplace(rank.job->spec.job, rank.network);
}

double LinkShares::LinkOf(const std::string& host) const {
  if (!limited_) return kUnlimited;
  const auto at = hosts_.find(host);
  return at == hosts_.end() ? kUnlimited : at->second.link;
}

double LinkShares::SaidLinkOf(const AddJob& job) const {
  if (!limited_) return kUnlimited;
  const auto at = said_links_.find(TenantKey(job));
  return at == said_links_.end() ? kUnlimited : at->second;
}

const JobNetwork& LinkShares::Of(JobId job) const {
  const auto at = jobs_.find(job);
  return at == jobs_.end() ? kNone : at->second;
}

void LinkShares::CollectHosts(const State& state) {
  limited_ = std::ranges::any_of(state.workers(),
                                 [](const auto& each) {
                                   return each.second.leasable() && !each.second.info.local &&
                                          each.second.info.link_bytes_per_second > 0;
                                 }) ||
             std::ranges::any_of(state.jobs(), [](const auto& each) {
               return each.second.phase == Job::Phase::kRunning &&
                      each.second.spec.link_bytes_per_second > 0;
             });
  if (!limited_) return;
  hosts_.reserve(state.workers().size());
  for (const auto& [id, worker] : state.workers()) {
    const wire::WorkerInfo& info = worker.info;
    if (!worker.leasable()) continue;
    if (info.local) {
      local_cores_[UserKey(info.host)] += info.usable_cores();
      continue;
    }
    Host& host = hosts_[HostKey(info.host)];
    host.cores += info.usable_cores();
    if (info.link_bytes_per_second == 0) continue;
    host.link = std::min(host.link, static_cast<double>(info.link_bytes_per_second));
  }
  for (const auto& [id, job] : state.jobs()) {
    if (job.phase != Job::Phase::kRunning || job.spec.link_bytes_per_second == 0) continue;
    double& least = said_links_.try_emplace(TenantKey(job.spec), kUnlimited).first->second;
    least = std::min(least, static_cast<double>(job.spec.link_bytes_per_second));
  }
}

// The cores of their own hosts: first the local workers of their users, then the others.
void LinkShares::DivideCores(std::vector<Rank>& ranks) const {
  const auto divide = [](double cores, std::vector<Rank*>& members) {
    std::vector<double> wanted;
    for (const Rank* each : members) {
      wanted.push_back(each->cores - each->network.share.own_cores);
    }
    const std::vector<double> parts = FairParts(cores, wanted);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      members[i]->network.share.own_cores += parts[i];
    }
  };
  if (!local_cores_.empty()) {
    EachGroup<Rank>(
        ranks, [](const Rank& rank) { return UserKey(rank.job->spec.host); },
        [&](const std::string& user, std::vector<Rank*>& members) {
          const auto at = local_cores_.find(user);
          if (at != local_cores_.end()) divide(at->second, members);
        });
  }
  EachGroup<Rank>(
      ranks, [](const Rank& rank) { return rank.host; },
      [&](const std::string& host, std::vector<Rank*>& members) {
        const auto at = hosts_.find(host);
        if (at != hosts_.end()) divide(at->second.cores, members);
      });
}

// Gives each its part of the link, and what nobody wants.
void LinkShares::Divide(double link, std::vector<Rank*>& members) {
  if (std::isinf(link)) return;
  std::vector<double> asked;
  for (const Rank* each : members) {
    asked.push_back(std::min(each->asked(), each->network.share.rate));
  }
  const std::vector<double> parts = FairParts(link, asked);
  double rest = link;
  for (const double part : parts) rest -= part;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    double& rate = members[i]->network.share.rate;
    rate = std::min(rate, parts[i] + std::max(0.0, rest));
  }
}

void LinkShares::DivideLinks(std::vector<Rank>& ranks) const {
  for (Rank& rank : ranks) {
    JobNetwork& network = rank.network;
    network.wanted =
        NetworkRateFor(network.terms, network.terms.ready_rate, rank.hit, network.share.own_cores);
  }
  EachGroup<Rank>(
      ranks, [](const Rank& rank) { return TenantKey(rank.job->spec); },
      [&](const std::string&, std::vector<Rank*>& members) {
        Divide(SaidLinkOf(members.front()->job->spec), members);
      });
  EachGroup<Rank>(
      ranks, [](const Rank& rank) { return rank.host; },
      [&](const std::string& host, std::vector<Rank*>& members) { Divide(LinkOf(host), members); });
  for (Rank& rank : ranks) rank.network.of_own_link = rank.network.share;
}

void LinkShares::DividePool(std::vector<Rank>& ranks) const {
  if (hosts_.empty()) return;
  double all = 0;
  for (const auto& [name, host] : hosts_) {
    if (std::isinf(host.link)) return;  // it can send more than all want
    all += host.link;
  }
  std::vector<Rank*> members;
  for (Rank& rank : ranks) members.push_back(&rank);
  Divide(all, members);
}

}  // namespace headrace::coordinator
