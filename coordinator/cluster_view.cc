#include "coordinator/cluster_view.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "coordinator/dataset_jobs.h"
#include "coordinator/host_keys.h"
#include "coordinator/leaf_caches.h"
#include "coordinator/link_shares.h"
#include "coordinator/policy/core/divide.h"
#include "net/exposure.h"

namespace headrace::coordinator {
namespace {

// Says whether no other host reaches the worker by TCP, because it gave loopback addresses alone.
bool IsHomeOnly(const wire::WorkerInfo& info) {
  bool tcp = false;
  for (const std::string& endpoint : info.endpoints) {
    if (!endpoint.starts_with("tcp://")) continue;
    tcp = true;
    if (!net::IsLocalEndpoint(endpoint)) return false;
  }
  return tcp;
}

class ClusterCollector {
 public:
  ClusterCollector(const PlanRules& rules, const State& state) : rules_(rules), view_(state) {}

  ClusterView Run() {
    CollectWorkers();
    CollectTenants();
    CollectJobs();
    return std::move(view_);
  }

 private:
  void CollectWorkers() {
    view_.snapshot.supply.source_rate = rules_.source_rate;
    view_.snapshot.floor = rules_.floor;
    view_.snapshot.shared_cache_first = rules_.shared_cache_first;
    for (const auto& [id, worker] : view_.state.workers()) {
      if (!worker.leasable()) continue;
      const std::string host = HostKey(worker.info.host);
      const double speed = view_.state.speeds().Of(id);
      if (speed != 1) view_.speeds.emplace(id, speed);
      const double cores = worker.info.usable_cores() * speed;
      view_.workers.push_back({id, static_cast<std::int32_t>(std::lround(cores * 1000)), host,
                               worker.info.local, worker.info.host.uid, IsHomeOnly(worker.info),
                               WholeBytes(view_.links.LinkOf(host)), worker.info.rack});
      if (worker.info.local) view_.local_cores[UserKey(worker.info.host)] += cores;
      view_.snapshot.supply.cores += cores;
      view_.snapshot.supply.cache_bytes += static_cast<double>(worker.info.cache_bytes);
      host_cores_[host] += cores;
      for (const wire::JobUsage& usage : worker.last.usage) {
        cached_[usage.job].Add(usage);
        if (usage.cache_entries > 0) view_.holders[usage.job].push_back(id);
      }
    }
  }

  void CollectTenants() {
    view_.snapshot.tenants.push_back({"default"});
    for (const Tenant& tenant : rules_.tenants) {
      if (tenant.name == "default") {
        view_.snapshot.tenants[0] = tenant;
      } else {
        view_.snapshot.tenants.push_back(tenant);
      }
    }
  }

  void CollectJobs() {
    // Two tenants may name their programs alike; a job without a group is one of its own.
    std::map<std::tuple<std::int32_t, std::string_view, JobId>, std::size_t> by_group;
    for (const auto& [id, job] : view_.state.jobs()) {
      if (job.phase != Job::Phase::kRunning) continue;
      if (job.cancelled) {
        view_.cancelled.push_back(id);
        continue;
      }
      const std::string& group = job.spec.group;
      const auto [at, is_new] = by_group.try_emplace(
          {view_.TenantOf(job.spec.tenant), group, group.empty() ? id : JobId()},
          view_.groups.size());
      if (is_new) view_.groups.emplace_back();
      view_.groups[at->second].ranks.push_back(&job);
      ++view_.ranks;
    }
    for (const ClusterGroup& group : view_.groups) {
      const Job& first = *group.ranks.front();
      if (!first.idle()) ++programs_[LeafNumberOf(view_.state, first.spec.job)];
    }
    to_try_ = RoomToTry(view_.state, view_.snapshot.supply.cache_bytes);
    for (ClusterGroup& group : view_.groups) view_.snapshot.jobs.push_back(View(group));
    AddIdlePins();
    LocateDatasets();
  }

