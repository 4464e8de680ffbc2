// Workers that a trainer does not use, as the status shows them.
#include <string>
#include <vector>

#include "coordinator/step_test_util.h"
#include "gtest/gtest.h"

namespace headrace::coordinator {
namespace {

TEST(UnfitWorkers, WhatAClientDoesNotUseIsShownUntilItSaysOtherwise) {
  Cluster cluster;
  const auto job = cluster.OpenJob("token-aaaa");
  cluster.Ask<wire::SessionOpened>(wire::OpenSession{1, job.job, SessionId(42), SmallPlan()});
  const WorkerId worker = cluster.Register("worker-aaaa").worker;
  wire::ConsumerHeartbeat beat{1, job.job, job.consumer, {}, {}};
  beat.unfit = {{worker, "has not the file"}};
  const auto shown = [&] {
    cluster.Send(beat);
    return cluster.Status().jobs.at(0).unfit;
  };
  EXPECT_EQ(shown(), beat.unfit);
  // It takes no unbounded room here: one entry for each worker, and a short reason.
  beat.unfit.assign(100, {worker, std::string(9000, 'x')});
  const auto bounded = shown();
  ASSERT_EQ(bounded.size(), 1U);
  EXPECT_EQ(bounded.front().reason, std::string(400, 'x'));
  beat.unfit = {{WorkerId(12345), "is none of its workers"}};
  EXPECT_TRUE(shown().empty());
  beat.unfit.clear();
  EXPECT_TRUE(shown().empty());
}

}  // namespace
}  // namespace headrace::coordinator
