#include "coordinator/link_shares.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <set>
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
  CollectLinks(state);
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
    DivideCores(state, ranks);
    DivideLinks(ranks);
    DividePool(state, ranks);
  }
  for (Rank& rank : ranks) jobs_.emplace(rank.job->spec.job, rank.network);
}

double LinkShares::LinkOf(const std::string& host) const {
  const auto at = links_.find(host);
  return at == links_.end() ? kUnlimited : at->second;
}

const JobNetwork& LinkShares::Of(JobId job) const {
  const auto at = jobs_.find(job);
  return at == jobs_.end() ? kNone : at->second;
}

void LinkShares::CollectLinks(const State& state) {
  const auto add = [&](const wire::HostIdentity& host, std::uint64_t link) {
    if (link == 0) return;
    double& least = links_.try_emplace(HostKey(host), kUnlimited).first->second;
    least = std::min(least, static_cast<double>(link));
  };
  for (const auto& [id, worker] : state.workers()) {
    if (worker.phase == Worker::Phase::kReady) {
      add(worker.info.host, worker.info.link_bytes_per_second);
    }
  }
  for (const auto& [id, job] : state.jobs()) {
    if (job.phase == Job::Phase::kRunning) add(job.spec.host, job.spec.link_bytes_per_second);
  }
}

// The cores of their own hosts: first the local workers of their users, then the others.
void LinkShares::DivideCores(const State& state, std::vector<Rank>& ranks) const {
  std::unordered_map<std::string, double> local, others;
  std::set<std::string> hosts;
  for (const Rank& rank : ranks) hosts.insert(rank.host);
  for (const auto& [id, worker] : state.workers()) {
    const std::string host = HostKey(worker.info.host);
    if (!worker.leasable() || !hosts.contains(host)) continue;
    if (worker.info.local) {
      local[UserKey(worker.info.host)] += worker.info.usable_cores();
    } else {
      others[host] += worker.info.usable_cores();
    }
  }
  const auto divide = [](const std::unordered_map<std::string, double>& cores) {
    return [&cores](const std::string& name, std::vector<Rank*>& members) {
      const auto at = cores.find(name);
      if (at == cores.end()) return;
      std::vector<double> wanted;
      for (const Rank* each : members) {
        wanted.push_back(each->cores - each->network.share.own_cores);
      }
      const std::vector<double> parts = FairParts(at->second, wanted);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        members[i]->network.share.own_cores += parts[i];
      }
    };
  };
  EachGroup<Rank>(
      ranks, [](const Rank& rank) { return UserKey(rank.job->spec.host); }, divide(local));
  EachGroup<Rank>(
      ranks, [](const Rank& rank) { return rank.host; }, divide(others));
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

void LinkShares::DividePool(const State& state, std::vector<Rank>& ranks) const {
  double all = 0;
  std::set<std::string> counted;
  for (const auto& [id, worker] : state.workers()) {
    if (!worker.leasable() || worker.info.local) continue;
    std::string host = HostKey(worker.info.host);
    const double link = LinkOf(host);
    if (std::isinf(link)) return;  // somebody can send more than all want
    if (counted.insert(std::move(host)).second) all += link;
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
