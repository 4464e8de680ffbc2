#include "ops/torch/torch_generator.h"

#include <array>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"

// Expected values come from torch 2.13.0 (AVX512); tests/python/ops has more comparisons.
namespace headrace::ops {
namespace {

TEST(TorchGenerator, DrawsWhatTorchDraws) {
  TorchGenerator rng(42);
  EXPECT_EQ(rng.Rand(), 0.8822692632675171F);
  EXPECT_EQ(rng.Rand(), 0.9150039553642273F);
  EXPECT_EQ(rng.Rand(), 0.38286375999450684F);
  EXPECT_EQ(rng.Uniform(0.08F, 1.0F), 0x1.ecd4d2p-1F);
  EXPECT_EQ(rng.Uniform(0.08F, 1.0F), 0x1.c1c0e2p-2F);
  EXPECT_EQ(rng.Uniform(0.08F, 1.0F), 0x1.440178p-1F);
  EXPECT_EQ(rng.RandInt(0, 17), 2);
  EXPECT_EQ(rng.RandInt(-5, std::int64_t{1} << 33), 2851399732);
  EXPECT_EQ(rng.RandInt(-(std::int64_t{1} << 62), std::int64_t{1} << 62), 3612476759744659922);
  std::array<std::int64_t, 6> order;
  rng.RandPerm(order);
  EXPECT_EQ(order, (std::array<std::int64_t, 6>{4, 1, 0, 3, 2, 5}));
  EXPECT_EQ(rng.draws(), 6U + 1 + 2 + 2 + 5);
}

TEST(TorchGenerator, UniformStaysBelowTheUpperBound) {
  constexpr float kLow = 0x1.fffffcp-1F, kHigh = 0x1.000002p+0F;  // with one number between them
  TorchGenerator rng(3);
  for (int i = 0; i < 100; ++i) {
    const float value = rng.Uniform(kLow, kHigh);
    EXPECT_GE(value, kLow);
    EXPECT_LT(value, kHigh);
  }
}

TEST(TorchGenerator, OnlyTheLow32BitsOfTheSeedReachTheEngine) {
  TorchGenerator a(0x1234'56789abc), b(0x56789abc);
  EXPECT_EQ(a.Next(), b.Next());
  EXPECT_EQ(a.seed(), 0x1234'56789abcU);
}

TEST(TorchGenerator, RoundingTwiceDiffersFromOneFusedRounding) {
  int different = 0;
  TorchGenerator a(1), b(1);
  for (int i = 0; i < 1000; ++i) {
    different += a.Uniform(0.08F, 1.0F) != b.Uniform(0.08F, 1.0F, TorchGenerator::Rounding::kTwice);
  }
  EXPECT_GT(different, 0);
  EXPECT_LT(different, 500);
}

TEST(TorchGenerator, DiscardIsNextWithoutLooking) {
  for (const std::uint64_t n : {0, 1, 623, 624, 625, 1248, 5000}) {
    TorchGenerator a(9), b(9);
    for (std::uint64_t i = 0; i < n; ++i) a.Next();
    b.Discard(n);
    EXPECT_EQ(a.draws(), b.draws());
    EXPECT_EQ(a.TorchState(), b.TorchState()) << n;
    EXPECT_EQ(a.Next(), b.Next()) << n;
  }
}

TEST(TorchGenerator, StateOfAThousandDrawsHasTorchsPosition) {
  TorchGenerator rng(7);
  rng.Discard(1000);
  const Bytes state = rng.TorchState();
  ASSERT_EQ(state.size(), TorchGenerator::kTorchStateBytes);
  std::int32_t left = 0;
  std::uint64_t next = 0;
  std::uint64_t word = 0;
  std::memcpy(&left, state.data() + 8, sizeof(left));
  std::memcpy(&next, state.data() + 16, sizeof(next));
  std::memcpy(&word, state.data() + 24, sizeof(word));
  EXPECT_EQ(left, 249);
  EXPECT_EQ(next, 376U);
  EXPECT_EQ(word, 0x86aa7a06U);
}

TEST(TorchGenerator, StateRoundTripContinuesTheStream) {
  for (const std::uint64_t n : {0, 1, 624, 777}) {
    TorchGenerator a(3);
    a.Discard(n);
    TorchGenerator b;
    ASSERT_TRUE(b.SetTorchState(a.TorchState()).ok());
    EXPECT_EQ(a.TorchState(), b.TorchState());
    EXPECT_FALSE(b.resumable());
    EXPECT_EQ(a.Next(), b.Next());
  }
}

TEST(TorchGenerator, DirichletIsTorchs) {
  TorchGenerator rng(5);
  std::array<float, 3> weights;
  rng.Dirichlet(1, weights);
  EXPECT_EQ(weights, (std::array<float, 3>{0x1.3260fcp-2F, 0x1.fd8b52p-3F, 0x1.ced95cp-2F}));
}

TEST(TorchGenerator, PositionKeepsTheSecondNormalOfAPair) {
  for (const std::uint64_t between : {0, 1, 700}) {
    TorchGenerator a(5);
    a.Discard(3);
    std::array<float, 1> one;
    a.Dirichlet(1, one);
    EXPECT_EQ(one[0], 0x1.fffffep-1F);
    EXPECT_NE(a.position(), a.draws());
    a.Discard(between);
    TorchGenerator b = TorchGenerator::At(5, a.position());
    EXPECT_EQ(a.TorchState(), b.TorchState());
    std::array<float, 3> of_a, of_b;
    a.Dirichlet(1, of_a);
    b.Dirichlet(1, of_b);
    EXPECT_EQ(of_a, of_b);
    EXPECT_EQ(a.draws(), b.draws());
  }
}

TEST(TorchGenerator, AnImpossiblePositionOfANormalIsTakenAsDraws) {
  EXPECT_EQ(TorchGenerator::At(5, std::uint64_t{9} << 48 | 2).TorchState(),
            TorchGenerator::At(5, 2).TorchState());
}

TEST(TorchGenerator, DamagedStateIsRefused) {
  TorchGenerator rng(3);
  Bytes state = rng.TorchState();
  EXPECT_EQ(rng.SetTorchState(ByteSpan(state).first(5000)).code(), Code::kInvalidArgument);
  state[16] = std::byte{9};  // next = 9 while left = 1
  EXPECT_EQ(rng.SetTorchState(state).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ops
