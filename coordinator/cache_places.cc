#include "coordinator/cache_places.h"

#include <algorithm>
#include <cmath>

#include "coordinator/cache_peers.h"

namespace headrace::coordinator {
namespace {

constexpr double kDeviations = 3;

}  // namespace

void CachePlaces::Add(std::size_t job, const wire::WorkerInfo& worker, double millicores,
                      double most_bytes) {
  const auto [name, is_new] =
      names_.try_emplace(CacheHostOf(worker, entry_bytes_, wide_), hosts_.size());
  if (is_new) hosts_.push_back({0, 0});
  const std::size_t host = name->second;
  hosts_[host].served += millicores;
  served_[job][host] += millicores;
  Place& place = places_[worker.worker];
  place.host = host;
  const double room = std::min(static_cast<double>(worker.cache_bytes), most_bytes);
  if (place.room <= 0 && room > 0) ++workers_[host];
  hosts_[host].room += std::max(0.0, room - place.room);
  place.room = std::max(place.room, room);
  place.jobs.insert(job);
}

std::vector<double> CachePlaces::Served(std::size_t job) const {
  const auto own = served_.find(job);
  if (own == served_.end()) return {};
  std::vector<double> served(hosts_.size(), 0);
  for (const auto& [host, weight] : own->second) served[host] = weight;
  return served;
}

double CachePlaces::BytesOn(WorkerId worker, std::span<const double> by_host) const {
  const auto at = places_.find(worker);
  if (at == places_.end() || at->second.room <= 0) return 0;
  const Place& own = at->second;
  return by_host[own.host] * own.room / hosts_[own.host].room /
         static_cast<double>(own.jobs.size());
}

double CachePlaces::SlackOn(WorkerId worker, std::span<const double> by_host) const {
  const auto at = places_.find(worker);
  const double bytes = BytesOn(worker, by_host);
  if (bytes <= 0 || workers_.at(at->second.host) < 2) return 0;
  const auto jobs = static_cast<double>(at->second.jobs.size());
  return kDeviations * std::sqrt(jobs * bytes * entry_bytes_) / jobs;
}

}  // namespace headrace::coordinator
