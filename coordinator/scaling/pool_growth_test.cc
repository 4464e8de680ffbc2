#include "coordinator/scaling/pool_growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace headrace::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PoolGrowthTest : public testing::Test {
 protected:
  // The coordinator wants workers each half second; said_ collects the lines.
  void Run(Duration time, const Status& answer) {
    for (const SteadyTime end = clock_.Now() + time; clock_.Now() < end;) {
      if (growth_.MayTry(clock_.Now())) {
        tries_.push_back((clock_.Now() - begin_) / seconds(1));
        if (!answer.ok()) Hear(growth_.Failed(answer, clock_.Now()));
      }
      clock_.Advance(milliseconds(500));
    }
  }

  void Hear(const std::string& line) {
    if (!line.empty()) said_.push_back(line);
  }

  FakeClock clock_;
  const SteadyTime begin_ = clock_.Now();
  PoolGrowth growth_;
  std::vector<std::int64_t> tries_;  // seconds
  std::vector<std::string> said_;
};

TEST_F(PoolGrowthTest, ACauseIsSaidOnceAndTriedLessAndLess) {
  Run(seconds(240), NotFound("start headrace: no such file"));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("start headrace: no such file")));
  EXPECT_THAT(tries_, ElementsAre(0, 1, 3, 7, 15, 31, 63, 123, 183));
}

TEST_F(PoolGrowthTest, AnotherCauseIsSaidToo) {
  Run(seconds(20), NotFound("no such file"));
  Run(seconds(100), ResourceExhausted("no more processes"));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("no such file"), HasSubstr("no more processes")));
}

// The engine accepts each request, and says a second later that it has no node.
TEST_F(PoolGrowthTest, WhatIsTakenOnAndFailsLaterIsTriedLessAndLessToo) {
  for (const SteadyTime end = clock_.Now() + seconds(100); clock_.Now() < end;) {
    if (growth_.MayTry(clock_.Now())) {
      tries_.push_back((clock_.Now() - begin_) / seconds(1));
      clock_.Advance(seconds(1));
      Hear(growth_.Failed(ResourceExhausted("no node is free"), clock_.Now()));
    }
    clock_.Advance(milliseconds(500));
  }
  EXPECT_THAT(said_, ElementsAre(HasSubstr("no node is free")));
  EXPECT_THAT(tries_, ElementsAre(0, 2, 5, 10, 19, 36, 69));
}

TEST_F(PoolGrowthTest, AMemberThatComesIsSaidAndForgivesEverything) {
  Run(seconds(20), NotFound("no such file"));
  said_.clear();
  Run(seconds(60), Status());
  EXPECT_THAT(said_, IsEmpty()) << "taken on is not there";
  Hear(growth_.Came(clock_.Now()));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("grows again")));
  Run(PoolGrowth::kHealthyAfter, Status());
  tries_.clear();
  said_.clear();
  const auto now = (clock_.Now() - begin_) / seconds(1);
  Run(seconds(3), NotFound("no such file"));
  EXPECT_THAT(tries_, ElementsAre(now, now + 1));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("no such file")));
}

// Each one registers, and its node fails, or it is pre-empted, a moment later.
TEST_F(PoolGrowthTest, MembersThatComeAndEndAtOnceAreAskedForLessAndLessToo) {
  for (const SteadyTime end = clock_.Now() + seconds(100); clock_.Now() < end;) {
    if (growth_.MayTry(clock_.Now())) {
      tries_.push_back((clock_.Now() - begin_) / seconds(1));
      (void)growth_.Came(clock_.Now());
      clock_.Advance(seconds(1));
      Hear(growth_.Failed(Unavailable("pre-empted"), clock_.Now()));
    }
    clock_.Advance(milliseconds(500));
  }
  EXPECT_THAT(said_, ElementsAre(HasSubstr("pre-empted")));
  EXPECT_THAT(tries_, ElementsAre(0, 2, 5, 10, 19, 36, 69));
}

TEST_F(PoolGrowthTest, WhatGrowsIsNotSlowedOrSpokenOf) {
  Run(seconds(5), Status());
  Hear(growth_.Came(clock_.Now()));
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_EQ(tries_.size(), 10U);
}

}  // namespace
}  // namespace headrace::coordinator
