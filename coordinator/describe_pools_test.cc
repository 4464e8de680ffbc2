#include "coordinator/describe_pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

using MemberIs = PoolMember::State;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

wire::WorkerStatus DescribedWorker(std::int64_t id, double cores,
                                   const std::string& state = "ready") {
  wire::WorkerStatus worker;
  worker.info.worker = WorkerId(id);
  worker.info.cores = static_cast<std::uint32_t>(cores);
  worker.state = state;
  return worker;
}

PoolReport TwoPoolsReport() {
  PoolReport report{.least = 1, .most = 8, .wanted = 5};
  report.pools.push_back({.name = "spot",
                          .kind = "slurm",
                          .rules = {.core_price = 0.01, .preemptible = true, .most = 6},
                          .state = "held",
                          .passed_over = std::chrono::milliseconds(1500),
                          .members = {{.state = MemberIs::kRunning, .worker = WorkerId(1)},
                                      {.state = MemberIs::kDraining, .worker = WorkerId(2)},
                                      {.state = MemberIs::kLost, .worker = WorkerId(3)},
                                      {.state = MemberIs::kQueued},
                                      {.state = MemberIs::kStarting},
                                      {.state = MemberIs::kWaiting}}});
  report.pools.push_back({.name = "slurm",
                          .kind = "slurm",
                          .rules = {},
                          .state = "usable",
                          .members = {{.state = MemberIs::kRunning, .worker = WorkerId(4)}}});
  return report;
}

TEST(DescribePools, CountsMembersCoresAndMoney) {
  const auto pools =
      DescribePools(TwoPoolsReport(),
                    {DescribedWorker(1, 8), DescribedWorker(2, 8, "draining"),
                     DescribedWorker(3, 8, "lost"), DescribedWorker(4, 8), DescribedWorker(5, 8)});
  ASSERT_THAT(pools, SizeIs(2));
  const wire::PoolStatus& spot = pools[0];
  EXPECT_EQ(spot.name, "spot");
  EXPECT_EQ(spot.most, 6u);
  EXPECT_TRUE(spot.preemptible);
  EXPECT_EQ(spot.running, 1u);
  EXPECT_EQ(spot.coming(), 3u);
  EXPECT_EQ(spot.draining, 1u);
  EXPECT_EQ(spot.lost, 1u);
  EXPECT_EQ(spot.wanted_workers, 4u) << "without those that leave or are lost";
  EXPECT_EQ(spot.cores, 16)
      << "who leaves costs until its end; who is lost is not known to be there";
  EXPECT_DOUBLE_EQ(spot.cost_per_hour, 0.16);
  EXPECT_EQ(spot.usable, 0u);
  EXPECT_EQ(spot.passed_over_seconds, 1.5);
  EXPECT_EQ(spot.troubled, 0u);
  EXPECT_EQ(pools[1].most, 0u) << "no bound";
  EXPECT_EQ(pools[1].cores, 8);
  EXPECT_EQ(pools[1].cost_per_hour, 0) << "its price is not known";
  EXPECT_EQ(pools[1].usable, 1u);
  EXPECT_THAT(DescribePools({}, {DescribedWorker(1, 8)}), IsEmpty());
}

TEST(DescribePools, ATroubleNeedsAPersonUnlessItIsAWantOfRoom) {
  PoolReport report = TwoPoolsReport();
  PoolTrouble::Told& trouble = report.pools[0].trouble;
  trouble = {
      .why = Unavailable("squeue\n" + std::string(9000, 'x')).WithDetail(Detail::kUnreachable),
      .age = std::chrono::seconds(7),
      .stands = true};
  report.pools[0].remedy = "look";
  wire::PoolStatus pool = DescribePools(report, {})[0];
  EXPECT_EQ(pool.troubled, 1u);
  EXPECT_EQ(pool.trouble_ms, 7000);
  EXPECT_EQ(pool.what, "its engine is not reached");
  EXPECT_EQ(pool.remedy, "look");
  EXPECT_LE(pool.trouble.message().size(), 503u);
  EXPECT_THAT(pool.trouble.message(), testing::Not(HasSubstr("\n")));
  trouble.stands = false;
  pool = DescribePools(report, {})[0];
  EXPECT_EQ(pool.troubled, 0u);
  EXPECT_FALSE(pool.trouble_stands);
  trouble = {.why = ResourceExhausted("Resources").WithDetail(Detail::kNoRoom), .stands = true};
  pool = DescribePools(report, {})[0];
  EXPECT_EQ(pool.troubled, 0u);
  EXPECT_TRUE(pool.trouble_stands);
}

}  // namespace
}  // namespace headrace::coordinator
