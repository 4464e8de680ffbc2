#include "trainer_client/session/session_load.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "trainer_client/session/batch_result.h"

namespace headrace::client {
namespace {

std::map<std::string, std::uint64_t> Numbers(const wire::SessionLoad& load) {
  std::map<std::string, std::uint64_t> numbers;
  wire::SessionLoad::EachMetric([&](const Metric& metric, auto member) {
    numbers[std::string(metric.name)] = static_cast<std::uint64_t>(load.*member);
  });
  return numbers;
}

TEST(SessionLoad, HasTheSumOfAllThatWorkersTellOfBatches) {
  wire::BatchCost cost;
  std::map<std::string, std::uint64_t> expected;
  wire::BatchCost::EachMetric([&](const Metric& metric, auto member) {
    cost.*member = static_cast<std::uint32_t>(100 + expected.size());
    expected[std::string(metric.name)] = 3 * (cost.*member);
  });
  cost.compute_ns = 1000 + cost.python_ns;  // it contains python_ns, and the sum does not
  expected["compute_ns"] = 3 * 1000;
  SessionStats stats;
  for (int i = 0; i < 3; ++i) AddCost(cost, 10, stats);
  const auto numbers = Numbers(LoadOf(SessionId(1), stats, {}));
  for (const auto& [name, value] : expected) EXPECT_EQ(numbers.at(name), value) << name;
}

TEST(SessionLoad, HasAllThatTheClientCounts) {
  SessionStats stats;
  std::map<std::string, std::uint64_t> expected{
      {"outstanding_bytes", 7}, {"ready_batches", 3}, {"window_batches", 8}};
  SessionStats::EachMetric([&](const Metric& metric, auto member) {
    stats.*member = 100 + expected.size();
    expected[std::string(metric.name)] = stats.*member;
  });
  stats.idle_known = true;
  const wire::SessionLoad load = LoadOf(SessionId(1), stats, {7, 3, 8});
  EXPECT_EQ(Numbers(load), expected);
  EXPECT_TRUE(load.idle_known);
}

TEST(SessionLoad, WhatIsStillToComeFallsWithWhatCame) {
  SessionStats stats;
  EXPECT_EQ(LoadOf(SessionId(1), stats, {}).remaining_samples, -1) << "not known";
  stats.samples = 40;
  stats.expected_samples = 100;
  EXPECT_EQ(LoadOf(SessionId(1), stats, {}).remaining_samples, 60);
  stats.samples = 120;
  EXPECT_EQ(LoadOf(SessionId(1), stats, {}).remaining_samples, 0);
}

}  // namespace
}  // namespace headrace::client
