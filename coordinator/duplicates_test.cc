// How much of what is cached of a data set is there more than once, from what workers tell.
#include <limits>
#include <string>
#include <vector>

#include "coordinator/cluster_planner_fixture.h"
#include "coordinator/dataset_view.h"
#include "coordinator/describe_datasets.h"

namespace headrace::coordinator {
namespace {

class DuplicatesTest : public ClusterPlannerTest {
 protected:
  DuplicatesTest() {
    rules_.lease_all = true;
    held_.job = Job({.cache_bytes = wire::kNoCacheBound});
    held_.cache_bytes = 400'000;
    held_.cache_entries = 4;
    AddSession session;
    session.job = held_.job;
    session.session = SessionId(held_.job.value);
    session.plan_name = "ImageFolder(/data/train)";
    session.split.cache_node = 1;
    session.dataset = 77;
    session.rows = 1000;
    Apply(session);
    Plan();
  }
  // A heartbeat with the names below the bound, or without any.
  void Tell(WorkerId worker, std::uint64_t below, std::vector<std::uint64_t> names) {
    held_.sampled_below = below;
    held_.sampled = std::move(names);
    Report(worker, {held_});
  }
  [[nodiscard]] wire::DatasetStatus Shown() const {
    return DescribeDatasets(state_, ViewDatasets(state_)).at(0);
  }
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  const WorkerId a_ = Worker(4, "a", 2'000'000'000), b_ = Worker(4, "b", 2'000'000'000);
  wire::JobUsage held_;
};

TEST_F(DuplicatesTest, AreEstimatedFromTheSamplesOfAllWorkers) {
  EXPECT_EQ(Shown().sampled_entries, 0U);
  Tell(a_, kAll, {1, 2, 3, 4});
  Tell(b_, kAll, {3, 4, 5, 6});
  EXPECT_EQ(Shown().sampled_entries, 8U);
  EXPECT_DOUBLE_EQ(Shown().duplicate_share, 0.25);
  EXPECT_EQ(Shown().duplicate_share_error, 0);
  Tell(b_, 4, {3});
  EXPECT_DOUBLE_EQ(Shown().duplicate_share, 0.25) << "1, 2, 3 and 3 are below the least bound";
  EXPECT_GT(Shown().duplicate_share_error, 0);
}

TEST_F(DuplicatesTest, ASampleHoldsUntilTheNextOneOrTheEndOfItsEntries) {
  Tell(a_, kAll, {1, 2, 3, 4});
  Tell(b_, kAll, {3, 4, 5, 6});
  for (int beat = 0; beat < 7; ++beat) Tell(b_, 0, {});
  EXPECT_DOUBLE_EQ(Shown().duplicate_share, 0.25);
  EXPECT_EQ(Shown().sampled_entries, 8U);
  held_.cache_entries = 0;
  Tell(b_, 0, {});
  EXPECT_EQ(Shown().sampled_entries, 4U);
  EXPECT_EQ(Shown().duplicate_share, 0);
}

}  // namespace
}  // namespace headrace::coordinator
