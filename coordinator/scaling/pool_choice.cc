#include "coordinator/scaling/pool_choice.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace headrace::coordinator {

PoolChoice::PoolChoice(Options options)
    : options_(std::move(options)), pools_(options_.pools.size()) {
  HR_CHECK(!pools_.empty());
}

void PoolChoice::TakenAway(std::size_t pool, SteadyTime now) {
  pools_[pool].taken.Begin(now);
  pools_[pool].held = several();
}

void PoolChoice::Pause::Begin(SteadyTime now) {
  if (now < until) return;  // the same wave
  const bool soon = until != SteadyTime::min() && now - until < std::max(length, kForgetAfter);
  length = soon ? std::min(length * 2, kLongestHold) : kHold;
  until = now + length;
}

void PoolChoice::Observe(const std::vector<PoolSeen>& seen, SteadyTime now) {
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    Remembered& own = pools_[i];
    const std::int32_t pending = seen[i].pending();
    const bool came = seen[i].there > own.last_there;
    if (came) own.without_room = {};
    if (own.stuck && pending == 0 && !came) own.without_room.Begin(now);
    if (own.last_pending == 0 || came) own.idle_since = now;
    own.last_there = seen[i].there;
    own.last_pending = pending;
    own.held = several() && now < own.taken.until;
    own.stuck = several() && pending > 0 && now - own.idle_since >= options_.room_within;
    own.late = own.stuck || now < own.without_room.until;
    own.ahead = own.held || own.late ? pending : std::min(own.ahead, pending);
  }
}

std::int32_t PoolChoice::Counted(const std::vector<PoolSeen>& seen) const {
  std::int32_t sum = 0;
  for (const Count& count : CountsOf(seen)) sum += count.counted();
  return sum;
}

std::vector<PoolChoice::Orders> PoolChoice::Choose(std::int32_t change, std::int32_t wanted,
                                                   const std::vector<PoolSeen>& seen) {
  Counts counts = CountsOf(seen);
  std::int32_t unmet = 0;
  if (change > 0) {
    unmet = Grow(change, seen, counts);
  } else if (change < 0) {
    Shrink(-change, counts);
  } else if (several()) {
    Move(wanted, seen, counts);
  }
  if (several()) GiveUpUseless(wanted, unmet, counts);
  std::vector<Orders> orders;
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    pools_[i].ahead = counts[i].ahead;
    orders.push_back(counts[i].orders);
  }
  return orders;
}

std::int32_t PoolChoice::Grow(std::int32_t need, const std::vector<PoolSeen>& seen,
                              Counts& counts) const {
  std::int32_t size = need;
  for (const Count& count : counts) size += count.counted();
  const auto grow = [&](std::size_t i, std::int32_t most) {
    const std::int32_t more = std::max(0, std::min({need, most, Room(i, counts[i])}));
    counts[i].orders.grow += more;
    counts[i].pending += more;
    need -= more;
  };
  const auto each = [&](auto&& what) {
    for (std::size_t i = 0; i < counts.size() && need > 0; ++i) what(i);
  };
  each([&](std::size_t i) {
    if (options_.pools[i].preemptible || !Usable(i, seen[i])) return;
    grow(i, std::min(options_.on_demand_at_least, size) - OnDemand(counts));
  });
  each([&](std::size_t i) {
    if (Usable(i, seen[i])) grow(i, need);
  });
  const std::int32_t unmet = need;
  each([&](std::size_t i) {
    const std::int32_t taken = std::min(need, counts[i].ahead);
    counts[i].ahead -= taken;
    need -= taken;
  });
  each([&](std::size_t i) {
    if (seen[i].open && !pools_[i].late) grow(i, need);
  });
  each([&](std::size_t i) {
    if (seen[i].open) grow(i, need);
  });
  return unmet;
}

void PoolChoice::Shrink(std::int32_t spare, Counts& counts) const {
  std::int32_t size = -spare;
  for (const Count& count : counts) size += count.counted();
  for (std::size_t i = counts.size(); i-- > 0 && spare > 0;) {
    Count& count = counts[i];
    std::int32_t may = spare;
    if (!options_.pools[i].preemptible) {
      may = std::min(may, OnDemand(counts) - std::min(options_.on_demand_at_least, size));
    }
    const std::int32_t unborn =
        std::clamp(std::min(may, count.pending - count.ahead), 0, count.queued);
    count.orders.give_up += unborn;
    count.queued -= unborn;
    count.pending -= unborn;
    const std::int32_t drained = std::clamp(may - unborn, 0, count.there);
    count.orders.drain += drained;
    count.there -= drained;
    spare -= unborn + drained;
  }
}

