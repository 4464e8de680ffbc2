// Which samples of ended jobs a full tier gives up first, in every tier that is made of chunks.
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dataworker/cache/cache_fixture.h"
#include "dataworker/cache/cache_registry.h"
#include "eviction/core/order.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using std::chrono::milliseconds;

const JobId kThird(3);
constexpr std::uint64_t kRoom = std::uint64_t{1} << 20;
constexpr std::size_t kSample = 10'000;
constexpr std::uint64_t kHalf = 39;  // samples, three to a chunk: some less than half of kRoom

class IdleChunksTest : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<CacheTier> Make(const std::string& eviction = "value") {
    auto made = BuiltinCacheTiers().Make(
        {GetParam(), {{"size", std::to_string(kRoom)}, {"eviction", eviction}}});
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return std::move(made).value();
  }
  static int Kept(CacheTier& tier, JobId job, std::uint64_t count, std::uint64_t first) {
    return dataworker::Kept(tier, job, count, first, [] { std::this_thread::yield(); });
  }
  // Stores samples that took `cost` each. Returns how many there was room for.
  static int Fill(CacheTier& tier, JobId job, std::uint64_t first, std::uint64_t count,
                  Duration cost = milliseconds(1)) {
    int stored = 0;
    for (std::uint64_t inode = first; inode < first + count; ++inode) {
      auto claim = tier.TryClaim(job, Key(inode), kSample);
      stored += claim && claim.Commit(Payload(inode, 0, kSample), cost) ? 1 : 0;
    }
    return stored;
  }
};

TEST_P(IdleChunksTest, WhatTookTheLeastSecondsAByteGoesFirst) {
  for (const bool older_is_dear : {true, false}) {
    SCOPED_TRACE(older_is_dear);
    auto tier = Make();
    for (const JobId job : {kJob, kOther, kThird}) tier->AddJob(job, kNoQuota);
    const Duration dear = milliseconds(10), cheap = milliseconds(1);
    Fill(*tier, kJob, 0, kHalf, older_is_dear ? dear : cheap);
    Fill(*tier, kOther, 1000, kHalf, older_is_dear ? cheap : dear);
    tier->RemoveJob(kJob);
    tier->RemoveJob(kOther);
    ASSERT_EQ(Fill(*tier, kThird, 2000, kHalf), static_cast<int>(kHalf));
    const std::uint64_t first = older_is_dear ? 0 : 1000;
    EXPECT_EQ(Kept(*tier, kJob, kHalf, first), static_cast<int>(kHalf));
    EXPECT_LT(Kept(*tier, kJob, kHalf, 1000 - first), static_cast<int>(kHalf) / 2);
  }
}

TEST_P(IdleChunksTest, WhatFewerJobsUsedGoesFirst) {
  auto tier = Make();
  for (const JobId job : {kJob, kOther, kThird}) tier->AddJob(job, kNoQuota);
  Fill(*tier, kJob, 0, kHalf);
  Fill(*tier, kOther, 1000, kHalf);
  EXPECT_EQ(Kept(*tier, kThird, kHalf, 0),
            static_cast<int>(kHalf));  // a second user of the older ones
  for (const JobId job : {kJob, kThird, kOther}) tier->RemoveJob(job);
  const JobId fourth(4);
  tier->AddJob(fourth, kNoQuota);
  ASSERT_EQ(Fill(*tier, fourth, 2000, kHalf), static_cast<int>(kHalf));
  EXPECT_EQ(Kept(*tier, fourth, kHalf, 0), static_cast<int>(kHalf));
}

TEST_P(IdleChunksTest, WhatWasUsedLongAgoGoesBeforeWhatWasUsedAsOften) {
  auto tier = Make();
  // Six jobs fill the tier one after the other, each a third of it: the last two's samples are there.
  for (int i = 1; i <= 6; ++i) {
    const JobId job(i);
    tier->AddJob(job, kNoQuota);
    ASSERT_EQ(Fill(*tier, job, static_cast<std::uint64_t>(i) * 1000, 25), 25) << i;
    tier->RemoveJob(job);
  }
  EXPECT_EQ(Kept(*tier, kJob, 25, 6000), 25);
  EXPECT_EQ(Kept(*tier, kJob, 25, 1000), 0);
}

