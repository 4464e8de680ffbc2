#include "trainer_client/session/size_requests.h"

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::client {
namespace {

constexpr SessionId kSession(7);
constexpr WorkerId kFirst(1), kSecond(2);

class SizeRequestsTest : public testing::Test {
 protected:
  SizeRequestsTest() : planner_(Options()), requests_(kSession, planner_) {
    EXPECT_TRUE(planner_.Begin({}).ok());
  }
  DrawPlanner::Options Options() {
    DrawPlanner::Options options;
    options.rng = RngMode::kTorch;
    options.dims = sizes_;
    options.draw = [](const auto&...) { return Status::Ok(); };
    return options;
  }
  // Asks both workers for all that the planner waits for; what was sent is in sent_.
  bool Ask(SteadyTime now = {}) {
    if (!requests_.Collect()) return false;
    const std::vector<WorkerId> ready = {kFirst, kSecond};
    requests_.Ask(ready, now, [this](WorkerId worker, const wire::Describe& describe) {
      sent_.emplace_back(worker, describe);
    });
    return true;
  }
  static wire::Described Answer(const wire::Describe& describe) {
    const TensorSpec small{DType::kU8, Layout::kHwc, {4, 4, 4}};
    return {.request = describe.request,
            .session = describe.session,
            .specs = std::vector<std::optional<TensorSpec>>(describe.keys.size(), small)};
  }

  std::shared_ptr<SizeTable> sizes_ = std::make_shared<SizeTable>(1000);
  DrawPlanner planner_;
  SizeRequests requests_;
  std::vector<std::pair<WorkerId, wire::Describe>> sent_;
};

TEST_F(SizeRequestsTest, ManyKeysAreSplitAndAskedOfTheWorkersInTurn) {
  std::vector<std::int64_t> keys(SizeRequests::kMostKeys + 1);
  std::iota(keys.begin(), keys.end(), 0);
  planner_.Submit(keys);
  ASSERT_TRUE(Ask());
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_EQ(sent_[0].second.keys.size(), SizeRequests::kMostKeys);
  EXPECT_EQ(sent_[1].second.keys, std::vector<std::int64_t>{keys.back()});
  EXPECT_NE(sent_[0].first, sent_[1].first);
  EXPECT_NE(sent_[0].second.request, sent_[1].second.request);
  EXPECT_EQ(sent_[0].second.session, kSession);
  for (const auto& [worker, describe] : sent_) {
    EXPECT_TRUE(requests_.OnDescribed(worker, Answer(describe)));
  }
  EXPECT_TRUE(planner_.Next().has_value());
  EXPECT_FALSE(Ask());
}

TEST_F(SizeRequestsTest, WithoutAWorkerTheKeysWait) {
  planner_.Submit({3});
  ASSERT_TRUE(requests_.Collect());
  requests_.Ask({}, {}, [](auto...) { FAIL(); });
  ASSERT_TRUE(Ask());
  EXPECT_EQ(sent_.at(0).second.keys, std::vector<std::int64_t>{3});
}

TEST_F(SizeRequestsTest, AnAnswerOfAnotherWorkerOrSessionCountsNothing) {
  planner_.Submit({3});
  ASSERT_TRUE(Ask());
  const auto [worker, describe] = sent_.at(0);
  EXPECT_TRUE(requests_.OnDescribed(worker == kFirst ? kSecond : kFirst, Answer(describe)));
  wire::Described other = Answer(describe);
  other.session = SessionId(8);
  EXPECT_TRUE(requests_.OnDescribed(worker, other));
  EXPECT_FALSE(planner_.Next().has_value());
  EXPECT_TRUE(requests_.OnDescribed(worker, Answer(describe)));
  EXPECT_TRUE(planner_.Next().has_value());
}

TEST_F(SizeRequestsTest, WhatIsLostIsAskedAgain) {
  planner_.Submit({3});
  ASSERT_TRUE(Ask());
  requests_.Lose(sent_.at(0).first == kFirst ? kSecond : kFirst);
  EXPECT_FALSE(Ask());
  requests_.Lose(sent_.at(0).first);
  EXPECT_TRUE(Ask());
  EXPECT_EQ(sent_.size(), 2U);
}

TEST_F(SizeRequestsTest, WhatIsLateIsAskedOfAnotherAndTheFirstAnswerCounts) {
  planner_.Submit({3});
  const SteadyTime begin{};
  ASSERT_TRUE(Ask(begin));
  requests_.AskLateAgain(begin + SizeRequests::kPatience - Duration(1));
  EXPECT_FALSE(Ask());
  const SteadyTime late = begin + SizeRequests::kPatience;
  requests_.AskLateAgain(late);
  ASSERT_TRUE(Ask(late));
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_NE(sent_[1].first, sent_[0].first);
  requests_.AskLateAgain(late + SizeRequests::kPatience);
  EXPECT_FALSE(Ask()) << "all are late: it is more patient";

  EXPECT_TRUE(requests_.OnDescribed(sent_[0].first, Answer(sent_[0].second)));
  EXPECT_TRUE(planner_.Next()) << "a late answer counts";
  EXPECT_TRUE(requests_.OnDescribed(sent_[1].first, Answer(sent_[1].second)));
  requests_.Lose(sent_[1].first);
  EXPECT_FALSE(Ask());
}

TEST_F(SizeRequestsTest, ALateRefusalTakesNothingBack) {
  planner_.Submit({3});
  const SteadyTime begin{};
  ASSERT_TRUE(Ask(begin));
  requests_.AskLateAgain(begin + SizeRequests::kPatience);
  ASSERT_TRUE(Ask(begin + SizeRequests::kPatience));
  wire::Described refusal = Answer(sent_.at(0).second);
  refusal.status = Unavailable("busy");
  EXPECT_TRUE(requests_.OnDescribed(sent_[0].first, refusal));
  EXPECT_FALSE(Ask()) << "the other one is asked already";
  requests_.Lose(sent_[0].first);
  EXPECT_FALSE(Ask());
}

TEST_F(SizeRequestsTest, AWorkerThatForgotTheSessionIsTold) {
  planner_.Submit({3});
  for (const Code code : {Code::kUnavailable, Code::kNotFound}) {
    ASSERT_TRUE(Ask());
    wire::Described answer{.request = sent_.back().second.request, .session = kSession};
    answer.status = Status(code, "no");
    EXPECT_EQ(requests_.OnDescribed(sent_.back().first, answer), code != Code::kNotFound);
  }
  EXPECT_TRUE(Ask());
}

TEST_F(SizeRequestsTest, WhatNoWorkerCanReadIsTheTrainers) {
  planner_.Submit({3});
  ASSERT_TRUE(Ask());
  wire::Described answer = Answer(sent_.at(0).second);
  answer.specs.clear();
  EXPECT_TRUE(requests_.OnDescribed(sent_.at(0).first, answer));
  EXPECT_FALSE(planner_.Next().has_value());
  EXPECT_TRUE(planner_.TakeNeeded().has_value());
}

}  // namespace
}  // namespace headrace::client
