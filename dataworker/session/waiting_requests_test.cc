#include "dataworker/session/waiting_requests.h"

#include <utility>

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

wire::BatchRequest Batch(std::int64_t iteration, std::int64_t batch) {
  wire::BatchRequest request;
  request.iteration = IterationId(iteration);
  request.batch = BatchId(batch);
  return request;
}

TEST(WaitingRequests, AnAttemptIsNewOnce) {
  WaitingRequests requests;
  EXPECT_TRUE(requests.IsNew(7));
  EXPECT_TRUE(requests.IsNew(6));
  EXPECT_FALSE(requests.IsNew(7));
  EXPECT_FALSE(requests.IsNew(6));
}

TEST(WaitingRequests, TheLowestAttemptIsForgottenWhenThereAreTooMany) {
  WaitingRequests requests;
  constexpr auto kKept = static_cast<std::uint32_t>(WaitingRequests::kAttemptsKept);
  for (std::uint32_t attempt = 1; attempt <= kKept; ++attempt) {
    EXPECT_TRUE(requests.IsNew(attempt));
  }
  EXPECT_FALSE(requests.IsNew(1));
  EXPECT_TRUE(requests.IsNew(kKept + 1));  // in the place of 1
  EXPECT_FALSE(requests.IsNew(2));
  EXPECT_TRUE(requests.IsNew(1));
}

TEST(WaitingRequests, AllAreTakenInTheOrderInWhichTheyCame) {
  WaitingRequests requests;
  requests.Add({SteadyTime(Duration(1)), Batch(1, 10)});
  requests.Add({SteadyTime(Duration(2)), wire::Describe{.request = 5}});
  requests.Add({SteadyTime(Duration(3)), Batch(1, 11)});
  EXPECT_EQ(requests.size(), 3U);
  const auto taken = requests.TakeAll();
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_EQ(requests.size(), 0U);
  EXPECT_EQ(std::get<wire::BatchRequest>(taken[0].asked).batch, BatchId(10));
  EXPECT_EQ(taken[1].received, SteadyTime(Duration(2)));
  EXPECT_EQ(std::get<wire::Describe>(taken[1].asked).request, 5U);
  EXPECT_EQ(std::get<wire::BatchRequest>(taken[2].asked).batch, BatchId(11));
}

TEST(WaitingRequests, BatchesOfOlderIterationsAreTakenAlone) {
  WaitingRequests requests;
  for (const std::int64_t iteration : {1, 2, 3, 1}) {
    requests.Add({SteadyTime(), Batch(iteration, iteration * 10)});
  }
  requests.Add({SteadyTime(), wire::Describe{}});  // of no iteration
  const auto older = requests.TakeOlder(IterationId(2));
  ASSERT_EQ(older.size(), 2U);
  EXPECT_EQ(older[0].batch, BatchId(10));
  EXPECT_EQ(older[1].iteration, IterationId(1));
  const auto left = requests.TakeAll();
  ASSERT_EQ(left.size(), 3U);
  EXPECT_EQ(std::get<wire::BatchRequest>(left[0].asked).iteration, IterationId(2));
  EXPECT_EQ(std::get<wire::BatchRequest>(left[1].asked).iteration, IterationId(3));
  EXPECT_TRUE(std::holds_alternative<wire::Describe>(left[2].asked));
}

}  // namespace
}  // namespace headrace::dataworker
