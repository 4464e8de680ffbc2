#include "coordinator/scaling/pool_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/scaling/pool_size.h"

namespace headrace::coordinator {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;

// Engines of several pools, played: so many members fit into each.
struct PlayedEngine {
  std::int32_t room = 1000;
  bool refuses = false;  // at once, and closed for 10 s
  std::int32_t there = 0, starting = 0, queued = 0;
  SteadyTime closed_until = SteadyTime::min();
};

// A control loop of a second over the real PoolSizer, with members of one core.
class PoolChoiceTest : public testing::Test {
 protected:
  void Begin(std::vector<PoolRules> pools, std::int32_t on_demand = 0) {
    rules_ = pools;
    on_demand_ = on_demand;
    engines_.assign(pools.size(), {});
    choice_.emplace(PoolChoice::Options{
        .pools = std::move(pools), .on_demand_at_least = on_demand, .room_within = seconds(60)});
  }
  [[nodiscard]] std::vector<PoolSeen> Seen() const {
    std::vector<PoolSeen> seen;
    for (const PlayedEngine& each : engines_) {
      seen.push_back({.there = each.there,
                      .starting = each.starting,
                      .queued = each.queued,
                      .open = now_ >= each.closed_until});
    }
    return seen;
  }
  // What was asked for a second ago starts, and what started then is there.
  void Engines() {
    for (PlayedEngine& each : engines_) {
      each.there += std::exchange(each.starting, 0);
      const std::int32_t starts = std::clamp(each.room - each.there, 0, each.queued);
      each.queued -= starts;
      each.starting += starts;
    }
  }
  void Second(std::int32_t wanted) {
    now_ += seconds(1);
    Engines();
    choice_->Observe(Seen(), now_);
    const std::int32_t before = choice_->Counted(Seen());
    std::int32_t change =
        sizer_.Observe({.demand_cores = 1.0 * wanted, .member_cores = 1, .members = before}, now_);
    last_.assign(engines_.size(), {});
    for (std::size_t tries = 0; tries <= engines_.size(); ++tries) {
      const auto orders = choice_->Choose(change, sizer_.wanted(), Seen());
      std::int32_t unmet = 0;
      for (std::size_t i = 0; i < engines_.size(); ++i) unmet += Obey(i, orders[i]);
      if (change <= 0 || unmet == 0) break;
      change = unmet;
    }
    CheckAfter(before, change);
  }
  std::int32_t Obey(std::size_t i, const PoolChoice::Orders& orders) {
    PlayedEngine& engine = engines_[i];
    EXPECT_LE(orders.give_up, engine.queued);
    EXPECT_LE(orders.drain, engine.there);
    engine.queued -= orders.give_up;
    engine.there -= orders.drain;
    given_up_ += orders.give_up;
    drained_ += orders.drain;
    orders_ += orders.grow + orders.give_up + orders.drain;
    last_[i].drain += orders.drain;
    if (orders.grow == 0) return 0;
    if (engine.refuses) {
      engine.closed_until = now_ + seconds(10);
      choice_->Refused(i, orders);
      return orders.grow;
    }
    last_[i].grow += orders.grow;
    engine.queued += orders.grow;
    return 0;
  }
  // What holds at each moment.
  void CheckAfter(std::int32_t before, std::int32_t change) {
    bool full = true;
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      const PlayedEngine& each = engines_[i];
      const std::int32_t members = each.there + each.starting + each.queued;
      EXPECT_LE(members, rules_[i].most) << "pool " << i;
      EXPECT_FALSE(last_[i].grow > 0 && last_[i].drain > 0) << "pool " << i;
      full = full && (now_ < each.closed_until || members == rules_[i].most);
    }
    const std::int32_t counted = choice_->Counted(Seen());
    if (change >= 0) {
      EXPECT_GE(counted, before);
    }
    EXPECT_TRUE(full || counted >= sizer_.wanted()) << counted << " of " << sizer_.wanted();
  }
  void Seconds(int count, std::int32_t wanted) {
    for (; count > 0 && !HasFailure(); --count) Second(wanted);
  }
  void TakeAway(std::size_t i, std::int32_t count) {
    count = std::min(count, engines_[i].there);
    engines_[i].there -= count;
    for (; count > 0; --count) choice_->TakenAway(i, now_);
  }
  [[nodiscard]] std::vector<std::int32_t> There() const {
    std::vector<std::int32_t> there;
    for (const PlayedEngine& each : engines_) there.push_back(each.there);
    return there;
  }
  [[nodiscard]] std::string StateOf(std::size_t i) const {
    return std::string(choice_->StateOf(i, Seen()[i]));
  }

  SteadyTime now_{std::chrono::hours(1)};
  std::vector<PoolRules> rules_;
  std::int32_t on_demand_ = 0;
  std::vector<PlayedEngine> engines_;
  std::optional<PoolChoice> choice_;
  PoolSizer sizer_{{0, 40, seconds(60)}};
  std::vector<PoolChoice::Orders> last_;
  std::int64_t orders_ = 0, drained_ = 0, given_up_ = 0;
};