  // What stays of pinned data sets that no job reads counts against their tenants, and against all.
  void AddIdlePins() {
    for (const auto& [hash, bytes] : view_.kept.of_dataset) {
      const DatasetView* const read = FindView(view_.views, hash);
      if (read != nullptr && datasets_.contains(read->dataset)) continue;
      if (kept_leaves_.contains(hash)) continue;
      Dataset idle;
      idle.bytes = idle.cached_bytes = idle.pinned_bytes = bytes;
      idle.tenant = view_.TenantOf(view_.state.datasets().Find(hash)->tenant);
      view_.snapshot.datasets.push_back(std::move(idle));
      view_.entry_sizes.emplace_back();
      view_.left.push_back(bytes);
    }
  }

  // Says where the batches of each data set's jobs are made now, by the leases that hold.
  void LocateDatasets() {
    std::vector<CachePlaces> places = view_.PlacesOfDatasets();
    for (std::size_t g = 0; g < view_.groups.size(); ++g) {
      if (view_.snapshot.jobs[g].dataset < 0) continue;
      const auto d = static_cast<std::size_t>(view_.snapshot.jobs[g].dataset);
      for (const Job* rank : view_.groups[g].ranks) {
        for (const auto& [id, grant] : rank->grants) view_.AddPlace(places, d, g, *rank, grant, id);
      }
    }
    for (std::size_t d = 0; d < places.size(); ++d) {
      view_.snapshot.datasets[d].hosts = places[d].hosts();
    }
    for (std::size_t g = 0; g < view_.groups.size(); ++g) {
      JobView& view = view_.snapshot.jobs[g];
      if (view.dataset >= 0) view.served = places[static_cast<std::size_t>(view.dataset)].Served(g);
    }
  }
  // The demand of a job before anything is measured, as terms whose samples take a core-second.
  [[nodiscard]] Demand Start(const Job& job) const {
    const auto own = host_cores_.find(HostKey(job.spec.host));
    const double cores = std::max(kStartCores, own == host_cores_.end() ? 0 : own->second);
    return {{cores, JobMeter::kHitGuess, 1, 0}, cores, false};
  }

  JobView View(ClusterGroup& group) {
    const Job& first = *group.ranks.front();
    JobView view;
    view.job = first.spec.job;
    view.tenant = view_.TenantOf(first.spec.tenant);
    view.priority = first.priority();
    view.gpus = static_cast<std::int32_t>(group.ranks.size());
    view.arrival_s = static_cast<double>(first.spec.opened_ms) * 1e-3;
    view.most_cores = 0;
    double hits = 0, of_use = 0;
    bool bound = false;
    view.running = false;
    view.remaining_samples = 0;
    for (const Job* job : group.ranks) {
      view.running = view.running || !job->leases.empty();
      view.remaining_samples += job->meter.remaining();  // unknown: that of the group is, too
      view.received_samples += job->meter.received();
      Demand demand = Start(*job);
      const double speed = view_.SpeedOf(*job);
      if (job->meter.demand().known) {
        demand = job->meter.demand();
        demand.cores *= speed;
        demand.terms.hit_cost *= speed;
        demand.terms.miss_cost *= speed;
      }
      const double rate = demand.terms.ready_rate;
      view.terms.ready_rate += rate;
      view.terms.hit_cost += rate * demand.terms.hit_cost;
      view.terms.miss_cost += rate * demand.terms.miss_cost;
      view.terms.miss_bytes += rate * demand.terms.miss_bytes;
      hits += rate * job->meter.hit();
      // Nobody can use more than there is. A report may be without bound: from a loop that only
      // counts its batches, or from a faulty client.
      const JobNetwork& network = view_.links.Of(job->spec.job);
      double cores = std::min(demand.cores, view_.snapshot.supply.cores);
      if (network.bound()) {
        cores = std::min(cores, speed * CoresOfUse(network.terms, job->meter.hit(), network.share));
        bound = true;
      }
      of_use += cores * (network.bound() ? 1 : 1 + kHeadroom);
      view.most_cores += cores;
      group.needs.push_back(cores);
      // More workers would send more, but the trainer's host would take in no more.
      const double arrive =
          speed * CoresOfUse(network.terms, job->meter.hit(), network.of_own_link);
      group.known_cores += demand.known ? std::min(demand.cores, arrive) : 1;
      group.known = group.known && demand.known;
    }
    if (view.terms.ready_rate > 0) {
      view.terms.hit_cost /= view.terms.ready_rate;
      view.terms.miss_cost /= view.terms.ready_rate;
      view.terms.miss_bytes /= view.terms.ready_rate;
      view.effective_hit = hits / view.terms.ready_rate;
    }
    // The cores that the demand needs at this share of hits; more hits need less.
    const double need = CoresFor(view.terms, view.terms.ready_rate, view.effective_hit);
    view.most_cores =
        (1 + kHeadroom) * std::min(std::max(view.most_cores, need), view_.snapshot.supply.cores);
    // What the network does not carry is of no use, and no reserve either.
    if (bound) view.most_cores = std::min(view.most_cores, of_use);
    view.dataset = DatasetOf(group, view.terms);
    group.cache = view.dataset;
    if (view.dataset < 0) LeavesOf(group, view);
    return view;
  }

