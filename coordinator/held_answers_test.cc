#include "coordinator/held_answers.h"

#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

std::vector<Outgoing> Pongs(std::size_t count, std::uint64_t first = 0) {
  std::vector<Outgoing> messages;
  for (std::size_t i = 0; i < count; ++i) messages.push_back({"peer", wire::Pong{first + i}});
  return messages;
}

std::vector<std::uint64_t> Numbers(const std::vector<Outgoing>& messages) {
  std::vector<std::uint64_t> numbers;
  for (const Outgoing& each : messages) numbers.push_back(std::get<wire::Pong>(each.body).sequence);
  return numbers;
}

TEST(HeldAnswers, GoInOrderWhenTheirUpdatesAreOnDisk) {
  HeldAnswers held;
  EXPECT_TRUE(held.empty());
  const std::uint64_t first = held.HoldForNew(Pongs(1, 10));
  held.HoldForLast(Pongs(1, 11));
  const std::uint64_t second = held.HoldForNew(Pongs(1, 12));
  EXPECT_EQ(Numbers(held.Release(first)), (std::vector<std::uint64_t>{10, 11}));
  EXPECT_FALSE(held.empty());
  EXPECT_TRUE(held.Release(first).empty());
  EXPECT_EQ(Numbers(held.Release(second)), (std::vector<std::uint64_t>{12}));
  EXPECT_TRUE(held.empty());
}

TEST(HeldAnswers, AreFullAtABoundAndNotAfterARelease) {
  HeldAnswers held;
  const std::uint64_t number = held.HoldForNew(Pongs(HeldAnswers::kMostCost - 1));
  EXPECT_FALSE(held.full());
  held.HoldForLast(Pongs(1));
  EXPECT_TRUE(held.full());
  (void)held.Release(number);
  EXPECT_FALSE(held.full());
}

TEST(HeldAnswers, AStatusIsLarge) {
  HeldAnswers held;
  held.HoldForNew({});
  for (std::size_t i = 0; i < HeldAnswers::kMostCost / HeldAnswers::kStatusCost; ++i) {
    EXPECT_FALSE(held.full());
    held.HoldForLast({{"peer", wire::ClusterStatus{}}});
  }
  EXPECT_TRUE(held.full());
}

}  // namespace
}  // namespace headrace::coordinator