void PoolChoice::Move(std::int32_t wanted, const std::vector<PoolSeen>& seen,
                      Counts& counts) const {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sum += counts[i].counted();
    if (Usable(i, seen[i]) && counts[i].ahead > 0) return;  // one move after the other
  }
  if (sum > wanted) return;  // the surplus of the last one
  // The division that would be chosen if nobody were there yet.
  std::vector<std::int32_t> best(counts.size(), 0);
  std::int32_t need = wanted;
  const auto fill = [&](std::size_t i, std::int32_t most) {
    const std::int32_t can =
        Usable(i, seen[i]) ? options_.pools[i].most : std::max(counts[i].counted(), 0);
    const std::int32_t more = std::max(0, std::min({need, most, can - best[i]}));
    best[i] += more;
    need -= more;
  };
  std::int32_t reserve = std::min(options_.on_demand_at_least, wanted);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (options_.pools[i].preemptible) continue;
    fill(i, reserve);
    reserve -= best[i];
  }
  for (std::size_t i = 0; i < counts.size(); ++i) fill(i, need);
  std::int32_t batch = std::max(1, wanted / 4);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    Count& count = counts[i];
    const std::int32_t more =
        std::min({batch, best[i] - count.there - count.pending, Room(i, count)});
    if (more <= 0) continue;
    count.orders.grow += more;
    count.orders.ahead += more;
    count.pending += more;
    count.ahead += more;
    batch -= more;
  }
}

// Pending members that do not count are there to take over from others: from those of later pools,
// or to be what shall not be pre-emptible. Several pools may wait for the same: one of them has room first.
// So it is where no pool has room.
void PoolChoice::GiveUpUseless(std::int32_t wanted, std::int32_t unmet, Counts& counts) const {
  const std::int32_t reserve = std::min(options_.on_demand_at_least, wanted);
  const std::int32_t lacking = std::max(0, reserve - OnDemand(counts));
  std::int32_t reserved = reserve;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    Count& count = counts[i];
    const bool on_demand = !options_.pools[i].preemptible;
    if (on_demand) reserved = std::max(0, reserved - count.counted());
    std::int32_t later = 0, later_on_demand = 0;
    for (std::size_t j = i + 1; j < counts.size(); ++j) {
      later += counts[j].counted();
      if (!options_.pools[j].preemptible) later_on_demand += counts[j].counted();
    }
    if (!on_demand) later -= std::min(reserved, later_on_demand);  // those stay
    const std::int32_t useful = later + unmet + (on_demand ? lacking : 0);
    const std::int32_t useless = std::clamp(count.ahead - useful, 0, count.queued);
    count.orders.give_up += useless;
    count.queued -= useless;
    count.pending -= useless;
    count.ahead -= useless;
  }
}

void PoolChoice::Refused(std::size_t pool, const Orders& orders) {
  pools_[pool].ahead -= orders.ahead;
}

std::size_t PoolChoice::Next(const std::vector<PoolSeen>& seen) const {
  Counts counts = CountsOf(seen);
  (void)Grow(1, seen, counts);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i].orders.grow > 0) return i;
  }
  return counts.size() - 1;
}

std::int64_t PoolChoice::Within(double core_price, const std::vector<PoolSeen>& seen) const {
  std::int64_t sum = 0;
  const Counts counts = CountsOf(seen);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (options_.pools[i].core_price > core_price) continue;
    sum += Usable(i, seen[i]) ? std::max(options_.pools[i].most, counts[i].counted())
                              : counts[i].counted();
  }
  return sum;
}

std::string_view PoolChoice::StateOf(std::size_t pool, const PoolSeen& seen) const {
  if (!seen.open) return "closed";
  if (pools_[pool].held) return "held";
  return pools_[pool].late ? "late" : "usable";
}

std::optional<SteadyTime> PoolChoice::PassedOverUntil(std::size_t pool) const {
  const Remembered& own = pools_[pool];
  if (own.held) return own.taken.until;
  if (own.late && !own.stuck) return own.without_room.until;
  return std::nullopt;
}

bool PoolChoice::Usable(std::size_t pool, const PoolSeen& seen) const {
  return seen.open && !pools_[pool].held && !pools_[pool].late;
}

std::int32_t PoolChoice::Room(std::size_t pool, const Count& count) const {
  return options_.pools[pool].most - count.there - count.pending;
}

std::int32_t PoolChoice::OnDemand(const Counts& counts) const {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (!options_.pools[i].preemptible) sum += counts[i].counted();
  }
  return sum;
}

PoolChoice::Counts PoolChoice::CountsOf(const std::vector<PoolSeen>& seen) const {
  Counts counts;
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    counts.push_back({.there = seen[i].there,
                      .queued = seen[i].queued,
                      .pending = seen[i].pending(),
                      .ahead = std::min(pools_[i].ahead, seen[i].pending()),
                      .orders = {}});
  }
  return counts;
}

}  // namespace headrace::coordinator