  // The largest data set of the group's sessions; -1: the group wants no cache.
  std::int32_t DatasetOf(const ClusterGroup& group, const Terms& terms) {
    std::vector<const Job*> wanting;
    EntrySize cached;
    for (const Job* job : group.ranks) {
      if (job->spec.cache_bytes == 0) continue;
      wanting.push_back(job);
      if (const auto at = cached_.find(job->spec.job); at != cached_.end()) cached.Add(at->second);
    }
    const Session* largest = CachedSession(wanting);
    if (!largest) return -1;
    const DatasetView& known = *FindView(view_.views, largest->dataset);
    const auto [at, is_new] = datasets_.try_emplace(
        known.dataset, static_cast<std::int32_t>(view_.snapshot.datasets.size()));
    if (is_new) {
      view_.snapshot.datasets.emplace_back();
      view_.entry_sizes.emplace_back();
      view_.left.push_back(0);
      for (const std::uint64_t each : known.of_sessions) view_.left.back() += view_.kept.Of(each);
      view_.snapshot.datasets.back().cached_bytes = view_.left.back();
    }
    Dataset& dataset = view_.snapshot.datasets[static_cast<std::size_t>(at->second)];
    // What other jobs have of it, also ended ones, tells its size until this group has some.
    cached.guess = known.size.entries > 0 ? known.size.bytes() : EntryGuess(terms.miss_bytes);
    const double each = KeepsEncoded(known) ? known.read_bytes : cached.bytes();
    dataset.bytes = std::max(dataset.bytes, DatasetBytes(largest->rows, each));
    dataset.cached_bytes += cached.room;
    Bound(*largest, known, dataset);
    EntrySize& size = view_.entry_sizes[static_cast<std::size_t>(at->second)];
    size.Add(cached);
    size.guess = std::max(size.guess, each);
    size.wide = known.wide;
    return at->second;
  }

  // Leaves of jobs without a data set. Before they are measured, no policy can weigh them: they have room to be
  // tried, as a data set that nobody reads.
  void LeavesOf(ClusterGroup& group, JobView& view) {
    std::vector<const Job*> wanting;
    for (const Job* job : group.ranks) {
      if (job->spec.cache_bytes > 0) wanting.push_back(job);
    }
    const LeafSet set = LeafSetOf(view_.state, wanting, to_try_);
    if (set.bytes <= 0) return;
    Dataset dataset;
    dataset.bytes = set.bytes;
    dataset.cached_bytes = set.cached_bytes;
    dataset.pinned_bytes = set.tried_bytes;
    dataset.tenant = view.tenant;
    const double left = OrderLeaves(wanting, set, dataset);
    group.cache = static_cast<std::int32_t>(view_.snapshot.datasets.size());
    if (set.measured) view.dataset = group.cache;
    view_.snapshot.datasets.push_back(std::move(dataset));
    view_.entry_sizes.emplace_back().guess = EntrySize::kOfLeaves;
    view_.left.push_back(left);
  }

