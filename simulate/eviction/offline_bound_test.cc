#include "simulate/eviction/offline_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "eviction/core/model_cache.h"

namespace headrace::simulate {
namespace {

using eviction::Item;

TEST(OfflineBound, WhatFitsIsMadeOnce) {
  const std::vector<Item> objects = {{.id = 0, .bytes = 2'000'000, .cost_s = 3},
                                     {.id = 1, .bytes = 3'000'000, .cost_s = 5}};
  const std::vector<std::size_t> asked = {0, 1, 0, 1, 0};
  EXPECT_NEAR(OfflineBound(objects, asked, 5'000'000), 8, 1e-9);
  EXPECT_NEAR(OfflineBound(objects, asked, 0), 3 * 3 + 2 * 5, 1e-9);
  EXPECT_EQ(OfflineBound(objects, {}, 1), 0);
}

TEST(OfflineBound, TheDearerAByteIsKept) {
  // Room for one: item 1 saves 5 for three, item 0 twice 3 for two.
  const std::vector<Item> objects = {{.id = 0, .bytes = 2'000'000, .cost_s = 3},
                                     {.id = 1, .bytes = 2'000'000, .cost_s = 5}};
  const std::vector<std::size_t> asked = {0, 1, 0, 1, 0};
  EXPECT_NEAR(OfflineBound(objects, asked, 2'000'000), 19 - 6, 1e-9);
}

TEST(OfflineBound, PartsCount) {
  const std::vector<Item> objects = {{.id = 0, .bytes = 4'000'000, .cost_s = 8}};
  const std::vector<std::size_t> asked = {0, 0};
  EXPECT_NEAR(OfflineBound(objects, asked, 1'000'000), 16 - 2, 1e-9);
}

// The best of all choices of what to keep from one request to the next, tried one by one. Objects of one
// size make the best choice whole.
double Tried(const std::vector<Item>& objects, const std::vector<std::size_t>& asked, int places) {
  struct Interval {
    std::size_t from, to;
    double saves;
  };
  std::vector<Interval> intervals;
  double all = 0, best = 0;
  for (std::size_t at = 0; at < asked.size(); ++at) {
    all += objects[asked[at]].cost_s;
    for (std::size_t before = at; before-- > 0;) {
      if (asked[before] != asked[at]) continue;
      intervals.push_back({before, at, objects[asked[at]].cost_s});
      break;
    }
  }
  for (std::uint32_t kept = 0; kept < (1U << intervals.size()); ++kept) {
    std::vector<int> used(asked.size(), 0);
    double saved = 0;
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      if ((kept >> i & 1U) == 0) continue;
      saved += intervals[i].saves;
      for (std::size_t at = intervals[i].from; at < intervals[i].to; ++at) ++used[at];
    }
    if (*std::max_element(used.begin(), used.end()) <= places) best = std::max(best, saved);
  }
  return all - best;
}

TEST(OfflineBound, IsTheBestOfAllChoicesAndBelowEveryOrder) {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<Item> objects;
    for (std::uint64_t i = 0; i < 5; ++i) {
      objects.push_back({.id = i,
                         .bytes = 1'000'000,
                         .cost_s = static_cast<double>(1 + random() % 9),
                         .data_set = i});
    }
    std::vector<std::size_t> asked;
    for (int i = 0; i < 14; ++i) asked.push_back(random() % 5);
    const int places = 1 + static_cast<int>(random() % 3);
    const auto capacity = static_cast<std::uint64_t>(places) * 1'000'000;
    const double bound = OfflineBound(objects, asked, capacity);
    EXPECT_NEAR(bound, Tried(objects, asked, places), 1e-6);
    for (const auto* order : eviction::BuiltinOrders().All()) {
      eviction::ModelCache cache(capacity, order->make(capacity));
      double cost = 0, now_s = 0;
      for (const std::size_t each : asked) {
        if (!cache.Ask(objects[each], ++now_s)) cost += objects[each].cost_s;
      }
      EXPECT_GE(cost, bound - 1e-6) << order->name;
    }
  }
}

}  // namespace
}  // namespace headrace::simulate
