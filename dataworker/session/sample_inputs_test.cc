#include "dataworker/session/sample_inputs.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataworker/cache/memory/memory_cache.h"
#include "dataworker/exec/inline_executor.h"
#include "dataworker/source/core/fake_slow_source.h"
#include "dataworker/source/core/remembered_source.h"
#include "dataworker/source/core/source_fixture.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

constexpr std::int64_t kFarRows = 200;
constexpr JobId kFarReader{1};

// A session that gets the inputs of rows, and keeps in its cache what it had to read.
class SampleInputsTest : public ::testing::Test {
 protected:
  SampleInputsTest() {
    std::vector<FakeStore::Object> objects;
    for (std::int64_t i = 0; i < kFarRows; ++i) {
      objects.push_back({CopyBytes(AsBytes("1 1\n" + std::to_string(i)))});
    }
    store_ = std::make_shared<FakeStore>(std::move(objects), 1, clock_);
    store_->SetFar();
    reads_ = std::make_shared<SourceReads>(
        SourceReads::Parts{queue_, clock_, [](Duration) {}, [](std::shared_ptr<const void>) {}});
    std::vector<SampleStore::Tier> tiers;
    tiers.push_back({"memory", MakeMemoryCache(std::uint64_t{1} << 20)});
    cache_ = std::make_shared<SampleStore>(std::move(tiers));
    NewSession();
  }
  ~SampleInputsTest() override {
    reads_->Stop();
    executor_.Stop();
  }
  void NewSession() {
    source_ = Remembered(store_->Open(ReadTextHeader), clock_);
    lease_ = std::make_shared<CacheLease>(cache_, kFarReader, std::uint64_t{1} << 20);
    first_ask_ = std::make_shared<FirstAsk>();
  }
  // Gets rows [first, last) and says how many requests of each kind they took.
  std::map<Ask, int> Get(std::int64_t first, std::int64_t last) {
    std::vector<SampleInputs::Sample> samples;
    for (std::int64_t row = first; row < last; ++row) {
      samples.push_back({samples.size(), source_, row, {}});
    }
    std::size_t told = 0;
    hits_ = 0;
    SampleInputs::Get(
        {reads_, {kFarReader, SessionId(1), IterationId(1)}, lease_, {}, &clock_, first_ask_},
        std::move(samples), [&](std::size_t index, SampleInput input) {
          ++told;
          Check(first + static_cast<std::int64_t>(index), input);
        });
    while (store_->AnswerOne()) {
    }
    EXPECT_EQ(told, static_cast<std::size_t>(last - first));
    std::map<Ask, int> asked;
    for (const FakeStore::Request& request : store_->TakeRequests()) {
      asked[request.ask] += static_cast<int>(request.rows.size());
    }
    return asked;
  }
  // Its content is the row's, and comes from the cache or the source; the source's is kept.
  void Check(std::int64_t row, SampleInput& input) {
    ASSERT_TRUE(input.asked);
    const std::string expected = "1 1\n" + std::to_string(row) + changed_;
    if (input.found.pin) {
      ++hits_;
      EXPECT_FALSE(input.bytes) << "they would be held for nothing";
      EXPECT_EQ(AsText(input.found.pin.bytes()), expected);
      return;
    }
    ASSERT_TRUE(input.bytes && input.bytes->status.ok());
    const ByteSpan bytes = input.bytes->sample.bytes;
    EXPECT_EQ(AsText(bytes), expected);
    EXPECT_TRUE(input.bytes->sample.content == input.key.content);
    if (!keeps_) return;
    auto claim = lease_->TryClaim(input.key, bytes.size(), input.found);
    ASSERT_TRUE(claim);
    claim->Commit(bytes);
  }

  FakeClock clock_;
  InlineExecutor executor_;
  WorkQueue queue_{{executor_, clock_, [](Duration) {}}};
  std::shared_ptr<FakeStore> store_;
  std::shared_ptr<SourceReads> reads_;
  std::shared_ptr<SampleStore> cache_;
  std::shared_ptr<Source> source_;
  std::shared_ptr<const CacheLease> lease_;
  std::shared_ptr<FirstAsk> first_ask_;
  std::string changed_;
  bool keeps_ = true;
  int hits_ = 0;
};

using Asked = std::map<Ask, int>;

TEST_F(SampleInputsTest, WhileTheCacheHasNothingNoRowIsAskedForItsIdentity) {
  EXPECT_EQ(Get(0, 1), (Asked{{Ask::kBytes, 1}}));
  EXPECT_EQ(Get(0, 1), (Asked{{Ask::kIdentity, 1}})) << "there is an entry now";
  EXPECT_EQ(hits_, 1);
}

TEST_F(SampleInputsTest, ACacheWithoutRoomCostsNoQuestions) {
  keeps_ = false;
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(Get(0, kFarRows), (Asked{{Ask::kBytes, kFarRows}}));
  }
}

TEST_F(SampleInputsTest, RowsThatNobodyHasAreAskedForOnceAndLaterOnesForTheirIdentity) {
  Get(kFarRows - 1, kFarRows);
  NewSession();
  EXPECT_EQ(Get(0, FirstAsk::kLeast),
            (Asked{{Ask::kIdentity, FirstAsk::kLeast}, {Ask::kBytes, FirstAsk::kLeast}}));
  EXPECT_EQ(Get(FirstAsk::kLeast, kFarRows), (Asked{{Ask::kBytes, kFarRows - FirstAsk::kLeast}}));
  EXPECT_EQ(hits_, 1);
  EXPECT_EQ(Get(0, kFarRows), (Asked{{Ask::kIdentity, kFarRows}})) << "the second epoch";
  EXPECT_EQ(hits_, kFarRows);
}

TEST_F(SampleInputsTest, WhatAnotherSessionHasReadIsNotReadAgain) {
  Get(0, FirstAsk::kLeast);
  Get(FirstAsk::kLeast, kFarRows);
  NewSession();
  EXPECT_EQ(Get(0, 100), (Asked{{Ask::kIdentity, 100}}));
  EXPECT_EQ(Get(100, kFarRows), (Asked{{Ask::kIdentity, kFarRows - 100}}));
}

TEST_F(SampleInputsTest, BytesThatTheCacheHadAfterAllAreDroppedAndIdentitiesComeFirstAgain) {
  Get(50, 100);
  NewSession();
  Get(0, 40);
  EXPECT_EQ(Get(50, 60), (Asked{{Ask::kBytes, 10}}));  // in the cache, which nobody knew
  EXPECT_EQ(hits_, 10);
  EXPECT_EQ(Get(60, 100), (Asked{{Ask::kIdentity, 40}}));
  EXPECT_EQ(hits_, 40);
}

TEST_F(SampleInputsTest, AnObjectThatChangesIsTheNewOneHoweverItIsAskedFor) {
  Get(0, 40);
  changed_ = "!";
  for (std::int64_t row = 0; row < kFarRows; ++row) {
    store_->Change(row, CopyBytes(AsBytes("1 1\n" + std::to_string(row) + changed_)));
  }
  Get(0, kFarRows);
  EXPECT_EQ(hits_, 0);
}

}  // namespace
}  // namespace headrace::dataworker
