#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/show.h"
#include "cli/top_screen.h"

namespace headrace::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

wire::ClusterStatus TwoPools() {
  wire::ClusterStatus now;
  wire::PoolStatus spot{.name = "spot", .kind = "slurm", .state = "held", .preemptible = true};
  spot.most = 8;
  spot.running = 2;
  spot.queued = 1;
  spot.starting = 1;
  spot.waiting = 1;
  spot.draining = 1;
  spot.wanted_workers = 5;
  spot.cores = 16;
  spot.core_price = 0.01;
  spot.cost_per_hour = 0.16;
  spot.passed_over_seconds = 110;
  wire::PoolStatus normal{.name = "slurm", .kind = "slurm", .state = "usable"};
  normal.running = 1;
  normal.wanted_workers = 1;
  normal.cores = 8;
  normal.core_price = 0.04;
  normal.cost_per_hour = 0.32;
  now.pools = {spot, normal};
  return now;
}

void Trouble(wire::PoolStatus& pool, bool stands) {
  pool.trouble = Unavailable("sbatch: Invalid partition").WithDetail(Detail::kNoPlace);
  pool.trouble_ms = 12'000;
  pool.trouble_stands = stands;
  pool.what = "there is no such place";
  pool.remedy = "name one that there is";
}

TEST(ShowPools, EachPoolHasALineWithItsPriceAndWhatItCosts) {
  EXPECT_EQ(PoolsTable(TwoPools()),
            "POOL   KIND   PREEMPTIBLE  STATE    READY  STARTING  DRAINING  WANTED  MOST  CORES  "
            "PRICE  COST/H\n"
            "spot   slurm  yes          held 1m      2         3         1       5     8     16   "
            "0.01    0.16\n"
            "slurm  slurm  no           usable       1         0         0       1     -      8   "
            "0.04    0.32\n");
  EXPECT_EQ(PoolsTable({}), "no pools\n") << "of an older coordinator";
  EXPECT_EQ(PoolLines(TwoPools()), "");
}

TEST(ShowPools, ATroubleIsToldWithWhatToDoWhileItStands) {
  wire::ClusterStatus now = TwoPools();
  Trouble(now.pools[1], true);
  EXPECT_EQ(PoolLines(now),
            "pool slurm: there is no such place, 12s ago: sbatch: Invalid partition\n"
            "  name one that there is\n");
  Trouble(now.pools[1], false);
  EXPECT_EQ(PoolLines(now),
            "pool slurm: over: there is no such place, 12s ago: sbatch: Invalid partition\n");
}

TEST(ShowPools, WhatAnEngineSaysStaysInItsLine) {
  wire::ClusterStatus now = TwoPools();
  Trouble(now.pools[0], true);
  now.pools[0].trouble = Unavailable("a\nb\x1b[2J");
  now.pools[0].name = "s\npot";
  const std::string text = PoolLines(now) + PoolsTable(now) + PoolsLine(now);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 + 3 + 1) << text;
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(ShowPools, JsonHasAllOfIt) {
  wire::ClusterStatus now = TwoPools();
  Trouble(now.pools[1], true);
  const auto all = nlohmann::json::parse(PoolsJson(now));
  EXPECT_EQ(all["pools"][0]["passed_over_seconds"], 110);
  EXPECT_EQ(all["pools"][0]["wanted_workers"], 5);
  EXPECT_EQ(all["pools"][0]["trouble"], nlohmann::json());
  EXPECT_EQ(all["pools"][1]["trouble"]["kind"], "no_place");
  EXPECT_EQ(all["pools"][1]["trouble"]["remedy"], "name one that there is");
  EXPECT_EQ(all["pools"][1]["trouble"]["seconds"], 12);
  EXPECT_EQ(all["pools"][1]["trouble"]["stands"], true);
}

TEST(ShowPools, TopHasALineOfThemWhereThereIsRoom) {
  wire::ClusterStatus now = TwoPools();
  Trouble(now.pools[1], true);
  const std::string line =
      "pools: spot 2 ready, 3 starting, held 1m; slurm 1 ready, there is no such place; 0.48 an "
      "hour";
  EXPECT_EQ(PoolsLine(now), line + "\n");
  TopScreen screen;
  EXPECT_THAT(screen.Paint("tcp://head:7070", now, nullptr, {120, 24}), HasSubstr(line));
  EXPECT_THAT(screen.Paint("tcp://head:7070", now, nullptr, {120, 4}), Not(HasSubstr("pools:")));
  EXPECT_THAT(TopPage("tcp://head:7070", now, nullptr), HasSubstr(line));
  now.pools = {{.name = "static", .kind = "static", .state = "usable"}};
  EXPECT_EQ(PoolsLine(now), "") << "nobody starts workers there";
}

}  // namespace
}  // namespace headrace::cli
