// A lane of the trainer's, which waits for nobody between two batches; the test is its process.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "dataworker/stage/stage_runner.h"
#include "dataworker/worker/worker_fixture.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using ::testing::ElementsAre;

Bytes NumberPart(std::uint64_t value) { return CopyBytes(std::as_bytes(std::span(&value, 1))); }

class StageRunnerAheadTest : public ::testing::Test {
 protected:
  StageRunnerAheadTest() {
    reactor_ = *net::Reactor::Make("test-ahead");
    EXPECT_TRUE(reactor_->Start().ok());
    auto pair = FrameSocket::MakePair();
    lane_ = std::make_unique<FrameSocket>(std::move(pair->first));
    StageRunner::Options options;
    options.cores = [this] { return cores_; };
    StageRunner::Events events;
    events.on_ready = [](const Status&) {};
    events.on_done = [this](StageRunner::Made made) {
      const std::lock_guard lock(mutex_);
      done_.push_back(std::move(made.answer));
      changed_.notify_all();
    };
    OnReactorThread(*reactor_, [&] {
      runner_ = *StageRunner::StartGiven(*reactor_, options, events);
      EXPECT_TRUE(runner_->GiveLane({.lane = 0, .set = 0}, std::move(pair->second), 0).ok());
    });
    arena_ = *ArenaMap::Map(UniqueFd(::dup(memory_.fd())), memory_.memory().size());
  }
  ~StageRunnerAheadTest() override {
    OnReactorThread(*reactor_, [this] { runner_.reset(); });
    reactor_->Stop();
  }
  void Ask(std::int64_t batch) {
    wire::BatchRequest request;
    request.session = SessionId(3);
    request.iteration = IterationId(1);
    request.batch = BatchId(batch);
    request.keys = {batch};
    request.lane = LaneId(0);
    request.slot_bytes = 4096;
    OnReactorThread(*reactor_, [&] { runner_->Submit(request, arena_, reactor_->clock().Now()); });
  }
  // The batches that the lane has been asked for.
  std::size_t Given() {
    EXPECT_TRUE(lane_
                    ->Receive([this](StageFrame&& frame) {
                      if (frame.kind == StageMessage::kBatch) given_.push_back(std::move(frame));
                    })
                    .ok());
    return given_.size();
  }
  wire::BatchDone Makes(std::size_t batch) {
    const Bytes none = NumberPart(0), one = NumberPart(1);
    std::array<ByteSpan, 14> parts;
    parts[0] = given_[batch].parts[0];
    parts[1] = parts[2] = parts[10] = parts[12] = none;
    parts[3] = parts[11] = one;
    EXPECT_TRUE(lane_->Send(StageMessage::kDone, parts).ok());
    return Next();
  }
  wire::BatchDone Next() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(60), [this] { return !done_.empty(); }));
    if (done_.empty()) return {};
    wire::BatchDone answer = std::move(done_.front());
    done_.pop_front();
    return answer;
  }

  const TestArena memory_{1 << 16};
  std::shared_ptr<ArenaMap> arena_;
  std::unique_ptr<net::Reactor> reactor_;
  std::unique_ptr<StageRunner> runner_;
  std::unique_ptr<FrameSocket> lane_;
  std::vector<StageFrame> given_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<wire::BatchDone> done_;
  double cores_ = std::numeric_limits<double>::infinity();  // on the reactor's thread
};

TEST_F(StageRunnerAheadTest, ALaneHasItsNextBatchWhileItMakesOne) {
  for (int i = 0; i < 4; ++i) Ask(i);
  EXPECT_EQ(Given(), 2U);
  OnReactorThread(*reactor_, [this] {
    EXPECT_EQ(runner_->outstanding(), 4U);
    EXPECT_EQ(runner_->queued_samples(), 3);
    EXPECT_THAT(runner_->WaitingKeys(LaneId(0)), ElementsAre(1, 2, 3));
  });
  EXPECT_EQ(Makes(0).batch, BatchId(0));
  OnReactorThread(*reactor_, [] {});
  EXPECT_EQ(Given(), 3U);
}

TEST_F(StageRunnerAheadTest, OtherJobsNeedNotWaitForTwo) {
  OnReactorThread(*reactor_, [this] { cores_ = 1; });
  for (int i = 0; i < 3; ++i) Ask(i);
  EXPECT_EQ(Given(), 1U);
  EXPECT_EQ(Makes(0).batch, BatchId(0));
  OnReactorThread(*reactor_, [] {});
  EXPECT_EQ(Given(), 2U);
}

TEST_F(StageRunnerAheadTest, WhatALaneThatEndsWasGivenIsAnsweredInOrder) {
  for (int i = 0; i < 3; ++i) Ask(i);
  EXPECT_EQ(Given(), 2U);
  lane_.reset();
  for (int i = 0; i < 3; ++i) {
    const wire::BatchDone lost = Next();
    EXPECT_EQ(lost.batch, BatchId(i));
    EXPECT_EQ(lost.status.code(), Code::kUnavailable);
  }
}

TEST_F(StageRunnerAheadTest, WhatALaneWasGivenIsCancelledToo) {
  for (int i = 0; i < 3; ++i) Ask(i);
  EXPECT_EQ(Given(), 2U);
  OnReactorThread(*reactor_, [this] { runner_->Cancel(IterationId(2)); });
  EXPECT_EQ(Next().status.code(), Code::kCancelled);  // of the one that waits
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(Makes(i).status.code(), Code::kCancelled);
}

// What is asked for again meanwhile is made once.
TEST_F(StageRunnerAheadTest, ARepeatOfWhatALaneWasGivenIsNoOtherBatch) {
  for (int i = 0; i < 2; ++i) Ask(i);
  Ask(1);
  EXPECT_EQ(Given(), 2U);
  EXPECT_TRUE(Makes(0).status.ok());
  EXPECT_TRUE(Makes(1).status.ok());
  EXPECT_EQ(Next().status.code(), Code::kCancelled);
  EXPECT_EQ(Given(), 2U);
}

}  // namespace
}  // namespace headrace::dataworker
