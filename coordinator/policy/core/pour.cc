#include "coordinator/policy/core/pour.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "coordinator/estimate/estimator.h"

namespace headrace::coordinator {
namespace {

class Pouring {
 public:
  Pouring(std::span<const Flow> flows, std::span<const double> limits)
      : flows_(flows), left_(limits.begin(), limits.end()), members_(limits.size()) {
    result_.amounts.assign(flows.size(), 0);
    result_.stopped.assign(flows.size(), -1);
    result_.level = kUnlimited;
    full_at_.reserve(flows.size());
    std::vector<std::uint32_t> order;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const Flow& flow = flows[i];
      const bool takes = flow.most > 0 && flow.weight > 0;
      full_at_.push_back(takes ? flow.most / flow.weight : 0);
      if (takes) order.push_back(static_cast<std::uint32_t>(i));
      if (!takes && flow.most > 0) result_.stopped[i] = Scarcest(flow);
    }
    std::ranges::sort(order, [&](auto a, auto b) { return full_at_[a] < full_at_[b]; });
    for (const std::uint32_t i : order) {
      for (const Flow::Use& use : flows[i].uses) {
        if (use.each > 0 && std::isfinite(left_[Limit(use)])) {
          members_[Limit(use)].push_back({i, use.each});
        }
      }
    }
    flowing_.assign(flows.size(), false);
    for (const std::uint32_t i : order) flowing_[i] = true;
  }

  Poured Run() {
    std::vector<double> levels(left_.size(), kUnlimited);
    std::vector<bool> moved(left_.size(), true);
    for (;;) {
      for (std::size_t l = 0; l < levels.size(); ++l) {
        if (moved[l]) levels[l] = LevelOf(l);
        moved[l] = false;
      }
      const auto least = std::ranges::min_element(levels);
      if (least == levels.end() || std::isinf(*least)) break;
      Stop(static_cast<std::size_t>(least - levels.begin()), *least, moved);
    }
    for (std::size_t i = 0; i < flowing_.size(); ++i) {
      if (flowing_[i]) result_.amounts[i] = flows_[i].most;
    }
    return std::move(result_);
  }

 private:
  struct Member {
    std::uint32_t flow;
    double each;
  };
  // The limit of which there is least for the flow; -1: it uses none.
  [[nodiscard]] std::int32_t Scarcest(const Flow& flow) const {
    std::int32_t scarcest = -1;
    double least = kUnlimited;
    for (const Flow::Use& use : flow.uses) {
      if (use.each <= 0 || left_[Limit(use)] / use.each >= least) continue;
      least = left_[Limit(use)] / use.each;
      scarcest = use.limit;
    }
    return scarcest;
  }
  static std::size_t Limit(const Flow::Use& use) { return static_cast<std::size_t>(use.limit); }

  // The level at which what still flows reaches the limit; kUnlimited: all of it fits.
  double LevelOf(std::size_t limit) {
    std::vector<Member>& members = members_[limit];
    std::erase_if(members, [&](const Member& each) { return !flowing_[each.flow]; });
    // Weights may differ by hundreds of orders of magnitude. Sums from the back lose none of the small
    // ones, which are full last.
    growth_.assign(members.size() + 1, 0);
    for (std::size_t k = members.size(); k-- > 0;) {
      growth_[k] = growth_[k + 1] + flows_[members[k].flow].weight * members[k].each;
    }
    double full = 0;
    for (std::size_t k = 0; k < members.size(); ++k) {
      const std::uint32_t i = members[k].flow;
      if (full + full_at_[i] * growth_[k] > left_[limit]) {
        return std::max(0.0, left_[limit] - full) / growth_[k];
      }
      full += flows_[i].most * members[k].each;
    }
    return kUnlimited;
  }

  // All that uses the limit stops at this level.
  void Stop(std::size_t limit, double level, std::vector<bool>& moved) {
    for (const Member& member : members_[limit]) {
      const Flow& flow = flows_[member.flow];
      flowing_[member.flow] = false;
      double& amount = result_.amounts[member.flow];
      amount = std::min(flow.most, flow.weight * level);
      if (amount < flow.most) result_.stopped[member.flow] = static_cast<std::int32_t>(limit);
      if (amount < flow.most && level > 0) result_.level = std::min(result_.level, level);
      for (const Flow::Use& use : flow.uses) {
        if (use.each <= 0) continue;
        left_[Limit(use)] -= amount * use.each;
        moved[Limit(use)] = true;
      }
    }
  }

  std::span<const Flow> flows_;
  std::vector<double> left_;                  // by limit, of what has stopped
  std::vector<std::vector<Member>> members_;  // by limit: its flows, soonest full first
  std::vector<double> full_at_;               // by flow: the level at which it has all it can take
  std::vector<bool> flowing_;
  std::vector<double> growth_;
  Poured result_;
};

}  // namespace

Poured Pour(std::span<const Flow> flows, std::span<const double> limits) {
  return Pouring(flows, limits).Run();
}

}  // namespace headrace::coordinator