const PoolRules kSpot{.core_price = 0.01, .preemptible = true};
const PoolRules kNormal{.core_price = 0.04};

TEST_F(PoolChoiceTest, TheFirstPoolComesFirstUpToItsQuota) {
  Begin({{.core_price = 0.01, .preemptible = true, .most = 3}, kNormal});
  Seconds(5, 2);
  EXPECT_THAT(There(), ElementsAre(2, 0));
  Seconds(5, 7);
  EXPECT_THAT(There(), ElementsAre(3, 4));
}

TEST_F(PoolChoiceTest, APartThatShallNotBePreemptibleIsNot) {
  Begin({kSpot, kNormal}, 2);
  Seconds(5, 1);
  EXPECT_THAT(There(), ElementsAre(0, 1)) << "of one that is wanted, it is that one";
  Seconds(5, 6);
  EXPECT_THAT(There(), ElementsAre(4, 2));
  Seconds(70, 3);
  EXPECT_THAT(There(), ElementsAre(1, 2)) << "also where some are given back";
}

TEST_F(PoolChoiceTest, TheDearestIsGivenBackFirst) {
  Begin({{.core_price = 0.01, .preemptible = true, .most = 3}, kNormal});
  Seconds(5, 7);
  Seconds(70, 4);
  EXPECT_THAT(There(), ElementsAre(3, 1));
  Seconds(70, 2);
  EXPECT_THAT(There(), ElementsAre(2, 0));
}

// The replacement is asked of the next pool in the control period of the notice. After the hold the first
// pool has it again, and no worker leaves before its successor is there.
TEST_F(PoolChoiceTest, WhatIsTakenAwayComesFromTheNextPoolAndGoesBackLater) {
  Begin({kSpot, kNormal});
  Seconds(5, 4);
  TakeAway(0, 3);
  EXPECT_EQ(StateOf(0), "held");
  Second(4);
  EXPECT_EQ(last_[0].grow, 0);
  EXPECT_EQ(last_[1].grow, 3);
  Seconds(110, 4);
  EXPECT_THAT(There(), ElementsAre(1, 3)) << "held";
  for (int i = 0; i < 300; ++i) {
    Second(4);
    EXPECT_GE(There()[0] + There()[1], 4);
  }
  EXPECT_THAT(There(), ElementsAre(4, 0));
}

TEST_F(PoolChoiceTest, APoolThatTakesAwayAgainAndAgainIsHeldLonger) {
  Begin({kSpot, kNormal});
  std::vector<std::int64_t> held;  // minutes
  for (int i = 0; i < 8; ++i) {
    choice_->TakenAway(0, now_);
    const SteadyTime begun = now_;
    while (StateOf(0) == "held" && now_ < begun + minutes(100)) Second(2);
    held.push_back((now_ - begun) / minutes(1));
    Seconds(60, 2);
  }
  EXPECT_THAT(held, ElementsAre(2, 4, 8, 16, 32, 60, 60, 60));
  Seconds(2 * 3600, 2);
  choice_->TakenAway(0, now_);
  Seconds(121, 2);
  EXPECT_EQ(StateOf(0), "usable") << "and is forgiven";
}

TEST_F(PoolChoiceTest, APoolThatRefusesIsPassedOverAtOnce) {
  Begin({kSpot, kNormal});
  engines_[0].refuses = true;
  Second(4);
  EXPECT_EQ(StateOf(0), "closed");
  EXPECT_EQ(last_[1].grow, 4);
}

// They stay in its queue, so that they come as soon as there is room. Then the dear ones go.
TEST_F(PoolChoiceTest, APoolWithoutRoomIsPassedOverUntilItHasSome) {
  Begin({kSpot, kNormal});
  engines_[0].room = 1;
  Seconds(50, 4);
  EXPECT_THAT(There(), ElementsAre(1, 0)) << "the engine may still be starting them";
  Seconds(20, 4);
  EXPECT_EQ(StateOf(0), "late");
  EXPECT_THAT(There(), ElementsAre(1, 3));
  EXPECT_EQ(engines_[0].queued, 3);
  Seconds(5, 6);
  EXPECT_THAT(There(), ElementsAre(1, 5)) << "what is new is not asked of it";
  engines_[0].room = 1000;
  Seconds(200, 6);
  EXPECT_THAT(There(), ElementsAre(6, 0));
}

TEST_F(PoolChoiceTest, WhatWaitsForRoomIsGivenUpWhenItIsNotWanted) {
  Begin({kSpot, kNormal});
  engines_[0].room = 1;
  Seconds(70, 4);
  Seconds(70, 2);
  EXPECT_THAT(There(), ElementsAre(1, 1));
  EXPECT_EQ(engines_[0].queued, 1) << "it may take over";
  Seconds(70, 0);
  EXPECT_THAT(There(), ElementsAre(0, 0));
  EXPECT_EQ(engines_[0].queued, 0);
}

