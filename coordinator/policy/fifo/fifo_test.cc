#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/policy/core/policy.h"

namespace headrace::coordinator {
namespace {

using testing::ElementsAre;

LeaseSet Decide(const PolicySnapshot& snapshot) {
  PolicyRegistry registry;
  RegisterPolicies(registry);
  return registry.Find("fifo")->Decide(snapshot);
}

TEST(Fifo, OneJobThatWantsAllGetsAll) {
  const auto leases =
      Decide({{{JobId(1), 0, "a"}}, {{WorkerId(1), 4, "a"}, {WorkerId(2), 4, "b"}}});
  EXPECT_THAT(leases.at(JobId(1)), ElementsAre(WorkerId(1), WorkerId(2)));
}

TEST(Fifo, OwnHostComesFirst) {
  const auto leases = Decide(
      {{{JobId(1), 1, "b"}, {JobId(2), 1, "a"}}, {{WorkerId(1), 4, "a"}, {WorkerId(2), 4, "b"}}});
  EXPECT_THAT(leases.at(JobId(1)), ElementsAre(WorkerId(2)));
  EXPECT_THAT(leases.at(JobId(2)), ElementsAre(WorkerId(1)));
}

TEST(Fifo, TheEarlyJobGetsItsWishTheLateOneTheRest) {
  // 5 workers: one each is set apart, then job 1 takes 2 more, job 2 the last.
  const auto leases = Decide({{{JobId(1), 3, "a"}, {JobId(2), 3, "a"}},
                              {{WorkerId(1), 1, "x"},
                               {WorkerId(2), 1, "x"},
                               {WorkerId(3), 1, "x"},
                               {WorkerId(4), 1, "x"},
                               {WorkerId(5), 1, "x"}}});
  EXPECT_THAT(leases.at(JobId(1)), ElementsAre(WorkerId(1), WorkerId(3), WorkerId(4)));
  EXPECT_THAT(leases.at(JobId(2)), ElementsAre(WorkerId(2), WorkerId(5)));
}

TEST(Fifo, FewerWorkersThanJobsAreSharedEvenly) {
  const auto leases =
      Decide({{{JobId(1), 0, "a"}, {JobId(2), 0, "a"}, {JobId(3), 0, "a"}, {JobId(4), 0, "a"}},
              {{WorkerId(1), 1, "x"}, {WorkerId(2), 1, "x"}}});
  EXPECT_THAT(leases.at(JobId(1)), ElementsAre(WorkerId(1)));
  EXPECT_THAT(leases.at(JobId(2)), ElementsAre(WorkerId(2)));
  EXPECT_THAT(leases.at(JobId(3)), ElementsAre(WorkerId(1)));
  EXPECT_THAT(leases.at(JobId(4)), ElementsAre(WorkerId(2)));
}

TEST(Fifo, NoWorkerNoLease) { EXPECT_TRUE(Decide({{{JobId(1), 0, "a"}}, {}}).empty()); }

}  // namespace
}  // namespace headrace::coordinator
