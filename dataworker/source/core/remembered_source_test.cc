#include "dataworker/source/core/remembered_source.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "dataworker/source/core/fake_slow_source.h"
#include "dataworker/source/core/source_fixture.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using std::chrono::seconds;

class RememberedTest : public ::testing::Test {
 protected:
  std::optional<RowAnswer> Now(std::int64_t row) {
    return source_->Now(Ask::kIdentity, row, unused_);
  }
  RowAnswer Fetch(Ask ask, std::int64_t row) {
    const Answers answers(*source_, ask, {row});
    EXPECT_TRUE(store_->AnswerOne());
    return answers.Wait(0);
  }

  FakeClock clock_;
  ScratchBuffer unused_;
  std::shared_ptr<FakeStore> store_ = std::make_shared<FakeStore>(
      std::vector<FakeStore::Object>{{CopyBytes(AsBytes("1 1\n"))}, {CopyBytes(AsBytes("2 2\n"))}},
      1, clock_);
  std::unique_ptr<Source> source_ = Remembered(store_->Open(ReadTextHeader), clock_);
};

TEST_F(RememberedTest, AnIdentityIsBelievedForAsLongAsItsSourceSays) {
  store_->SetTimes(seconds(10), {});
  EXPECT_FALSE(Now(0));
  const ContentIdentity first = Fetch(Ask::kIdentity, 0).sample.content;
  store_->Change(0, CopyBytes(AsBytes("3 3\n")));
  clock_.Advance(seconds(10) - Duration(1));
  ASSERT_TRUE(Now(0));
  EXPECT_EQ(Now(0)->sample.content, first);
  EXPECT_EQ(Now(0)->valid_for, Duration(1));
  EXPECT_FALSE(Now(1)) << "another row";
  clock_.Advance(Duration(1));
  EXPECT_FALSE(Now(0));
  EXPECT_FALSE(Fetch(Ask::kIdentity, 0).sample.content == first);
}

TEST_F(RememberedTest, BytesTellTheIdentityToo) {
  store_->SetTimes(seconds(10), {});
  const RowAnswer read = Fetch(Ask::kBytes, 1);
  ASSERT_TRUE(Now(1));
  EXPECT_EQ(Now(1)->sample.content, read.sample.content);
}

TEST_F(RememberedTest, ARowIsNewUntilItsIdentityWasAnsweredHoweverLongAgo) {
  EXPECT_FALSE(source_->is_far_and_new(0)) << "its identity is near";
  store_->SetFar();
  EXPECT_TRUE(source_->is_far_and_new(0));
  EXPECT_TRUE(Fetch(Ask::kIdentity, 0).status.ok());
  EXPECT_FALSE(source_->is_far_and_new(0));
  EXPECT_TRUE(source_->is_far_and_new(1));
  EXPECT_TRUE(Fetch(Ask::kBytes, 1).status.ok());
  EXPECT_FALSE(source_->is_far_and_new(1));
  clock_.Advance(seconds(1'000'000));
  EXPECT_FALSE(source_->is_far_and_new(0));
  EXPECT_FALSE(Now(0));
  EXPECT_FALSE(source_->is_far_and_new(-1));
}

TEST_F(RememberedTest, WithoutATimeNothingIsBelieved) {
  EXPECT_TRUE(Fetch(Ask::kIdentity, 0).status.ok());
  EXPECT_FALSE(Now(0));
}

// The time begins when the source was asked: the answer may have been on its way for long.
TEST_F(RememberedTest, TheTimeBeginsWhenTheSourceWasAsked) {
  store_->SetTimes(seconds(10), {});
  const Answers answers(*source_, Ask::kIdentity, {0});
  clock_.Advance(seconds(10));
  EXPECT_TRUE(store_->AnswerOne());
  EXPECT_TRUE(answers.Wait(0).status.ok());
  EXPECT_FALSE(Now(0));
}

TEST_F(RememberedTest, ErrorsAreNotRemembered) {
  store_->SetTimes(seconds(10), {});
  store_->SetFaults(1);
  EXPECT_EQ(Fetch(Ask::kIdentity, 0).status.code(), Code::kUnavailable);
  EXPECT_FALSE(Now(0));
}

}  // namespace
}  // namespace headrace::dataworker
