// This file is long because one class takes all steps from a state to a plan.
#include "coordinator/cluster_planner.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "coordinator/cache_mates.h"
#include "coordinator/cache_places.h"
#include "coordinator/dataset_jobs.h"
#include "coordinator/dataset_view.h"
#include "coordinator/divide_caches.h"
#include "coordinator/divide_source.h"
#include "coordinator/divide_tiers.h"
#include "coordinator/host_keys.h"
#include "coordinator/leaf_caches.h"
#include "coordinator/link_shares.h"
#include "coordinator/placement/placement.h"
#include "coordinator/policy/core/divide.h"
#include "coordinator/replica_grants.h"
#include "coordinator/source_limits.h"
#include "coordinator/spare_cache.h"
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

// For the link of a host; kNoLink: none is known.
std::int64_t WholeBytes(double rate) {
  return rate < 9e18 ? static_cast<std::int64_t>(std::max(0.0, rate)) : kNoLink;
}

// Rounded up, but for what is an error of the arithmetic: of ten jobs with a tenth of a core each, nine would have
// 101, and the last one what they leave.
std::int64_t Millicores(double cores) {
  return static_cast<std::int64_t>(std::ceil(cores * 1000 - 1e-6));
}

// The lease of a worker in its own cores, from mean cores. What it has stays where the difference is of rounding.
std::uint32_t OwnMillicores(double speed, std::int32_t of_mean_core, std::uint32_t held) {
  if (speed == 1) return static_cast<std::uint32_t>(of_mean_core);
  const auto own = std::max<std::int64_t>(kLeastMillicores, std::lround(of_mean_core / speed));
  const auto change = own - std::int64_t{held};
  return std::abs(change) <= 2 && held > 0 ? held : static_cast<std::uint32_t>(own);
}

// EntrySize::guess of leaves: each worker has its own (CacheHostOf).
constexpr double kOfLeaves = -1;

// The ranks of one program.
struct Group {
  std::vector<const Job*> ranks;
  std::vector<double> needs;  // cores, by rank
  double known_cores = 0;     // see ClusterPlan::demand_cores
  bool known = true;          // something is measured of each rank
  // The data set whose quota is their cache; a policy may not know that they read it (LeavesOf). -1: none.
  std::int32_t cache = -1;
};

class ClusterPlanner {
 public:
  ClusterPlanner(const PlanRules& rules, const State& state)
      : rules_(rules),
        state_(state),
        views_(ViewDatasets(state)),
        kept_(KeptBytesOf(state)),
        links_(state) {}

  ClusterPlan Run() {
    CollectWorkers();
    CollectTenants();
    CollectJobs();
    const Allocation allocation = rules_.policy->Decide(snapshot_);
    return Apply(allocation);
  }

 private:
  void CollectWorkers() {
    snapshot_.supply.source_rate = rules_.source_rate;
    snapshot_.floor = rules_.floor;
    snapshot_.shared_cache_first = rules_.shared_cache_first;
    for (const auto& [id, worker] : state_.workers()) {
      if (!worker.leasable()) continue;
      const std::string host = HostKey(worker.info.host);
      const double speed = state_.speeds().Of(id);
      if (speed != 1) speeds_.emplace(id, speed);
      const double cores = worker.info.usable_cores() * speed;
      workers_.push_back({id, static_cast<std::int32_t>(std::lround(cores * 1000)), host,
                          worker.info.local, worker.info.host.uid, IsHomeOnly(worker.info),
                          WholeBytes(links_.LinkOf(host)), worker.info.rack});
      if (worker.info.local) local_cores_[UserKey(worker.info.host)] += cores;
      snapshot_.supply.cores += cores;
      snapshot_.supply.cache_bytes += static_cast<double>(worker.info.cache_bytes);
      host_cores_[host] += cores;
      for (const wire::JobUsage& usage : worker.last.usage) {
        cached_[usage.job].Add(usage);
        if (usage.cache_entries > 0) holders_[usage.job].push_back(id);
      }
    }
  }

