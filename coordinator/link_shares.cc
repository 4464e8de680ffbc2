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

// The parts of `total`, and for each what nobody wants.
std::vector<double> PartsWithRest(double total, const std::vector<double>& wanted) {
  std::vector<double> parts = FairParts(total, wanted);
  double rest = total;
  for (const double part : parts) rest -= part;
  for (double& part : parts) part += std::max(0.0, rest);
  return parts;
}

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

const JobNetwork& LinkShares::Of(JobId job) const {
  const auto at = jobs_.find(job);
  return at == jobs_.end() ? kNone : at->second;
}

void LinkShares::CollectHosts(const State& state) {
  limited_ = std::ranges::any_of(state.workers(),
                                 [](const auto& each) {
                                   return each.second.phase == Worker::Phase::kReady &&
                                          each.second.info.link_bytes_per_second > 0;
                                 }) ||
             std::ranges::any_of(state.jobs(), [](const auto& each) {
               return each.second.phase == Job::Phase::kRunning &&
                      each.second.spec.link_bytes_per_second > 0;
             });
  if (!limited_) return;
  const auto add = [](Host& host, std::uint64_t link) {
    if (link > 0) host.link = std::min(host.link, static_cast<double>(link));
  };
  hosts_.reserve(state.workers().size());
  for (const auto& [id, worker] : state.workers()) {
    if (worker.phase != Worker::Phase::kReady) continue;
    const wire::WorkerInfo& info = worker.info;
    Host& host = hosts_[HostKey(info.host)];
    add(host, info.link_bytes_per_second);
    if (!worker.leasable()) continue;
    if (info.local) {
      local_cores_[UserKey(info.host)] += info.usable_cores();
    } else {
      host.cores += info.usable_cores();
      host.sends = true;
    }
  }
  for (const auto& [id, job] : state.jobs()) {
    if (job.phase != Job::Phase::kRunning || job.spec.link_bytes_per_second == 0) continue;
    add(hosts_[HostKey(job.spec.host)], job.spec.link_bytes_per_second);
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

void LinkShares::DivideLinks(std::vector<Rank>& ranks) const {
  for (Rank& rank : ranks) {
    JobNetwork& network = rank.network;
    network.wanted =
        NetworkRateFor(network.terms, network.terms.ready_rate, rank.hit, network.share.own_cores);
  }
  EachGroup<Rank>(
      ranks, [](const Rank& rank) { return rank.host; },
      [&](const std::string& host, std::vector<Rank*>& members) {
        const double link = LinkOf(host);
        if (std::isinf(link)) return;
        std::vector<double> wanted;
        for (const Rank* each : members) wanted.push_back(each->asked());
        const std::vector<double> parts = PartsWithRest(link, wanted);
        for (std::size_t i = 0; i < parts.size(); ++i) members[i]->network.share.rate = parts[i];
      });
  for (Rank& rank : ranks) rank.network.of_own_link = rank.network.share;
}

void LinkShares::DividePool(std::vector<Rank>& ranks) const {
  double all = 0;
  for (const auto& [name, host] : hosts_) {
    if (!host.sends) continue;
    if (std::isinf(host.link)) return;  // it can send more than all want
    all += host.link;
  }
  std::vector<double> wanted;
  for (const Rank& rank : ranks) {
    wanted.push_back(std::min(rank.asked(), rank.network.share.rate));
  }
  const std::vector<double> parts = PartsWithRest(all, wanted);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    double& rate = ranks[i].network.share.rate;
    rate = std::min(rate, parts[i]);
  }
}

}  // namespace headrace::coordinator
