#include "coordinator/divide_caches.h"

#include <algorithm>
#include <vector>

#include "coordinator/steady.h"

namespace headrace::coordinator {
namespace {

// Cores move a little all the time. What is cached on several hosts shall not follow each move.
constexpr double kWobbleOfHosts = 0.1;

}  // namespace

void DivideCaches(const State& state, std::span<const Dataset> datasets,
                  std::span<const double> quotas, std::span<const CachePlaces> places,
                  std::span<const CacheUser> users) {
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
      if (held.cache_bytes > 0 && held.cache_encoded != user.encoded) grant.cache_bytes = 0;
    }
  }
}

}  // namespace headrace::coordinator
