#include "coordinator/own_orders.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::coordinator {
namespace {

using ::testing::ElementsAre;

TEST(OwnOrdersTest, EachIsAnsweredOnceWhateverTheOrderOfTheAnswers) {
  OwnOrders orders;
  std::vector<std::string> told;
  const auto tell = [&](const std::string& whom) {
    return [&told, whom](const wire::ClusterOrdered& done) {
      told.push_back(whom + ": " + done.text);
    };
  };
  const wire::ClusterOrder a =
      orders.Begin({.action = wire::ClusterAction::kCancel, .job = JobId(7)}, tell("a"));
  const wire::ClusterOrder b = orders.Begin({}, tell("b"));
  EXPECT_EQ(a.job, JobId(7));
  EXPECT_NE(a.request, b.request);
  orders.Tell(wire::ClusterOrdered{.request = b.request, .text = "done"});
  orders.Tell(wire::ClusterOrdered{.request = b.request, .text = "again"});
  orders.Tell(wire::ClusterOrdered{.request = 99, .text = "another's"});
  orders.Tell(wire::ClusterStatus{});
  orders.Tell(wire::ClusterOrdered{.request = a.request, .text = "done, too"});
  EXPECT_THAT(told, ElementsAre("b: done", "a: done, too"));
}

}  // namespace
}  // namespace headrace::coordinator
