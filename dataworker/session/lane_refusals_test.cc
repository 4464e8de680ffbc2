#include "dataworker/session/lane_refusals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>
#include <string>

namespace headrace::dataworker {
namespace {

wire::BatchRequest BatchOfLane(std::int64_t batch, std::int64_t lane = 0, std::uint64_t set = 1) {
  wire::BatchRequest request;
  request.iteration = IterationId(1);
  request.batch = BatchId(batch);
  request.lane = LaneId(lane);
  request.lane_set = set;
  return request;
}

TEST(LaneRefusals, WhatFollowsARefusedBatchIsBarredUntilItIsAskedAgain) {
  LaneRefusals refusals;
  refusals.Accepted(BatchOfLane(1));
  EXPECT_FALSE(refusals.Bars(BatchOfLane(2)));
  refusals.Refused(BatchOfLane(2));
  EXPECT_TRUE(refusals.Bars(BatchOfLane(3)));
  EXPECT_FALSE(refusals.Bars(BatchOfLane(1))) << "a repeat of one before it";
  EXPECT_FALSE(refusals.Bars(BatchOfLane(3, 1))) << "another lane's";
  refusals.Refused(BatchOfLane(3));
  EXPECT_FALSE(refusals.Bars(BatchOfLane(2)));
  refusals.Accepted(BatchOfLane(2));
  EXPECT_TRUE(refusals.Bars(BatchOfLane(4))) << "without 3";
  EXPECT_FALSE(refusals.Bars(BatchOfLane(3)));
  refusals.Accepted(BatchOfLane(3));
  EXPECT_FALSE(refusals.Bars(BatchOfLane(4)));
}

TEST(LaneRefusals, ABatchThatIsRefusedTwiceBarsWhatWasRefusedBetween) {
  LaneRefusals refusals;
  refusals.Refused(BatchOfLane(2));
  refusals.Refused(BatchOfLane(3));
  refusals.Refused(BatchOfLane(2));
  EXPECT_TRUE(refusals.Bars(BatchOfLane(3))) << "it was asked again before that was known";
}

// Another worker may have made the refused one; then it is never asked for here again.
TEST(LaneRefusals, WhatIsAskedAgainIsAskedByATrainerThatKnows) {
  LaneRefusals refusals;
  refusals.Refused(BatchOfLane(2));
  EXPECT_TRUE(refusals.Bars(BatchOfLane(9)));
  refusals.Refused(BatchOfLane(9));
  EXPECT_FALSE(refusals.Bars(BatchOfLane(9)));
  refusals.Accepted(BatchOfLane(9));
  EXPECT_FALSE(refusals.Bars(BatchOfLane(10)));
}

TEST(LaneRefusals, LanesThatBeginAgainBeginAnew) {
  LaneRefusals refusals;
  refusals.Refused(BatchOfLane(2));
  EXPECT_FALSE(refusals.Bars(BatchOfLane(3, 0, 2)));
  refusals.Accepted(BatchOfLane(1, 0, 2));
  EXPECT_FALSE(refusals.Bars(BatchOfLane(3, 0, 2)));
  refusals.Refused(BatchOfLane(2, 0, 2));
  refusals.Refused(BatchOfLane(5, 0, 1));  // late, of the life before
  refusals.Accepted(BatchOfLane(5, 0, 1));
  EXPECT_TRUE(refusals.Bars(BatchOfLane(3, 0, 2)));
}

TEST(LaneRefusals, ItsMemoryIsBounded) {
  LaneRefusals refusals;
  constexpr auto kLanes = static_cast<std::int64_t>(LaneRefusals::kMostLanes);
  for (std::int64_t lane = 0; lane <= kLanes; ++lane) refusals.Refused(BatchOfLane(1, lane));
  EXPECT_TRUE(refusals.Bars(BatchOfLane(2, kLanes - 1)));
  EXPECT_FALSE(refusals.Bars(BatchOfLane(2, kLanes)));
}

// A trainer with a window of batches, messages that take their time, and a worker that refuses as it
// likes: what is accepted is in order.
TEST(LaneRefusals, NothingIsAcceptedBeforeWhatItFollows) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto any = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  for (int round = 0; round < 300; ++round) {
    LaneRefusals refusals;
    struct Answer {
      std::int64_t batch;
      bool made;
    };
    std::deque<std::int64_t> requests, queued;  // on their way, accepted
    std::deque<Answer> answers;
    std::set<std::int64_t> asked, done;  // by what the trainer knows
    std::int64_t accepted = -1;
    const int window = 1 + any(4);
    for (int step = 0; step < 2000 && done.size() < 20; ++step) {
      switch (any(4)) {
        case 0:
          for (std::int64_t batch = 0, out = 0; batch < 20 && out < window; ++batch) {
            if (done.contains(batch)) continue;
            ++out;
            if (asked.contains(batch)) continue;
            requests.push_back(batch);
            asked.insert(batch);
            if (any(2) == 0) break;
          }
          break;
        case 1:
          if (requests.empty()) break;
          if (refusals.Bars(BatchOfLane(requests.front())) || any(3) == 0) {
            refusals.Refused(BatchOfLane(requests.front()));
            answers.push_back({requests.front(), false});
          } else {
            ASSERT_EQ(requests.front(), accepted + 1);
            accepted = requests.front();
            refusals.Accepted(BatchOfLane(accepted));
            queued.push_back(accepted);
          }
          requests.pop_front();
          break;
        case 2:
          if (queued.empty()) break;
          answers.push_back({queued.front(), true});
          queued.pop_front();
          break;
        default:
          if (answers.empty()) break;
          if (answers.front().made) done.insert(answers.front().batch);
          asked.erase(answers.front().batch);
          answers.pop_front();
      }
    }
    EXPECT_EQ(done.size(), 20U) << "it gets on";
  }
}

}  // namespace
}  // namespace headrace::dataworker