TEST_P(IdleChunksTest, WhatARunningJobFindsIsNoLongerIdle) {
  auto tier = Make();
  tier->AddJob(kJob, kNoQuota);
  Fill(*tier, kJob, 0, kHalf);
  tier->RemoveJob(kJob);
  tier->AddJob(kOther, kNoQuota);
  EXPECT_EQ(Kept(*tier, kOther, kHalf, 0), static_cast<int>(kHalf));
  tier->AddJob(kThird, kNoQuota);
  Fill(*tier, kThird, 2000, 3 * kHalf, milliseconds(100));
  EXPECT_EQ(Kept(*tier, kOther, kHalf, 0), static_cast<int>(kHalf));
}

// Whatever the order: the samples of running jobs stay, and those of ended ones make room.
TEST_P(IdleChunksTest, EveryOrderKeepsTheSamplesOfRunningJobs) {
  for (const eviction::OrderDescriptor* order : eviction::BuiltinOrders().All()) {
    SCOPED_TRACE(order->name);
    auto tier = Make(order->name);
    tier->AddJob(kJob, kNoQuota);
    tier->AddJob(kOther, kNoQuota);
    const int first = Fill(*tier, kJob, 0, 4 * kHalf);
    EXPECT_GT(first, static_cast<int>(kHalf));
    EXPECT_EQ(Fill(*tier, kJob, 500, kHalf, milliseconds(100)), 0) << "for its own";
    EXPECT_EQ(Fill(*tier, kOther, 1000, kHalf, milliseconds(100)), 0) << "for another's";
    EXPECT_EQ(Kept(*tier, kJob, 4 * kHalf, 0), first);
    tier->RemoveJob(kJob);
    EXPECT_EQ(Fill(*tier, kOther, 1000, kHalf), static_cast<int>(kHalf));
    EXPECT_EQ(Kept(*tier, kOther, kHalf, 1000), static_cast<int>(kHalf));
  }
}

TEST_P(IdleChunksTest, AnOrderIsWhatItsNameSays) {
  auto tier = Make("minio");  // of what is idle, what came last goes first
  tier->AddJob(kJob, kNoQuota);
  tier->AddJob(kOther, kNoQuota);
  tier->AddJob(kThird, kNoQuota);
  Fill(*tier, kJob, 0, kHalf, milliseconds(1));
  Fill(*tier, kOther, 1000, kHalf, milliseconds(50));
  tier->RemoveJob(kJob);
  tier->RemoveJob(kOther);
  Fill(*tier, kThird, 2000, kHalf);
  EXPECT_EQ(Kept(*tier, kJob, kHalf, 0), static_cast<int>(kHalf));
}

TEST_P(IdleChunksTest, AnUnknownOrderIsRefused) {
  const auto made = BuiltinCacheTiers().Make({GetParam(), {{"size", "1M"}, {"eviction", "best"}}});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find("best"), std::string::npos);
  EXPECT_NE(made.status().message().find("gdsf, lfu, lrfu, lru"), std::string::npos);
}

TEST_P(IdleChunksTest, WhatIsGivenUpTellsWhatItTook) {
  auto tier = Make();
  std::vector<Duration> costs;
  tier->SetOnGivenUp(
      [&](JobId, const CacheKey&, const CachePin&, Duration cost) { costs.push_back(cost); });
  tier->AddJob(kJob, kNoQuota);
  Fill(*tier, kJob, 0, 4, milliseconds(7));
  tier->SetQuota(kJob, 0);
  EXPECT_EQ(costs, std::vector<Duration>(4, milliseconds(7)));
}

INSTANTIATE_TEST_SUITE_P(Tiers, IdleChunksTest, testing::Values("memory", "disk"),
                         [](const auto& tier) { return tier.param; });

// The memory tier alone: what other tiers keep of the worker's memory is their index.
TEST(IdleChunks, LessMemoryTakesWhatEndedJobsHaveLeft) {
  auto tier =
      std::move(BuiltinCacheTiers().Make({"memory", {{"size", std::to_string(kRoom)}}})).value();
  tier->AddJob(kJob, kNoQuota);
  tier->AddJob(kOther, kNoQuota);
  for (std::uint64_t i = 0; i < kHalf; ++i)
    Put(*tier, kJob, i, kSample);  // older, and still running
  for (std::uint64_t i = 0; i < kHalf; ++i) Put(*tier, kOther, 1000 + i, kSample);
  tier->RemoveJob(kOther);
  tier->KeepTo(kRoom / 2);
  EXPECT_EQ(Kept(*tier, kJob, kHalf), static_cast<int>(kHalf));
  EXPECT_LE(tier->Stats().bytes, kRoom / 2);
}

}  // namespace
}  // namespace headrace::dataworker
