#include "ops/core/python_generator.h"

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

// That its numbers are CPython's: tests/python/ops/test_python_generator.py.
namespace headrace::ops {
namespace {

TEST(PythonGenerator, StandsWhereCountingSays) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t of = random() >> (random() % 64);
    PythonGenerator drawn(of);
    std::vector<std::int64_t> order(20);
    for (std::uint64_t i = random() % 400; i > 0; --i) {
      (void)drawn.Below(1 + static_cast<std::uint32_t>(random() % 1000));
      (void)drawn.Uniform(-3, 5);
      drawn.Shuffle(order);
    }
    PythonGenerator counted = PythonGenerator::At(of, drawn.draws());
    EXPECT_EQ(counted.State(), drawn.State());
    EXPECT_TRUE(counted.resumable());
    EXPECT_EQ(counted.Random(), drawn.Random());
  }
}

TEST(PythonGenerator, GoesOnFromAStateAndNoLongerCounts) {
  PythonGenerator from(7);
  from.Discard(1000);
  PythonGenerator to(9);
  ASSERT_TRUE(to.SetState(from.State()).ok());
  EXPECT_FALSE(to.resumable());
  EXPECT_EQ(to.draws(), 0U);
  EXPECT_EQ(to.State(), from.State());
  EXPECT_EQ(to.Random(), from.Random());
}

TEST(PythonGenerator, WhatIsNoStateIsRefused) {
  PythonGenerator generator(7);
  const Bytes before = generator.State();
  for (const std::size_t size : {std::size_t{0}, before.size() - 1, before.size() + 1}) {
    EXPECT_EQ(generator.SetState(Bytes(size)).code(), Code::kInvalidArgument);
  }
  Bytes odd = before;
  odd[static_cast<std::size_t>(Mt19937::kWords) * 4 + 1] = std::byte{4};  // a place over 624
  EXPECT_EQ(generator.SetState(odd).code(), Code::kInvalidArgument);
  EXPECT_EQ(generator.State(), before);
}

TEST(PythonGenerator, ChoosesWithinTheWeights) {
  PythonGenerator generator(3);
  const std::vector<double> cumulative{0, 1, 1, 3};
  std::vector<int> chosen(4);
  for (int i = 0; i < 1000; ++i) ++chosen[generator.Choose(cumulative)];
  EXPECT_EQ(chosen[0] + chosen[2], 0) << "they weigh nothing";
  EXPECT_GT(chosen[1], 200);
  EXPECT_GT(chosen[3], 500);
}

}  // namespace
}  // namespace headrace::ops
