#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace headrace::coordinator {

// What the operator says of one of a coordinator's pools.
struct PoolRules {
  static constexpr std::int32_t kNoBound = std::numeric_limits<std::int32_t>::max();
  double core_price = 0;         // of a core for an hour, in any currency; 0: not known
  bool preemptible = false;      // its engine may take workers away for somebody else
  std::int32_t most = kNoBound;  // members, without those that leave or are lost
};

// Members of one pool at a moment, without those that leave or are lost.
struct PoolSeen {
  std::int32_t there = 0;     // their workers have registered
  std::int32_t starting = 0;  // started, or due after a pause
  std::int32_t queued = 0;    // the engine has not started them
  bool open = true;           // it may be asked: its last failure is not too recent
  [[nodiscard]] std::int32_t pending() const { return starting + queued; }
};

// Chooses which of several pools gives the next worker, and which gives one back. Pure but for what
// it remembers: (change, what is wanted, members of each pool, now) -> orders. Thread-compatible.
//
// The pools stand in the order of preference. A pool is
//   usable  no reason is known why a worker should not come
//   closed  it has failed a moment ago (PoolSeen::open)
//   held    pre-emptible, and its engine has taken a member away: for kHold, and twice as long each
//           time that it happens again soon after, up to kLongestHold
//   late    it has no room: members are pending, and none has come for `room_within`. They stay in the engine's queue.
//           Where they are given up, it is late for kHold more, and so on as above, until a member comes
// A pending member *counts* unless another pool stands in for it: where its pool is late or held, and
// where it was asked for ahead, to take over from a dearer one that still works.
//
// To grow:  first pools that are not pre-emptible, until on_demand_at_least members are in such. Then the
//           first usable pool with room. Where none has: pending members that did not count, then held
//           pools, then late ones.
// To shrink: the last pool first, pending members before those that are there, down to
//           on_demand_at_least in those that are not pre-emptible.
// To move:  while as many are there as are wanted, and a better division is possible, a quarter is asked
//           for ahead. They count when they come. What is too much then is given back as any surplus.
// With one pool nothing is late, held or moved.
class PoolChoice {
 public:
  static constexpr Duration kHold = std::chrono::minutes(2);
  static constexpr Duration kLongestHold = std::chrono::hours(1);
  static constexpr Duration kForgetAfter = std::chrono::minutes(10);  // after the end of a hold

  struct Options {
    std::vector<PoolRules> pools;  // in the order of preference
    std::int32_t on_demand_at_least = 0;
    Duration room_within = std::chrono::seconds(60);
  };
  // For one pool.
  struct Orders {
    std::int32_t grow = 0;
    std::int32_t ahead = 0;    // how many of these take over from others when they come
    std::int32_t give_up = 0;  // of the queued ones: they are not needed any more
    std::int32_t drain = 0;    // of those that are there
    friend bool operator==(const Orders&, const Orders&) = default;
  };

  // REQUIRES: at least one pool.
  explicit PoolChoice(Options options);

  // The engine of this pool has taken a member away.
  void TakenAway(std::size_t pool, SteadyTime now);
  // To be called before the others with what is seen, each control period.
  void Observe(const std::vector<PoolSeen>& seen, SteadyTime now);

  // Members that count, in all pools together.
  [[nodiscard]] std::int32_t Counted(const std::vector<PoolSeen>& seen) const;
  // What is to be done. change: members more (> 0) or less (< 0) than count now. wanted: what the
  // jobs ask for. Orders of each pool.
  [[nodiscard]] std::vector<Orders> Choose(std::int32_t change, std::int32_t wanted,
                                           const std::vector<PoolSeen>& seen);
  // The pool has not taken on what was ordered: its error came at once.
  void Refused(std::size_t pool, const Orders& orders);
  // The pool that the next worker would come from; the last one if none has room.
  [[nodiscard]] std::size_t Next(const std::vector<PoolSeen>& seen) const;
  // Members that pools of at most this price can have: those that they have, and their room.
  [[nodiscard]] std::int64_t Within(double core_price, const std::vector<PoolSeen>& seen) const;
  // "usable", "closed", "held" or "late".
  [[nodiscard]] std::string_view StateOf(std::size_t pool, const PoolSeen& seen) const;
  // The end of the time for which a pool is held or late; nothing: it is neither, or it is late until a
  // member comes.
  [[nodiscard]] std::optional<SteadyTime> PassedOverUntil(std::size_t pool) const;

 private:
  // A time for which a pool is passed over. It grows where the next one begins soon after.
  struct Pause {
    SteadyTime until = SteadyTime::min();
    Duration length = kHold;
    void Begin(SteadyTime now);
  };
  struct Remembered {
    Pause taken, without_room;
    SteadyTime idle_since{};      // since then nothing has come, and members are pending
    std::int32_t last_there = 0;  // when it was observed last
    std::int32_t last_pending = 0;
    std::int32_t ahead = 0;  // pending members that do not count
    bool held = false, late = false;
    bool stuck = false;  // late by members that are pending
  };
  // Members of one pool, as the orders so far make them.
  struct Count {
    std::int32_t there = 0, queued = 0, pending = 0, ahead = 0;
    Orders orders;
    [[nodiscard]] std::int32_t counted() const { return there + pending - ahead; }
  };
  using Counts = std::vector<Count>;

  [[nodiscard]] bool several() const { return options_.pools.size() > 1; }
  [[nodiscard]] bool Usable(std::size_t pool, const PoolSeen& seen) const;
  [[nodiscard]] std::int32_t Room(std::size_t pool, const Count& count) const;
  [[nodiscard]] std::int32_t OnDemand(const Counts& counts) const;
  // Returns for how many no other pool was found than those that are late or held.
  std::int32_t Grow(std::int32_t need, const std::vector<PoolSeen>& seen, Counts& counts) const;
  void Shrink(std::int32_t spare, Counts& counts) const;
  void Move(std::int32_t wanted, const std::vector<PoolSeen>& seen, Counts& counts) const;
  void GiveUpUseless(std::int32_t wanted, std::int32_t unmet, Counts& counts) const;
  [[nodiscard]] Counts CountsOf(const std::vector<PoolSeen>& seen) const;

  Options options_;
  std::vector<Remembered> pools_;
};

}  // namespace headrace::coordinator
