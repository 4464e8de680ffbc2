#include "coordinator/estimate/hit_share.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace headrace::coordinator {
namespace {

double MostOn(const CacheHost& host, double total) {
  return host.served > 0 ? std::clamp(host.room, 0.0, std::max(0.0, total)) : 0;
}

// Hosts that take anything, those first that are full first.
std::vector<std::size_t> FullFirst(double total, std::span<const CacheHost> hosts) {
  std::vector<std::size_t> order;
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    if (MostOn(hosts[h], total) > 0) order.push_back(h);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return MostOn(hosts[a], total) * hosts[b].served < MostOn(hosts[b], total) * hosts[a].served;
  });
  return order;
}

}  // namespace

double HostsHit(std::span<const double> cached, std::span<const double> served, double total) {
  HR_CHECK(cached.size() == served.size());
  const double all = std::accumulate(served.begin(), served.end(), 0.0);
  if (all <= 0) return 0;
  double hit = 0;
  for (std::size_t h = 0; h < cached.size(); ++h) {
    hit += served[h] / all * UniformHit(cached[h], total);
  }
  return hit;
}

std::vector<double> DivideOverHosts(double quota, double total, std::span<const CacheHost> hosts) {
  std::vector<double> bytes(hosts.size(), 0);
  const std::vector<std::size_t> order = FullFirst(total, hosts);
  double served = 0;
  for (const std::size_t h : order) served += hosts[h].served;
  double left = std::min(std::max(0.0, quota), UsefulBytes(total, hosts));
  for (const std::size_t h : order) {
    bytes[h] = std::min(MostOn(hosts[h], total), left * hosts[h].served / served);
    left -= bytes[h];
    served -= hosts[h].served;
    if (served <= 0) break;  // the last one; or a rounding error is left
  }
  return bytes;
}

double UsefulBytes(double total, std::span<const CacheHost> hosts) {
  if (hosts.empty()) return std::max(0.0, total);
  double bytes = 0;
  for (const CacheHost& host : hosts) bytes += MostOn(host, total);
  return bytes;
}

double HitShare(double quota, double total, std::span<const CacheHost> hosts) {
  if (hosts.empty()) return UniformHit(quota, total);
  if (hosts.size() == 1) return UniformHit(std::min(quota, MostOn(hosts[0], total)), total);
  std::vector<double> served;
  for (const CacheHost& host : hosts) served.push_back(host.served);
  return HostsHit(DivideOverHosts(quota, total, hosts), served, total);
}

std::vector<HitPiece> HitPieces(double total, std::span<const CacheHost> hosts) {
  if (total <= 0) return {};
  if (hosts.empty()) return {{total, 1}};
  double all = 0;
  for (const CacheHost& host : hosts) all += host.served;
  const std::vector<std::size_t> order = FullFirst(total, hosts);
  // Sums over the hosts that still fill.
  double served = 0, squares = 0;
  for (const std::size_t h : order) {
    served += hosts[h].served;
    squares += hosts[h].served * hosts[h].served;
  }
  std::vector<HitPiece> pieces;
  double level = 0;  // bytes for each unit of `served` so far
  for (const std::size_t h : order) {
    const double full = MostOn(hosts[h], total) / hosts[h].served;
    if (full > level && served > 0) {
      const double gain = squares / served / all;
      pieces.push_back(
          {served * (full - level), pieces.empty() ? gain : std::min(gain, pieces.back().gain)});
      level = full;
    }
    served -= hosts[h].served;
    squares -= hosts[h].served * hosts[h].served;
  }
  return pieces;
}

}  // namespace headrace::coordinator
