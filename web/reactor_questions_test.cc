#include "web/reactor_questions.h"

#include <future>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::web {
namespace {

using std::chrono::milliseconds;

class ReactorQuestionsTest : public testing::Test {
 protected:
  ReactorQuestionsTest() : reactor_(std::move(net::Reactor::Make("test")).value()) {}

  std::unique_ptr<net::Reactor> reactor_;
  ReactorQuestions questions_{*reactor_};
};

TEST_F(ReactorQuestionsTest, TheReactorTells) {
  ASSERT_TRUE(reactor_->Start().ok());
  const auto told =
      questions_.Ask<bool>([&] { return reactor_->OnThread(); }, milliseconds(20'000));
  EXPECT_EQ(told, true);
  reactor_->Stop();
}

TEST_F(ReactorQuestionsTest, AReactorThatDoesNotAnswerIsGivenUp) {
  EXPECT_EQ(questions_.Ask<bool>([] { return true; }, milliseconds(10)), std::nullopt);
}

TEST_F(ReactorQuestionsTest, NobodyWaitsAfterTheEndAndNothingIsAsked) {
  auto waiting = std::async(std::launch::async, [&] {
    return questions_.Ask<bool>([] { return true; }, std::chrono::hours(1));
  });
  questions_.Close();
  EXPECT_EQ(waiting.get(), std::nullopt);
  bool asked = false;
  EXPECT_EQ(questions_.Ask<bool>([&] { return asked = true; }, std::chrono::hours(1)),
            std::nullopt);
  ASSERT_TRUE(reactor_->Start().ok());
  std::promise<void> ran;
  reactor_->Post([&] { ran.set_value(); });
  ran.get_future().wait();
  EXPECT_FALSE(asked);
  reactor_->Stop();
}

// What was asked before the end, and is only told after it, would read what is gone.
TEST_F(ReactorQuestionsTest, WhatWasAskedBeforeTheEndIsNotToldAfterIt) {
  bool told = false;
  EXPECT_EQ(questions_.Ask<bool>([&] { return told = true; }, milliseconds(1)), std::nullopt);
  questions_.Close();
  ASSERT_TRUE(reactor_->Start().ok());
  std::promise<void> ran;
  reactor_->Post([&] { ran.set_value(); });
  ran.get_future().wait();
  EXPECT_FALSE(told);
  reactor_->Stop();
}

}  // namespace
}  // namespace headrace::web