TEST_F(PoolChoiceTest, WhereNoOtherPoolHasRoomTheHeldOneIsAskedAndTheLateOneWaitedFor) {
  Begin({kSpot, {.core_price = 0.04, .most = 2}});
  choice_->TakenAway(0, now_);
  Seconds(5, 5);
  EXPECT_THAT(There(), ElementsAre(3, 2));
  engines_[0].room = 3;
  Seconds(200, 7);
  EXPECT_THAT(There(), ElementsAre(3, 2));
  EXPECT_EQ(engines_[0].queued, 2);
}

TEST_F(PoolChoiceTest, OnePoolIsNeverHeldOrLate) {
  Begin({kSpot});
  engines_[0].room = 1;
  choice_->TakenAway(0, now_);
  Seconds(500, 4);
  EXPECT_EQ(StateOf(0), "usable");
  EXPECT_EQ(engines_[0].queued, 3);
  EXPECT_EQ(orders_, 4);
}

TEST_F(PoolChoiceTest, MovesAreSmall) {
  Begin({kSpot, kNormal});
  choice_->TakenAway(0, now_);
  Seconds(10, 20);
  EXPECT_THAT(There(), ElementsAre(0, 20));
  for (int i = 0; i < 1000; ++i) {
    Second(20);
    EXPECT_LE(There()[0] + There()[1], 25) << "a quarter at a time";
  }
  EXPECT_THAT(There(), ElementsAre(20, 0));
}

TEST_F(PoolChoiceTest, TheNextWorkersPoolAndWhatAPriceGives) {
  Begin({{.core_price = 0.01, .preemptible = true, .most = 3}, kNormal});
  EXPECT_EQ(choice_->Next(Seen()), 0U);
  EXPECT_EQ(choice_->Within(0.01, Seen()), 3);
  Seconds(5, 3);
  EXPECT_EQ(choice_->Next(Seen()), 1U) << "the first one is full";
  EXPECT_GT(choice_->Within(0.04, Seen()), 1000);
  TakeAway(0, 2);
  EXPECT_EQ(choice_->Within(0.01, Seen()), 1) << "while it is held, what it has";
}

// Random pools, demand and trouble for 20 minutes, with what holds at each moment (CheckAfter). Then nothing happens
// any more: the division becomes the best one, and nobody is asked for anything again.
TEST_F(PoolChoiceTest, WhateverHappensQuotasHoldAndItComesToRest) {
  std::int64_t taken = 0;
  for (unsigned seed = 20261129; seed < 20261129 + 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 rng(seed);
    const auto draw = [&](int below) {
      return static_cast<std::int32_t>(rng() % static_cast<unsigned>(below));
    };
    std::vector<PoolRules> pools;
    for (int i = 1 + draw(4); i > 0; --i) {
      pools.push_back({.core_price = 0.01 * static_cast<double>(pools.size()),
                       .preemptible = draw(2) == 0,
                       .most = draw(3) == 0 ? PoolRules::kNoBound : 1 + draw(30)});
    }
    sizer_ = PoolSizer({0, 40, seconds(60)});
    Begin(pools, draw(3) == 0 ? draw(6) : 0);
    std::int32_t wanted = 0;
    for (int second = 0; second < 1200 && !HasFailure(); ++second) {
      const auto i = static_cast<std::size_t>(draw(static_cast<int>(pools.size())));
      if (draw(40) == 0) wanted = draw(41);
      if (draw(40) == 0) engines_[i].room = draw(3) == 0 ? 1000 : draw(30);
      if (draw(60) == 0) engines_[i].refuses = !engines_[i].refuses;
      if (draw(30) == 0 && pools[i].preemptible) {
        taken += engines_[i].there;
        TakeAway(i, 1 + draw(10));
      }
      Second(wanted);
    }
    for (PlayedEngine& each : engines_) {
      each.refuses = false;
      each.room = std::max(each.room, each.there + each.starting);  // it ends nobody for want of it
    }
    Seconds(3 * 3600, wanted);
    // Filled anew by hand: the part that is not pre-emptible, then the others in their order.
    std::vector<std::int32_t> best(pools.size(), 0);
    std::int32_t need = wanted;
    const auto fill = [&](std::size_t i, std::int32_t most) {
      const std::int32_t can = std::min(pools[i].most, engines_[i].room) - best[i];
      const std::int32_t more = std::max(0, std::min({need, most, can}));
      best[i] += more;
      need -= more;
      return more;
    };
    std::int32_t reserve = std::min(on_demand_, wanted);
    for (std::size_t i = 0; i < pools.size(); ++i) {
      if (!pools[i].preemptible) reserve -= fill(i, reserve);
    }
    for (std::size_t i = 0; i < pools.size(); ++i) fill(i, need);
    EXPECT_EQ(There(), best) << "of " << wanted << ", at least " << on_demand_;
    orders_ = 0;
    Seconds(3600, wanted);
    EXPECT_EQ(orders_, 0) << "it has come to rest";
  }
  EXPECT_GT(taken, 10'000) << "or the test shows little";
}

}  // namespace
}  // namespace headrace::coordinator