  void CollectTenants() {
    snapshot_.tenants.push_back({"default"});
    for (const Tenant& tenant : rules_.tenants) {
      if (tenant.name == "default") {
        snapshot_.tenants[0] = tenant;
      } else {
        snapshot_.tenants.push_back(tenant);
      }
    }
  }
  [[nodiscard]] std::int32_t TenantOf(const std::string& name) const {
    for (std::size_t t = 1; t < snapshot_.tenants.size(); ++t) {
      if (snapshot_.tenants[t].name == name) return static_cast<std::int32_t>(t);
    }
    return 0;
  }

  void CollectJobs() {
    // Two tenants may name their programs alike; a job without a group is one of its own.
    std::map<std::tuple<std::int32_t, std::string_view, JobId>, std::size_t> by_group;
    for (const auto& [id, job] : state_.jobs()) {
      if (job.phase != Job::Phase::kRunning) continue;
      if (job.cancelled) {
        cancelled_.push_back(id);
        continue;
      }
      const std::string& group = job.spec.group;
      const auto [at, is_new] = by_group.try_emplace(
          {TenantOf(job.spec.tenant), group, group.empty() ? id : JobId()}, groups_.size());
      if (is_new) groups_.emplace_back();
      groups_[at->second].ranks.push_back(&job);
      ++ranks_;
    }
    to_try_ = RoomToTry(state_, snapshot_.supply.cache_bytes);
    for (Group& group : groups_) snapshot_.jobs.push_back(View(group));
    workers_of_user_ = local_cores_;
    AddIdlePins();
    LocateDatasets();
  }

  // What stays of pinned data sets that no job reads counts against their tenants, and against all.
  void AddIdlePins() {
    for (const auto& [hash, bytes] : kept_.of_dataset) {
      const DatasetView* const read = FindView(views_, hash);
      if (read != nullptr && datasets_.contains(read->dataset)) continue;
      Dataset idle;
      idle.bytes = idle.cached_bytes = idle.pinned_bytes = bytes;
      idle.tenant = TenantOf(state_.datasets().Find(hash)->tenant);
      snapshot_.datasets.push_back(std::move(idle));
      entry_sizes_.emplace_back();
      left_.push_back(bytes);
    }
  }

