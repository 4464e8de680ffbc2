#include "trainer_client/session/comparisons.h"

#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::client {
namespace {

using Standing = Trials::Standing;

constexpr WorkerId kHome(1), kAway(2);

std::byte Byte(int value) { return static_cast<std::byte>(value); }

// A batch of one buffer of two bytes after `offset` others.
Version AVersion(int first, std::size_t offset = 0) {
  Version version;
  version.done.pickle = {Byte(80)};
  version.done.lane_state = {Byte(7)};
  version.done.buffer_offsets = {offset};
  version.done.buffer_sizes = {2};
  version.memory = Bytes(offset, Byte(99));
  version.memory.push_back(Byte(first));
  version.memory.push_back(Byte(5));
  version.done.used_bytes = version.memory.size();
  return version;
}
std::shared_ptr<Version> Shared(int first) { return std::make_shared<Version>(AVersion(first)); }

TEST(Comparisons, WhereABufferLiesInItsSlotIsNoDifference) {
  EXPECT_TRUE(SameBytes(AVersion(1), AVersion(1, 64)));
  EXPECT_FALSE(SameBytes(AVersion(1), AVersion(2)));
}

TEST(Comparisons, PickleErrorStateAndCountAreCompared) {
  const auto differs = [](auto change) {
    Version other = AVersion(1);
    change(other.done);
    return !SameBytes(AVersion(1), other);
  };
  EXPECT_TRUE(differs([](wire::BatchDone& done) { done.pickle = {Byte(81)}; }));
  EXPECT_TRUE(differs([](wire::BatchDone& done) { done.python_error = {Byte(1)}; }));
  EXPECT_TRUE(differs([](wire::BatchDone& done) { done.lane_state = {Byte(8)}; }));
  EXPECT_TRUE(differs([](wire::BatchDone& done) { done.samples = 3; }));
  EXPECT_TRUE(differs([](wire::BatchDone& done) { done.buffer_sizes = {1}; }));
  EXPECT_FALSE(differs([](wire::BatchDone& done) { done.output = "printed"; }));
}

TEST(Comparisons, FieldsAreComparedByTypeShapeAndContent) {
  Version a = AVersion(1);
  a.done.fields = {{.dtype = DType::kU8, .shape = {2}, .offset = 0}};
  Version b = a;
  EXPECT_TRUE(SameBytes(a, b));
  b.done.fields[0].shape = {1, 2};
  EXPECT_FALSE(SameBytes(a, b));
  b = a;
  a.done.buffer_sizes = b.done.buffer_sizes = {0};
  b.memory[1] = Byte(6);
  EXPECT_FALSE(SameBytes(a, b));
}

class PairTest : public testing::Test {
 protected:
  PairTest() {
    comparisons_.Ready(kHome, true);
    comparisons_.Ready(kAway, false);
  }
  std::uint32_t AskedOf(WorkerId maker, WorkerId real, std::int64_t ticket) {
    const std::vector<Comparisons::Ask> asks = comparisons_.OnSent(real, ticket);
    EXPECT_EQ(asks.size(), 1U);
    if (asks.empty()) return 0;
    EXPECT_EQ(asks[0].maker, maker);
    return asks[0].attempt;
  }
  void Trust() { EXPECT_EQ(comparisons_.Judge(kAway, true), Standing::kTrusted); }

  Comparisons comparisons_{{.equal_for_trust = 1, .compare_every = 1}};
};

TEST_F(PairTest, WhicheverComesFirstWaitsForTheOther) {
  const std::uint32_t first = AskedOf(kAway, kHome, 1);
  EXPECT_TRUE(comparisons_.Wants(1));
  EXPECT_TRUE(comparisons_.OnMade(kHome, 1, Shared(1)).empty());
  EXPECT_FALSE(comparisons_.Wants(1));
  auto complete = comparisons_.OnShadow(first, Shared(2));
  ASSERT_TRUE(complete);
  EXPECT_EQ(complete->here->memory[0], Byte(1)) << "the reference's";
  EXPECT_EQ(complete->there->memory[0], Byte(2));

  Trust();
  const std::uint32_t second = AskedOf(kHome, kAway, 2);
  EXPECT_NE(second, first);
  EXPECT_FALSE(comparisons_.OnShadow(second, Shared(3)));
  const std::vector<Comparison> made = comparisons_.OnMade(kAway, 2, Shared(4));
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].tried, kAway);
  EXPECT_EQ(made[0].here->memory[0], Byte(3)) << "the reference's, though it is the shadow";
  EXPECT_EQ(made[0].there->memory[0], Byte(4));
}

TEST_F(PairTest, ABatchThatIsAskedAgainHasOneShadow) {
  const std::uint32_t attempt = AskedOf(kAway, kHome, 1);
  EXPECT_TRUE(comparisons_.OnSent(kHome, 1).empty());
  comparisons_.LoseShadow(attempt);
  EXPECT_EQ(comparisons_.OnSent(kHome, 1).size(), 1U);
}

TEST_F(PairTest, ABatchThatAnotherWorkerMadeInTheEndIsNotCompared) {
  Trust();
  const std::uint32_t attempt = AskedOf(kHome, kAway, 1);
  EXPECT_TRUE(comparisons_.OnMade(kHome, 1, Shared(1)).empty());
  EXPECT_FALSE(comparisons_.OnShadow(attempt, Shared(1))) << "both are the reference's";
  EXPECT_EQ(comparisons_.OnSent(kAway, 2).size(), 1U) << "the next one is compared";
}

TEST_F(PairTest, LostBatchesAndEndedWorkersLeaveNothingOpen) {
  std::uint32_t attempt = AskedOf(kAway, kHome, 1);
  comparisons_.LoseBatch(1);
  EXPECT_FALSE(comparisons_.OnShadow(attempt, Shared(1)));
  attempt = AskedOf(kAway, kHome, 2);
  comparisons_.LoseBatchesBefore(2);
  EXPECT_TRUE(comparisons_.Wants(2));
  comparisons_.LoseBatchesBefore(3);
  EXPECT_FALSE(comparisons_.Wants(2));
  attempt = AskedOf(kAway, kHome, 3);
  EXPECT_TRUE(comparisons_.OnMade(kHome, 3, Shared(1)).empty());
  comparisons_.Gone(kAway);
  EXPECT_FALSE(comparisons_.OnShadow(attempt, Shared(1)));
  EXPECT_EQ(comparisons_.trials().standing(kAway), Standing::kUnknown);
}

}  // namespace
}  // namespace headrace::client
