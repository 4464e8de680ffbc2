#include "ops/core/kept_twister.h"

#include <random>
#include <string>

#include "gtest/gtest.h"
#include "ops/core/python_generator.h"

// That its numbers are CPython's: tests/python/ops/test_python_generator.py.
namespace headrace::ops {
namespace {

TEST(KeptTwister, GaussKeepsOneOfTwoNumbers) {
  PythonGenerator rng(5);
  EXPECT_EQ(rng.Gauss(9, .5), 0x1.0d2376d4f4e0ep+3);
  EXPECT_EQ(rng.draws(), 4U);
  EXPECT_NE(rng.position(), rng.draws());
  EXPECT_EQ(rng.Gauss(9, .5), 0x1.0da122441734ep+3);
  EXPECT_EQ(rng.position(), 4U);
  EXPECT_EQ(rng.Gauss(9, .5), 0x1.2ab625094f9f3p+3);
}

TEST(KeptTwister, APositionIsTheWholeState) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    PythonGenerator drawn(seed);
    for (std::uint64_t i = random() % 50; i > 0; --i) {
      if (random() % 3 == 0) (void)drawn.Gauss(0, 1);
      (void)drawn.Below(1 + static_cast<std::uint32_t>(random() % 1000));
    }
    EXPECT_TRUE(drawn.resumable());
    EXPECT_EQ(PythonGenerator::At(seed, drawn.position()).State(), drawn.State());
  }
}

TEST(KeptTwister, ANumberThatWasKeptForTooLongCannotBeCounted) {
  PythonGenerator rng(5);
  (void)rng.Gauss(0, 1);
  rng.Discard(32766);
  EXPECT_TRUE(rng.resumable());
  EXPECT_EQ(PythonGenerator::At(5, rng.position()).State(), rng.State());
  rng.Discard(1);
  EXPECT_FALSE(rng.resumable());
  (void)rng.Gauss(0, 1);
  EXPECT_TRUE(rng.resumable());
}

TEST(KeptTwister, WhatAnotherGeneratorKeepsIsFoundAmongTheLastDraws) {
  for (const bool before_keeps : {false, true}) {
    for (int draws = 0; draws < 12; ++draws) {
      PythonGenerator before(7);
      if (before_keeps) (void)before.Gauss(0, 1);
      PythonGenerator drawn = before;
      for (int i = 0; i < draws; ++i) {
        if (i % 3 == 1) (void)drawn.Gauss(0, 1);
        if (i % 4 == 1) (void)drawn.Below(100);
      }
      PythonGenerator foreign(1);
      ASSERT_TRUE(foreign.SetState(drawn.State()).ok());
      PythonGenerator counted = before;
      counted.Discard(drawn.draws() - before.draws());
      ASSERT_TRUE(counted.KeepAs(foreign, before)) << before_keeps << " " << draws;
      EXPECT_EQ(counted.State(), drawn.State());
      EXPECT_EQ(counted.position(), drawn.position());
    }
  }
  PythonGenerator before(7), foreign(7), elsewhere(8);
  (void)foreign.Gauss(0, 1);
  EXPECT_FALSE(before.KeepAs(elsewhere, before));
  foreign.Discard(400);  // the number is too far back
  PythonGenerator counted = before;
  counted.Discard(404);
  EXPECT_FALSE(counted.KeepAs(foreign, before));
  EXPECT_EQ(counted.position(), 404U);
}

}  // namespace
}  // namespace headrace::ops
