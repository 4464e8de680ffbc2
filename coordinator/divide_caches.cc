#include "coordinator/divide_caches.h"

#include <algorithm>
#include <map>
#include <vector>

#include "coordinator/steady.h"

namespace headrace::coordinator {
namespace {

// Cores move a little all the time. What is cached on several hosts shall not follow each move.
constexpr double kWobbleOfHosts = 0.1;

// Part of a worker's cache that is kept free for data sets that grow: more than they fill in a period.
constexpr double kRoomToGrow = 1.0 / 16;

// What a job has on one worker, and shall have.
struct Holding {
  std::size_t user = 0;
  double used = 0, held = 0, target = 0;
  // Beyond its target, if it keeps the part `wanted` of what it held.
  [[nodiscard]] double Excess(double wanted) const { return std::max(0.0, wanted * held - target); }
};

double UsedBy(const Worker& worker, JobId job) {
  const auto at = std::ranges::find(worker.last.usage, job, &wire::JobUsage::job);
  return at == worker.last.usage.end() ? 0 : static_cast<double>(at->cache_bytes);
}

// A quota that shrinks does so as the data sets that grow fill the room: until then what is there is hit.
// All quotas of a job shrink in proportion, so that no entry changes its owner.
void ShrinkAsOthersFill(const State& state, const KeptBytes& kept,
                        std::span<const CacheUser> users) {
  const auto shrinks = [](const CacheUser& user) {
    return std::ranges::any_of(*user.grants, [&](const auto& each) {
      const auto at = user.job->grants.find(each.first);
      return at != user.job->grants.end() && at->second.cache_bytes > each.second.cache_bytes;
    });
  };
  if (std::ranges::none_of(users, shrinks)) return;
  std::map<WorkerId, std::vector<Holding>> workers;
  for (std::size_t u = 0; u < users.size(); ++u) {
    for (const auto& [id, grant] : *users[u].grants) {
      const auto at = users[u].job->grants.find(id);
      const double held =
          at == users[u].job->grants.end() ? 0 : static_cast<double>(at->second.cache_bytes);
      workers[id].push_back({u, UsedBy(*state.FindWorker(id), users[u].job->spec.job), held,
                             static_cast<double>(grant.cache_bytes)});
    }
  }
  // Of what each job held: the part that keeps all that is there on each worker, and what others leave.
  std::vector<double> wanted(users.size(), 0), parts(users.size(), 1);
  for (const auto& [id, holdings] : workers) {
    for (const Holding& each : holdings) {
      const double part = each.held > 0 ? std::min(1.0, each.used / each.held) : 0;
      wanted[each.user] = std::max(wanted[each.user], part);
    }
  }
  for (const auto& [id, holdings] : workers) {
    const Worker& worker = *state.FindWorker(id);
    double spare = (1 - kRoomToGrow) * static_cast<double>(worker.info.cache_bytes) - kept.On(id);
    double excess = 0;
    for (const Holding& each : holdings) {
      spare -= std::min(each.used, each.target);
      excess += each.Excess(wanted[each.user]);
    }
    const double share = excess > 0 ? std::clamp(spare / excess, 0.0, 1.0) : 0;
    for (const Holding& each : holdings) {
      if (each.held <= each.target) continue;
      const double allowed = each.target + share * each.Excess(wanted[each.user]);
      parts[each.user] = std::min(parts[each.user], allowed / each.held);
    }
  }
  for (const auto& [id, holdings] : workers) {
    for (const Holding& each : holdings) {
      const CacheUser& user = users[each.user];
      wire::JobGrant& grant = (*user.grants)[id];
      const bool other_form =
          user.job->grants.contains(id) && user.job->grants.at(id).cache_encoded != user.encoded;
      if (each.held <= each.target || user.bounded || other_form) continue;
      const double slow = std::max(each.target, parts[each.user] * each.held);
      grant.cache_bytes =
          std::max(grant.cache_bytes, Steady(slow, static_cast<std::uint64_t>(each.held)));
    }
  }
}

}  // namespace

void DivideCaches(const State& state, std::span<const Dataset> datasets,
                  std::span<const double> quotas, std::span<const CachePlaces> places,
                  const KeptBytes& kept, std::span<const CacheUser> users) {
  std::vector<std::vector<double>> by_host;
  for (std::size_t d = 0; d < datasets.size(); ++d) {
    by_host.push_back(DivideOverHosts(quotas[d], datasets[d].bytes, places[d].hosts()));
  }
  for (const CacheUser& user : users) {
    const CachePlaces& place = places[user.dataset];
    const double wobble = place.hosts().size() > 1 ? kWobbleOfHosts : kWobble;
    for (auto& [id, grant] : *user.grants) {
      const Worker& worker = *state.FindWorker(id);
      const double most = std::min(static_cast<double>(worker.info.cache_bytes),
                                   static_cast<double>(user.job->spec.cache_bytes));
      const bool heard = worker.last.worker.valid();
      const double own = place.BytesOn(id, by_host[user.dataset]);
      const auto at = user.job->grants.find(id);
      const wire::JobGrant held = at == user.job->grants.end() ? wire::JobGrant{} : at->second;
      grant.cache_encoded = user.encoded;
      grant.wide = user.wide;
      grant.cache_bytes = Steady(heard ? std::min(own, most) : most, held.cache_bytes, wobble);
      if (user.bounded && heard) {
        grant.cache_bytes = std::min(grant.cache_bytes, static_cast<std::uint64_t>(own));
      }
      if (held.cache_bytes > 0 && held.cache_encoded != user.encoded) grant.cache_bytes = 0;
    }
  }
  ShrinkAsOthersFill(state, kept, users);
}

}  // namespace headrace::coordinator