  // Says where the batches of each data set's jobs are made now, by the leases that hold.
  void LocateDatasets() {
    std::vector<CachePlaces> places = PlacesOfDatasets();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (snapshot_.jobs[g].dataset < 0) continue;
      const auto d = static_cast<std::size_t>(snapshot_.jobs[g].dataset);
      for (const Job* rank : groups_[g].ranks) {
        for (const auto& [id, grant] : rank->grants) AddPlace(places, d, g, *rank, grant, id);
      }
    }
    for (std::size_t d = 0; d < places.size(); ++d) {
      snapshot_.datasets[d].hosts = places[d].hosts();
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      JobView& view = snapshot_.jobs[g];
      if (view.dataset >= 0) view.served = places[static_cast<std::size_t>(view.dataset)].Served(g);
    }
  }
  [[nodiscard]] std::vector<CachePlaces> PlacesOfDatasets() const {
    std::vector<CachePlaces> places;
    for (const EntrySize& size : entry_sizes_) places.emplace_back(size.bytes(), size.wide);
    return places;
  }
  // `reader`: for CachePlaces.
  void AddPlace(std::vector<CachePlaces>& all, std::size_t dataset, std::size_t reader,
                const Job& job, const wire::JobGrant& grant, WorkerId id) const {
    const Worker* worker = state_.FindWorker(id);
    if (worker == nullptr || !worker->leasable()) return;
    if (entry_sizes_[dataset].guess == kOfLeaves && !KeepsLeavesOf(state_, id, job)) return;
    CachePlaces& places = all[dataset];
    const auto bound = static_cast<double>(job.spec.cache_bytes);
    const double millicores = grant.millicores * SpeedOf(id);
    const double kept = kept_.On(id);
    if (kept <= 0) {
      places.Add(reader, worker->info, millicores, bound);
      return;
    }
    // What stays of pinned data sets is no room for others.
    wire::WorkerInfo rest = worker->info;
    rest.cache_bytes -= std::min(rest.cache_bytes, static_cast<std::uint64_t>(kept));
    places.Add(reader, rest, millicores, bound);
  }

  // The demand of a job before anything is measured, as terms whose samples take a core-second.
  [[nodiscard]] Demand Start(const Job& job) const {
    const auto own = host_cores_.find(HostKey(job.spec.host));
    const double cores = std::max(kStartCores, own == host_cores_.end() ? 0 : own->second);
    return {{cores, JobMeter::kHitGuess, 1, 0}, cores, false};
  }

  // Mean cores in a core of those that the job has: what turns its costs, as measured, into a mean core's.
  [[nodiscard]] double SpeedOf(const Job& job) const {
    return speeds_.empty() ? 1 : SpeedOfCores(state_, job);
  }
  [[nodiscard]] double SpeedOf(WorkerId id) const {
    if (speeds_.empty()) return 1;
    const auto known = speeds_.find(id);
    return known == speeds_.end() ? 1 : known->second;
  }

  JobView View(Group& group) {
    const Job& first = *group.ranks.front();
    JobView view;
    view.job = first.spec.job;
    view.tenant = TenantOf(first.spec.tenant);
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
      const double speed = SpeedOf(*job);
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
      const JobNetwork& network = links_.Of(job->spec.job);
      double cores = std::min(demand.cores, snapshot_.supply.cores);
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
        (1 + kHeadroom) * std::min(std::max(view.most_cores, need), snapshot_.supply.cores);
    // What the network does not carry is of no use, and no reserve either.
    if (bound) view.most_cores = std::min(view.most_cores, of_use);
    view.dataset = DatasetOf(group, view.terms);
    group.cache = view.dataset;
    if (view.dataset < 0) LeavesOf(group, view);
    return view;
  }

  // The largest data set of the group's sessions; -1: the group wants no cache.
  std::int32_t DatasetOf(const Group& group, const Terms& terms) {
    std::vector<const Job*> wanting;
    EntrySize cached;
    for (const Job* job : group.ranks) {
      if (job->spec.cache_bytes == 0) continue;
      wanting.push_back(job);
      if (const auto at = cached_.find(job->spec.job); at != cached_.end()) cached.Add(at->second);
    }
    const Session* largest = CachedSession(wanting);
    if (!largest) return -1;
    const DatasetView& known = *FindView(views_, largest->dataset);
    const auto [at, is_new] =
        datasets_.try_emplace(known.dataset, static_cast<std::int32_t>(snapshot_.datasets.size()));
    if (is_new) {
      snapshot_.datasets.emplace_back();
      entry_sizes_.emplace_back();
      left_.push_back(0);
      for (const std::uint64_t each : known.of_sessions) left_.back() += kept_.Of(each);
      snapshot_.datasets.back().cached_bytes = left_.back();
    }
    Dataset& dataset = snapshot_.datasets[static_cast<std::size_t>(at->second)];
    // What other jobs have of it, also ended ones, tells its size until this group has some.
    cached.guess = known.size.entries > 0 ? known.size.bytes() : EntryGuess(terms.miss_bytes);
    const double each = KeepsEncoded(known) ? known.read_bytes : cached.bytes();
    dataset.bytes = std::max(dataset.bytes, DatasetBytes(largest->rows, each));
    dataset.cached_bytes += cached.room;
    Bound(*largest, known, dataset);
    EntrySize& size = entry_sizes_[static_cast<std::size_t>(at->second)];
    size.Add(cached);
    size.guess = std::max(size.guess, each);
    size.wide = known.wide;
    return at->second;
  }

  // Leaves of jobs without a data set. Before they are measured, no policy can weigh them: they have room to be
  // tried, as a data set that nobody reads.
  void LeavesOf(Group& group, JobView& view) {
    std::vector<const Job*> wanting;
    for (const Job* job : group.ranks) {
      if (job->spec.cache_bytes > 0) wanting.push_back(job);
    }
    const LeafSet set = LeafSetOf(state_, wanting, to_try_);
    if (set.bytes <= 0) return;
    Dataset dataset;
    dataset.bytes = set.bytes;
    dataset.cached_bytes = set.cached_bytes;
    dataset.pinned_bytes = set.tried_bytes;
    dataset.tenant = view.tenant;
    const auto& sessions = wanting.front()->sessions;
    const auto most = sessions.empty()
                          ? rules_.dataset_bytes.end()
                          : rules_.dataset_bytes.find(sessions.begin()->second.plan_name);
    if (most != rules_.dataset_bytes.end()) dataset.most_bytes = most->second;
    group.cache = static_cast<std::int32_t>(snapshot_.datasets.size());
    if (set.measured) view.dataset = group.cache;
    snapshot_.datasets.push_back(std::move(dataset));
    entry_sizes_.emplace_back().guess = kOfLeaves;
    left_.push_back(0);
  }

  // By what the operator says of it.
  void Bound(const Session& session, const DatasetView& view, Dataset& dataset) const {
    const auto most = rules_.dataset_bytes.find(session.plan_name);
    if (most != rules_.dataset_bytes.end()) dataset.most_bytes = most->second;
    for (const std::uint64_t each : view.of_sessions) {
      const KnownDataset* known = state_.datasets().Find(each);
      if (known == nullptr || !known->pinned) continue;
      const auto pin = static_cast<double>(known->pinned_bytes);
      const double bytes = pin > 0 ? std::min(pin, dataset.bytes) : dataset.bytes;
      dataset.pinned_bytes = std::max(dataset.pinned_bytes, bytes);
    }
  }

  ClusterPlan Apply(const Allocation& allocation) {
    ClusterPlan plan;
    plan.dearer_demand_cores.assign(rules_.dearer_core_prices.size(), 0);
    std::vector<PlacementJob> placed;
    std::vector<double> source;      // by rank, bytes/s
    std::vector<double> read_bytes;  // of one of its reads
    std::vector<std::int32_t> dataset, tenants;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Grant& grant = allocation.jobs[g];
      double need = 0;
      for (const double each : groups_[g].needs) need += each;
      const Tenant& tenant = snapshot_.tenants[static_cast<std::size_t>(snapshot_.jobs[g].tenant)];
      if (grant.admitted) CountDemand(groups_[g], tenant, plan);
      for (std::size_t r = 0; r < groups_[g].ranks.size(); ++r) {
        const Job& job = *groups_[g].ranks[r];
        const double share = need > 0 ? groups_[g].needs[r] / need
                                      : 1.0 / static_cast<double>(groups_[g].ranks.size());
        plan.jobs.push_back({job.spec.job, {}, grant.reason, grant.why});
        PlacementJob each;
        each.job = job.spec.job;
        if (grant.admitted) {
          // Never 0: the job must be able to show its need.
          each.millicores =
              std::max(std::int64_t{kLeastMillicores}, Millicores(grant.cores * share));
        }
        // A quota holds for own cores, too.
        each.wanted = std::isfinite(tenant.quota.cores)
                          ? 0
                          : std::int64_t(std::ceil(groups_[g].needs[r] * (1 + kHeadroom) * 1000));
        each.uid = job.spec.host.uid;
        each.most_workers = job.spec.wanted_workers;
        each.host = HostKey(job.spec.host);
        SetNetwork(job, each);
        each.lanes_stay = job.lanes_stay();
        // Where hosts share, any host serves as well as those that are used.
        each.caches = PrefersItsHosts(groups_[g].cache);
        for (const WorkerId id : job.leases) {
          each.held[id].millicores = static_cast<std::int32_t>(
              std::lround(HeldOn(job.spec.job, id).millicores * SpeedOf(id)));
        }
        if (const auto at = holders_.find(job.spec.job); at != holders_.end()) {
          for (const WorkerId id : at->second) {
            if (const auto held = each.held.find(id); held != each.held.end()) {
              held->second.holds_cache = true;
            }
          }
        }
        placed.push_back(std::move(each));
        const double most = std::min(rules_.source_rate, tenant.quota.source_rate);
        const double given =
            std::max(grant.source_rate * share,
                     SourceWithRoom(snapshot_.jobs[g], grant, share, job.leases.size(),
                                    rules_.source_rate / static_cast<double>(ranks_)));
        const double least = LeastOfSource(most, ranks_, groups_[g].known);
        source.push_back(std::max(std::min(given, most * share), least));
        read_bytes.push_back(snapshot_.jobs[g].terms.miss_bytes);
        dataset.push_back(groups_[g].cache);
        tenants.push_back(snapshot_.jobs[g].tenant);
      }
    }
    for (std::size_t t = 0; t < snapshot_.tenants.size(); ++t) {
      FitSource(source, snapshot_.tenants[t].quota.source_rate,
                [&](std::size_t i) { return tenants[i] == static_cast<std::int32_t>(t); });
    }
    FitSource(source, rules_.source_rate, [](std::size_t) { return true; });
    std::vector<Leases> leases = Place(placed, workers_);
    for (std::size_t i = 0; i < placed.size() && rules_.lease_all; ++i) {
      for (const PlacementWorker& worker : workers_) {
        if (placed[i].millicores > 0 && (!worker.home_only || MayUse(placed[i], worker)))
          leases[i].try_emplace(worker.worker, kLeastMillicores);
      }
    }
    for (std::size_t i = 0; i < placed.size(); ++i) {
      for (const auto& [id, millicores] : leases[i]) {
        wire::JobGrant& grant = plan.jobs[i].grants[id];
        grant.job = plan.jobs[i].job;
        const double speed = SpeedOf(id);
        grant.millicores = OwnMillicores(speed, millicores,
                                         speed == 1 ? 0 : HeldOn(plan.jobs[i].job, id).millicores);
      }
      if (std::isfinite(source[i])) LimitSource(state_, source[i], read_bytes[i], plan.jobs[i]);
      if (plan.jobs[i].reason.empty() && leases[i].empty()) {
        plan.jobs[i].reason = workers_.empty() ? "no worker" : "no worker that serves its host";
      }
    }
    GrantCaches(allocation, dataset, placed, plan);
    for (const JobId id : cancelled_) plan.jobs.push_back({id, {}, "cancelled by order", {}});
    std::sort(plan.jobs.begin(), plan.jobs.end(),
              [](const JobPlan& a, const JobPlan& b) { return a.job < b.job; });
    return plan;
  }

  // What its leases take of the links: all that their cores can make, for no trainer has taken enough
  // while they are of use.
  void SetNetwork(const Job& job, PlacementJob& placed) const {
    placed.rack = job.spec.rack;
    const JobNetwork& network = links_.Of(job.spec.job);
    if (!links_.limited() || placed.millicores <= 0 || network.terms.sent_bytes <= 0) return;
    const double cost = SpeedOf(job) * CostPerSample(network.terms, job.meter.hit());
    const double taken = (1 + kHeadroom) * network.terms.ready_rate;
    const double made = cost > 0 ? 1e-3 / cost : taken / static_cast<double>(placed.millicores);
    placed.bytes_per_millicore =
        WholeBytes(std::min(1e10, std::ceil(made * network.terms.sent_bytes)));
    placed.most_bytes = WholeBytes(std::min(network.share.rate, taken * network.terms.sent_bytes));
    placed.link = WholeBytes(links_.LinkOf(placed.host));
    placed.said_link = WholeBytes(links_.SaidLinkOf(job.spec));
    placed.tenant = job.spec.tenant;
  }

  [[nodiscard]] bool PrefersItsHosts(std::int32_t dataset) const {
    return dataset >= 0 && !entry_sizes_[static_cast<std::size_t>(dataset)].wide;
  }

  void CountDemand(const Group& group, const Tenant& tenant, ClusterPlan& plan) {
    double cores = std::min(group.known_cores, tenant.quota.cores), own_cores = 0;
    std::set<std::string> hosts;
    for (const Job* rank : group.ranks) {
      const auto local = local_cores_.find(UserKey(rank->spec.host));
      if (local == local_cores_.end()) continue;
      const double own = std::min(cores, local->second);
      cores -= own;
      local->second -= own;
      // Ranks of one host share its workers.
      if (hosts.insert(local->first).second) own_cores += workers_of_user_.at(local->first);
    }
    const auto gpus = static_cast<double>(group.ranks.size());
    if (!WorthBuying(rules_.prices, gpus, own_cores)) return;
    plan.demand_cores += cores;
    for (std::size_t k = 0; k < rules_.dearer_core_prices.size(); ++k) {
      const HourPrices dearer{rules_.prices.gpu, rules_.dearer_core_prices[k]};
      if (WorthBuying(dearer, gpus, own_cores)) plan.dearer_demand_cores[k] += cores;
    }
  }

  void GrantCaches(const Allocation& allocation, const std::vector<std::int32_t>& dataset,
                   const std::vector<PlacementJob>& placed, ClusterPlan& plan) const {
    std::vector<CachePlaces> places = PlacesOfDatasets();
    std::vector<CacheUser> users;
    const CacheMates mates(state_, workers_);
    for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
      if (dataset[i] < 0) continue;
      const auto d = static_cast<std::size_t>(dataset[i]);
      const Job* const job = state_.FindJob(plan.jobs[i].job);
      // Workers keep leaves for themselves.
      if (job->spec.cache_bytes > 0 && entry_sizes_[d].guess != kOfLeaves) {
        mates.AddGrants(placed[i], entry_sizes_[d].bytes(), entry_sizes_[d].wide,
                        plan.jobs[i].grants);
      }
      for (const auto& [id, grant] : plan.jobs[i].grants) AddPlace(places, d, i, *job, grant, id);
      const Session* session = CachedSession({&job, 1});
      const Tenant& tenant =
          snapshot_.tenants[static_cast<std::size_t>(TenantOf(job->spec.tenant))];
      CacheUser user{job, d, &plan.jobs[i].grants};
      if (session != nullptr) {
        const DatasetView& known = *FindView(views_, session->dataset);
        user.name = known.dataset;
        user.encoded = KeepsEncoded(known);
        user.nodes = known.nodes;
      }
      user.wide = entry_sizes_[d].wide;
      user.bounded = std::isfinite(tenant.quota.cache_bytes) ||
                     std::isfinite(snapshot_.datasets[d].most_bytes);
      users.push_back(user);
    }
    // What ended jobs have left of a pinned data set is a part of its quota.
    std::vector<double> quotas = allocation.dataset_bytes;
    for (std::size_t d = 0; d < quotas.size(); ++d) quotas[d] = std::max(0.0, quotas[d] - left_[d]);
    DivideCaches(state_, snapshot_.datasets, quotas, places, kept_, users);
    if (rules_.replicas) GrantReplicas(views_, snapshot_.datasets, quotas, users);
    GrantSpareCaches(state_, snapshot_.tenants, kept_, plan);
    GrantTiers(state_, plan);
  }
  [[nodiscard]] wire::JobGrant HeldOn(JobId job, WorkerId worker) const {
    const auto& grants = state_.FindJob(job)->grants;
    const auto at = grants.find(worker);
    return at == grants.end() ? wire::JobGrant{} : at->second;
  }

  const PlanRules& rules_;
  const State& state_;
  const std::map<std::uint64_t, DatasetView> views_;
  const KeptBytes kept_;
  const LinkShares links_;
  Snapshot snapshot_;
  std::vector<PlacementWorker> workers_;
  std::vector<Group> groups_;  // in the order of snapshot_.jobs
  std::size_t ranks_ = 0;      // number of all ranks
  std::vector<JobId> cancelled_;
  std::unordered_map<std::string, double> host_cores_;
  std::unordered_map<std::string, double> local_cores_;      // for which no demand was counted
  std::unordered_map<std::string, double> workers_of_user_;  // cores of all local workers
  std::unordered_map<std::uint64_t, std::int32_t> datasets_;
  std::vector<EntrySize> entry_sizes_;           // by data set
  std::vector<double> left_;                     // by data set: bytes of kept_
  double to_try_ = 0;                            // RoomToTry
  std::unordered_map<WorkerId, double> speeds_;  // of workers that are no mean cores
  std::unordered_map<JobId, EntrySize> cached_;
  std::unordered_map<JobId, std::vector<WorkerId>> holders_;  // workers with entries
};

}  // namespace

ClusterPlan MakePlan(const PlanRules& rules, const State& state) {
  HR_CHECK(rules.policy != nullptr);
  return ClusterPlanner(rules, state).Run();
}

}  // namespace headrace::coordinator
