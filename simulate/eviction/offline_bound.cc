#include "simulate/eviction/offline_bound.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>

namespace headrace::simulate {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kTiny = 1e-9;

// A network whose nodes are requests. Costs are negative savings, a byte.
class Network {
 public:
  explicit Network(std::size_t nodes) : from_(nodes) {}
  void Add(std::size_t from, std::size_t to, double bytes, double cost) {
    from_[from].push_back(arcs_.size());
    arcs_.push_back({to, bytes, cost});
    from_[to].push_back(arcs_.size());
    arcs_.push_back({from, 0, -cost});
  }
  // Least cost of `bytes` from the first node to the last. REQUIRES: arcs go to later nodes; the
  // nodes in their order are joined by arcs of that many bytes.
  double Send(double bytes) {
    FirstPotentials();
    double cost = 0;
    while (bytes > kTiny && FindPath()) {
      const double a_byte = potential_.back() - potential_.front();
      if (a_byte >= 0) break;  // the rest lies idle
      double some = bytes;
      for (std::size_t node = from_.size() - 1; node != 0; node = arcs_[by_[node] ^ 1U].to) {
        some = std::min(some, arcs_[by_[node]].bytes);
      }
      for (std::size_t node = from_.size() - 1; node != 0; node = arcs_[by_[node] ^ 1U].to) {
        arcs_[by_[node]].bytes -= some;
        arcs_[by_[node] ^ 1U].bytes += some;
      }
      bytes -= some;
      cost += some * a_byte;
    }
    return cost;
  }

 private:
  struct Arc {
    std::size_t to;
    double bytes, cost;
  };
  void FirstPotentials() {
    potential_.assign(from_.size(), kNever);
    potential_[0] = 0;
    for (std::size_t node = 0; node < from_.size(); ++node) {
      for (const std::size_t arc : from_[node]) {
        if (arcs_[arc].bytes <= kTiny) continue;
        potential_[arcs_[arc].to] =
            std::min(potential_[arcs_[arc].to], potential_[node] + arcs_[arc].cost);
      }
    }
  }
  // Dijkstra on costs that the potentials make non-negative; then updates these.
  bool FindPath() {
    std::vector<double> far(from_.size(), kNever);
    by_.assign(from_.size(), 0);
    using Reached = std::pair<double, std::size_t>;
    std::priority_queue<Reached, std::vector<Reached>, std::greater<>> next;
    far[0] = 0;
    next.emplace(0, 0);
    while (!next.empty()) {
      const auto [at, node] = next.top();
      next.pop();
      if (at > far[node]) continue;
      for (const std::size_t index : from_[node]) {
        const Arc& arc = arcs_[index];
        if (arc.bytes <= kTiny) continue;
        const double reduced = std::max(0.0, arc.cost + potential_[node] - potential_[arc.to]);
        if (at + reduced >= far[arc.to]) continue;
        far[arc.to] = at + reduced;
        by_[arc.to] = index;
        next.emplace(far[arc.to], arc.to);
      }
    }
    if (far.back() == kNever) return false;
    for (std::size_t node = 0; node < from_.size(); ++node) {
      potential_[node] += std::min(far[node], far.back());
    }
    return true;
  }

  std::vector<std::vector<std::size_t>> from_;
  std::vector<Arc> arcs_;  // each is followed by the one that gives its bytes back
  std::vector<double> potential_;
  std::vector<std::size_t> by_;  // the arc that leads to a node
};

}  // namespace

double OfflineBound(std::span<const eviction::Item> objects, std::span<const std::size_t> asked,
                    std::uint64_t capacity) {
  if (asked.empty()) return 0;
  // Bytes in units in which sums of costs and of bytes are of one size.
  constexpr double kUnit = 1e6;
  const double room = static_cast<double>(capacity) / kUnit;
  Network network(asked.size());
  std::unordered_map<std::size_t, std::size_t> last;
  double all = 0;
  for (std::size_t at = 0; at < asked.size(); ++at) {
    const eviction::Item& object = objects[asked[at]];
    all += object.cost_s;
    if (at > 0) network.Add(at - 1, at, room, 0);
    const auto [before, is_new] = last.try_emplace(asked[at], at);
    if (is_new) continue;
    const double bytes = static_cast<double>(object.bytes) / kUnit;
    network.Add(before->second, at, bytes, -object.cost_s / bytes);
    before->second = at;
  }
  return all + network.Send(room);
}

}  // namespace headrace::simulate
