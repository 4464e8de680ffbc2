#include "coordinator/divide_caches.h"

#include <algorithm>
#include <map>
#include <vector>

#include "coordinator/leaf_caches.h"
#include "coordinator/steady.h"

namespace headrace::coordinator {
namespace {

// Cores move a little all the time. What is cached on several hosts shall not follow each move.
constexpr double kWobbleOfHosts = 0.1;

// Part of a worker's cache that is kept free for data sets that grow: more than they fill in a period.
constexpr double kRoomToGrow = 1.0 / 16;

// What the jobs of one account have on one worker, and shall have: their quotas hold for them together.
struct Holding {
  std::size_t account = 0;  // position
  double used = 0, held = 0, target = 0;
  // Beyond its target, if it keeps the part `wanted` of what it held.
  [[nodiscard]] double Excess(double wanted) const { return std::max(0.0, wanted * held - target); }
};

double UsedBy(const Worker& worker, JobId job) {
  const auto at = std::ranges::find(worker.last.usage, job, &wire::JobUsage::job);
  return at == worker.last.usage.end() ? 0 : static_cast<double>(at->cache_bytes);
}

// What the user held of this account on the worker, bytes.
std::uint64_t HeldBy(const CacheUser& user, WorkerId id, const wire::JobGrant& grant) {
  const auto at = user.job->grants.find(id);
  if (at == user.job->grants.end()) return 0;
  const wire::JobGrant& held = at->second;
  const bool same = held.data_set == grant.data_set && held.cache_encoded == grant.cache_encoded;
  return same ? held.cache_bytes : 0;
}

// The users whose quotas hold for them together: those of one data set.
std::vector<std::vector<const CacheUser*>> AccountsOf(std::span<const CacheUser> users) {
  std::vector<std::vector<const CacheUser*>> accounts;
  std::map<std::uint64_t, std::size_t> named;
  for (const CacheUser& user : users) {
    const auto [at, is_new] = named.try_emplace(user.name, accounts.size());
    if (user.name == 0 || is_new) {
      accounts.push_back({&user});
    } else {
      accounts[at->second].push_back(&user);
    }
  }
  return accounts;
}

// Whether no worker has said yet that something of the account is there.
bool HasReportedNothing(const State& state, std::span<const CacheUser* const> account) {
  return std::ranges::none_of(account, [&](const CacheUser* user) {
    return std::ranges::any_of(*user->grants, [&](const auto& each) {
      return UsedBy(*state.FindWorker(each.first), user->job->spec.job) > 0;
    });
  });
}

// A quota that shrinks does so as the data sets that grow fill the room: until then what is there is hit.
// All quotas of an account shrink in proportion.
void ShrinkAsOthersFill(const State& state, const KeptBytes& kept,
                        std::span<const CacheUser> users) {
  const auto shrinks = [](const CacheUser& user) {
    return std::ranges::any_of(*user.grants, [&](const auto& each) {
      return HeldBy(user, each.first, each.second) > each.second.cache_bytes;
    });
  };
  if (std::ranges::none_of(users, shrinks)) return;
  const std::vector<std::vector<const CacheUser*>> accounts = AccountsOf(users);
  // Of what each account held: the part that keeps all that is there on each worker, and what others leave.
  std::vector<double> wanted(accounts.size(), 0), parts(accounts.size(), 1);
  std::map<WorkerId, std::vector<Holding>> workers;
  for (std::size_t a = 0; a < accounts.size(); ++a) {
    // All that it held may be filled by now, and the size of an entry is not known yet.
    if (HasReportedNothing(state, accounts[a])) wanted[a] = 1;
    for (const CacheUser* user : accounts[a]) {
      for (const auto& [id, grant] : *user->grants) {
        std::vector<Holding>& holdings = workers[id];
        if (holdings.empty() || holdings.back().account != a) holdings.push_back({.account = a});
        const auto held = static_cast<double>(HeldBy(*user, id, grant));
        holdings.back().used += UsedBy(*state.FindWorker(id), user->job->spec.job);
        holdings.back().held += held;
        holdings.back().target += static_cast<double>(grant.cache_bytes);
      }
    }
  }
  for (const auto& [id, holdings] : workers) {
    for (const Holding& each : holdings) {
      const double part = each.held > 0 ? std::min(1.0, each.used / each.held) : 0;
      wanted[each.account] = std::max(wanted[each.account], part);
    }
  }
  for (const auto& [id, holdings] : workers) {
    const Worker& worker = *state.FindWorker(id);
    double spare = (1 - kRoomToGrow) * static_cast<double>(worker.info.cache_bytes) - kept.On(id);
    double excess = 0;
    for (const Holding& each : holdings) {
      spare -= std::min(each.used, each.target);
      excess += each.Excess(wanted[each.account]);
    }
    const double share = excess > 0 ? std::clamp(spare / excess, 0.0, 1.0) : 0;
    for (const Holding& each : holdings) {
      if (each.held <= each.target) continue;
      // What it may still fill of its target is not free for it.
      const double free = std::max(0.0, spare - std::max(0.0, each.target - each.used));
      const double allowed =
          each.target + std::min(free, share * each.Excess(wanted[each.account]));
      parts[each.account] = std::min(parts[each.account], allowed / each.held);
    }
  }
  for (const auto& [id, holdings] : workers) {
    for (const Holding& each : holdings) {
      const std::vector<const CacheUser*>& own = accounts[each.account];
      if (each.held <= each.target || std::ranges::any_of(own, &CacheUser::bounded)) continue;
      const double slow = std::max(each.target, parts[each.account] * each.held);
      for (const CacheUser* user : own) {
        const auto at = user->grants->find(id);
        if (at == user->grants->end()) continue;
        wire::JobGrant& grant = at->second;
        const double part = each.target > 0 ? static_cast<double>(grant.cache_bytes) / each.target
                                            : 1.0 / static_cast<double>(own.size());
        grant.cache_bytes =
            std::max(grant.cache_bytes, Steady(part * slow, HeldBy(*user, id, grant)));
      }
    }
  }
}

// Whether all of its data set is cached, and may take more than that.
bool IsWhole(const CacheUser& user, std::span<const Dataset> datasets,
             std::span<const double> quotas) {
  return !user.bounded && quotas[user.dataset] >= datasets[user.dataset].bytes;
}

// The part of their slack (CachePlaces::SlackOn) that whole data sets get on each worker: all of it, or as
// far as there is room beside the quotas.
std::map<WorkerId, double> SlackOf(const State& state, std::span<const Dataset> datasets,
                                   std::span<const double> quotas,
                                   std::span<const CachePlaces> places,
                                   std::span<const std::vector<double>> by_host,
                                   const KeptBytes& kept, std::span<const CacheUser> users) {
  std::map<WorkerId, double> room, wanted, parts;
  for (const CacheUser& user : users) {
    const CachePlaces& place = places[user.dataset];
    for (const auto& [id, grant] : *user.grants) {
      const auto all = static_cast<double>(state.FindWorker(id)->info.cache_bytes);
      room.try_emplace(id, all - kept.On(id)).first->second -=
          place.BytesOn(id, by_host[user.dataset]);
      double& slack = wanted[id];
      if (IsWhole(user, datasets, quotas)) slack += place.SlackOn(id, by_host[user.dataset]);
    }
  }
  for (const auto& [id, slack] : wanted) {
    parts[id] = slack > 0 ? std::clamp(room[id] / slack, 0.0, 1.0) : 0;
  }
  return parts;
}

// What the job has of another data set, which it does not read now, counts with the rest.
void KeepAccount(const wire::JobGrant& held, wire::JobGrant& grant) {
  grant.cache_encoded = held.cache_encoded;
  grant.cache_nodes = held.cache_nodes;
  grant.data_set = held.data_set;
}

}  // namespace

void SetIdle(const wire::JobGrant& held, wire::JobGrant& grant) {
  KeepAccount(held, grant);
  grant.wide = held.wide;
  grant.cache_bytes = 0;
  grant.idle = true;
}

void DivideCaches(const State& state, std::span<const Dataset> datasets,
                  std::span<const double> quotas, std::span<const CachePlaces> places,
                  const KeptBytes& kept, std::span<const CacheUser> users) {
  std::vector<std::vector<double>> by_host;
  for (std::size_t d = 0; d < datasets.size(); ++d) {
    by_host.push_back(DivideOverHosts(quotas[d], datasets[d].bytes, places[d].hosts()));
  }
  const std::map<WorkerId, double> slack =
      SlackOf(state, datasets, quotas, places, by_host, kept, users);
  for (const CacheUser& user : users) {
    const CachePlaces& place = places[user.dataset];
    const double wobble = place.hosts().size() > 1 ? kWobbleOfHosts : kWobble;
    for (auto& [id, grant] : *user.grants) {
      const Worker& worker = *state.FindWorker(id);
      const double most = std::min(static_cast<double>(worker.info.cache_bytes),
                                   static_cast<double>(user.job->spec.cache_bytes));
      const bool heard = worker.last.worker.valid();
      double own = place.BytesOn(id, by_host[user.dataset]);
      if (IsWhole(user, datasets, quotas))
        own += slack.at(id) * place.SlackOn(id, by_host[user.dataset]);
      const auto at = user.job->grants.find(id);
      const wire::JobGrant held = at == user.job->grants.end() ? wire::JobGrant{} : at->second;
      const bool encoded = user.name == 0 ? held.cache_encoded : user.encoded;
      if (user.name == 0) {
        KeepAccount(held, grant);
        const std::uint64_t of_leaves = LeafAccountOf(state, *user.job, held);
        if (of_leaves != 0) grant.data_set = of_leaves;
      } else {
        grant.cache_encoded = encoded;
        grant.cache_nodes = user.nodes;
        grant.data_set = AccountOf(user.name, user.encoded);
      }
      grant.wide = user.wide;
      grant.cache_bytes = Steady(heard ? std::min(own, most) : most, held.cache_bytes, wobble);
      if (user.bounded && heard) {
        grant.cache_bytes = std::min(grant.cache_bytes, static_cast<std::uint64_t>(own));
      }
      if (held.cache_bytes > 0 && held.cache_encoded != encoded) grant.cache_bytes = 0;
    }
  }
  ShrinkAsOthersFill(state, kept, users);
}

}  // namespace headrace::coordinator