  // Adds the bound of the operator and a pin: each program that reads them has its part of both. Returns the bytes
  // that ended jobs have left of what is pinned: they are a part of the first one's quota.
  double OrderLeaves(const std::vector<const Job*>& jobs, const LeafSet& set, Dataset& dataset) {
    const std::uint64_t number = LeafNumberOf(view_.state, jobs.front()->spec.job);
    const KnownDataset* known = view_.state.datasets().Find(number);
    if (known == nullptr) return 0;
    const double programs = std::max(1, programs_[number]);
    const auto most = rules_.dataset_bytes.find(known->name);
    if (most != rules_.dataset_bytes.end()) dataset.most_bytes = most->second / programs;
    if (!known->pinned) return 0;
    const double all_left = view_.kept.Of(number);
    const double left = kept_leaves_.insert(number).second ? all_left : 0;
    const auto asked = static_cast<double>(known->pinned_bytes);
    double there = all_left;
    for (const Job* job : jobs) there += job->meter.leaves().held_bytes();
    // Before they are measured, there is as much of them as somebody wants kept. Runs of a program find each
    // other's: so what each measures is all that there is.
    const double all = std::max({set.bytes, there, set.measured ? 0 : asked});
    const double whole = asked > 0 ? std::min(asked, all) : all;
    const double pin = left + std::max(0.0, whole - all_left) / programs;
    dataset.bytes = std::max(dataset.bytes, pin);
    dataset.cached_bytes += left;
    dataset.pinned_bytes = std::max(dataset.pinned_bytes, pin);
    return left;
  }

  // By what the operator says of it.
  void Bound(const Session& session, const DatasetView& view, Dataset& dataset) const {
    const auto most = rules_.dataset_bytes.find(session.plan_name);
    if (most != rules_.dataset_bytes.end()) dataset.most_bytes = most->second;
    for (const std::uint64_t each : view.of_sessions) {
      const KnownDataset* known = view_.state.datasets().Find(each);
      if (known == nullptr || !known->pinned) continue;
      const auto pin = static_cast<double>(known->pinned_bytes);
      const double bytes = pin > 0 ? std::min(pin, dataset.bytes) : dataset.bytes;
      dataset.pinned_bytes = std::max(dataset.pinned_bytes, bytes);
    }
  }

  const PlanRules& rules_;
  ClusterView view_;
  std::unordered_map<std::string, double> host_cores_;
  std::unordered_map<std::uint64_t, std::int32_t> datasets_;
  std::unordered_map<std::uint64_t, int> programs_;  // by the data set that they read
  std::set<std::uint64_t> kept_leaves_;  // pinned ones whose rest counts in a program's quota
  double to_try_ = 0;                    // RoomToTry
  std::unordered_map<JobId, EntrySize> cached_;
};

}  // namespace

ClusterView::ClusterView(const State& of)
    : state(of), views(ViewDatasets(of)), kept(KeptBytesOf(of)), links(of) {}

std::vector<CachePlaces> ClusterView::PlacesOfDatasets() const {
  std::vector<CachePlaces> places;
  for (const EntrySize& size : entry_sizes) places.emplace_back(size.bytes(), size.wide);
  return places;
}

void ClusterView::AddPlace(std::vector<CachePlaces>& all, std::size_t dataset, std::size_t reader,
                           const Job& job, const wire::JobGrant& grant, WorkerId id) const {
  const Worker* worker = state.FindWorker(id);
  if (worker == nullptr || !worker->leasable()) return;
  if (entry_sizes[dataset].of_leaves() && !KeepsLeavesOf(state, id, job)) return;
  CachePlaces& places = all[dataset];
  const auto bound = static_cast<double>(job.spec.cache_bytes);
  const double millicores = grant.millicores * SpeedOf(id);
  const double pinned = kept.On(id);
  if (pinned <= 0) {
    places.Add(reader, worker->info, millicores, bound);
    return;
  }
  // What stays of pinned data sets is no room for others.
  wire::WorkerInfo rest = worker->info;
  rest.cache_bytes -= std::min(rest.cache_bytes, static_cast<std::uint64_t>(pinned));
  places.Add(reader, rest, millicores, bound);
}

ClusterView ViewCluster(const PlanRules& rules, const State& state) {
  return ClusterCollector(rules, state).Run();
}

}  // namespace headrace::coordinator
