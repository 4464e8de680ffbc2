#include "coordinator/pool/core/engine_helper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/pool/core/fake_reactor.h"

namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class EngineHelperTest : public testing::Test {
 protected:
  Status Start(const std::string& script) {
    auto made = EngineHelper::Start(
        reactor_, {"sh", "-c", script},
        {.on_line = [this](const std::string& line) { lines_.push_back(line); },
         .on_end = [this](const Status& why) { ends_.push_back(why.message()); }});
    if (made.ok()) helper_ = std::move(made).value();
    return made.status();
  }
  [[nodiscard]] bool Until(const std::function<bool()>& condition) {
    while (!condition()) {
      if (!reactor_.RunOneFd(10'000)) return false;
    }
    return true;
  }

  FakeReactor reactor_;
  std::unique_ptr<EngineHelper> helper_;
  std::vector<std::string> lines_;
  std::vector<std::string> ends_;
};

TEST_F(EngineHelperTest, AnswersLinesUntilItsInputEnds) {
  ASSERT_TRUE(Start("while read a; do echo \"got $a\"; done; exit 0").ok());
  helper_->Send("one\ntwo\n");
  ASSERT_TRUE(Until([&] { return lines_.size() == 2; }));
  helper_->Send("three\n");
  ASSERT_TRUE(Until([&] { return lines_.size() == 3; }));
  EXPECT_THAT(lines_, ElementsAre("got one", "got two", "got three"));
  EXPECT_TRUE(helper_->Finish(seconds(20)));
  EXPECT_THAT(ends_, testing::IsEmpty()) << "who finishes it knows";
}

TEST_F(EngineHelperTest, ItsEndIsToldOnceWithItsLastWordsAndAfterItsLines) {
  ASSERT_TRUE(Start("echo line; echo first >&2; echo 'no module' >&2; exit 3").ok());
  ASSERT_TRUE(Until([&] { return !ends_.empty(); }));
  EXPECT_THAT(lines_, ElementsAre("line"));
  EXPECT_THAT(ends_, ElementsAre(testing::AllOf(HasSubstr("status 3"), HasSubstr("no module"),
                                                testing::Not(HasSubstr("first")))));
  helper_->Send("nobody reads this\n");
  EXPECT_EQ(reactor_.watched(), 0U);
}

TEST_F(EngineHelperTest, AProgramThatIsNotThereIsAnErrorAtOnce) {
  const auto made = EngineHelper::Start(reactor_, {"/no/such/program"}, {});
  EXPECT_EQ(made.status().code(), Code::kNotFound);
  EXPECT_EQ(reactor_.watched(), 0U);
}

TEST_F(EngineHelperTest, WhatItDoesNotReadNowGoesLater) {
  ASSERT_TRUE(Start("sleep 0.3; wc -c").ok());
  const std::string line(1 << 20, 'x');
  helper_->Send(line);
  EXPECT_GT(reactor_.timers(), 0U) << "the pipe is full, and nothing waited for it";
  helper_->Send(line);
  EXPECT_TRUE(helper_->Finish(seconds(20)));
}

TEST_F(EngineHelperTest, OneThatDoesNotEndIsKilled) {
  ASSERT_TRUE(Start("trap '' TERM; echo up; while :; do sleep 0.1; done").ok());
  ASSERT_TRUE(Until([&] { return !lines_.empty(); }));
  EXPECT_FALSE(helper_->Finish(std::chrono::milliseconds(200)));
}

TEST_F(EngineHelperTest, ALineWithoutEndEndsIt) {
  ASSERT_TRUE(Start("yes | tr -d '\\n'").ok());
  ASSERT_TRUE(Until([&] { return !ends_.empty(); }));
  EXPECT_THAT(ends_.front(), HasSubstr("a line is too long"));
}

TEST_F(EngineHelperTest, ACallbackMayDestroyIt) {
  auto made = EngineHelper::Start(reactor_, {"sh", "-c", "echo a; echo b; exit 1"},
                                  {.on_line =
                                       [this](const std::string& line) {
                                         lines_.push_back(line);
                                         helper_.reset();
                                       },
                                   .on_end = nullptr});
  ASSERT_TRUE(made.ok());
  helper_ = std::move(made).value();
  ASSERT_TRUE(Until([&] { return !lines_.empty(); }));
  EXPECT_THAT(lines_, ElementsAre("a"));
  EXPECT_EQ(reactor_.watched(), 0U);
}

}  // namespace
}  // namespace headrace::coordinator
