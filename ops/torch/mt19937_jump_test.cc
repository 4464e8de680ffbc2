#include "ops/torch/mt19937_jump.h"

#include <random>

#include "gtest/gtest.h"
#include "ops/torch/torch_generator.h"

namespace headrace::ops {
namespace {

void ExpectSame(Mt19937 engine, std::uint64_t n) {
  Mt19937 stepped = engine;
  stepped.Discard(n);
  Jump(engine, n);
  EXPECT_EQ(engine.words(), stepped.words()) << n;
  EXPECT_EQ(engine.next(), stepped.next()) << n;
}

TEST(Mt19937Jump, LeadsWhereDiscardLeads) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const std::uint64_t n : {0, 1, 2, 623, 624, 625, 1247, 1248, 1249, 19937, 40000}) {
    for (const std::uint32_t skipped : {0, 1, 17, 623, 624}) {
      Mt19937 engine(static_cast<std::uint32_t>(random()));
      engine.Discard(skipped);
      ExpectSame(engine, n);
    }
  }
  for (int i = 0; i < 20; ++i) {
    Mt19937 engine(static_cast<std::uint32_t>(random()));
    engine.Discard(random() % 2000);
    ExpectSame(engine, random() % 30'000'000);
  }
}

TEST(Mt19937Jump, PartsAddUp) {
  constexpr std::uint64_t kFar = 123'456'789'012'345;
  Mt19937 once(7), twice(7);
  Jump(once, kFar);
  Jump(twice, kFar / 3);
  Jump(twice, kFar - kFar / 3);
  EXPECT_EQ(once.words(), twice.words());
  EXPECT_EQ(once.next(), twice.next());
}

TEST(Mt19937Jump, APlaceFarInTheStreamIsThatOfItsDraws) {
  TorchGenerator drawn(5);
  const std::uint64_t step = kWorthAJump / 2;
  for (int i = 0; i < 3; ++i) drawn.Discard(step);
  EXPECT_EQ(TorchGenerator::At(5, 3 * step).TorchState(), drawn.TorchState());
}

}  // namespace
}  // namespace headrace::ops
