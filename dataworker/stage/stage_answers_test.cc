// What a stage host says of a batch, read and checked without a host.
#include "dataworker/stage/stage_answers.h"

#include <sys/mman.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "schemas/wire/message.h"

namespace headrace::dataworker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

enum Outcome : std::uint64_t {
  kMade = 0,
  kRaised = 1,
  kTooSmall = 2,
  kEnded = 3,
  kPassed = 4,
  kEarly = 5
};

Bytes Numbers(const std::vector<std::uint64_t>& numbers) {
  return CopyBytes(std::as_bytes(std::span(numbers)));
}

Bytes Text(const std::string& text) { return CopyBytes(AsBytes(text)); }

StageFrame Frame(Outcome outcome) {
  return {StageMessage::kDone,
          {Numbers({1}), Numbers({outcome}), Numbers({70}), Text("pickle"), Numbers({0, 64}),
           Numbers({3, 4}), Text("state"), Text("error"), Text("printed"), Text("warned"),
           Numbers({9}), Numbers({2}), Numbers({1234}), Text("x changed")}};
}

class StageAnswersTest : public ::testing::Test {
 protected:
  StageAnswersTest() {
    job_.request.session = SessionId(3);
    job_.request.iteration = IterationId(4);
    job_.request.batch = BatchId(5);
    job_.request.attempt = 6;
    job_.request.slot_bytes = 4096;
    job_.received = clock_.Now();
    clock_.Advance(Duration(20));
    job_.started = clock_.Now();
    clock_.Advance(Duration(300));
  }
  StageAnswers::Made Give(StageFrame frame) {
    EXPECT_TRUE(StageAnswers::IsAnswer(frame));
    answers_.Give(job_, std::move(frame), 77);
    return TakeLast();
  }
  StageAnswers::Made TakeLast() {
    if (told_.empty()) return {};
    StageAnswers::Made made = std::move(told_.back());
    told_.pop_back();
    return made;
  }
  Code CodeOf(StageFrame frame) { return Give(std::move(frame)).answer.status.code(); }

  FakeClock clock_;
  StageJob job_;
  std::vector<StageAnswers::Made> told_;
  StageAnswers answers_{clock_,
                        [this](StageAnswers::Made made) { told_.push_back(std::move(made)); }};
};

TEST_F(StageAnswersTest, ABatchThatTheLaneHasPassedIsRefusedAndNoneOfItIsTold) {
  const StageAnswers::Made made = Give(Frame(kPassed));
  EXPECT_EQ(made.answer.status.code(), Code::kUnavailable);
  EXPECT_EQ(made.answer.batch, BatchId(5));
  EXPECT_EQ(made.answer.attempt, 6U);
  EXPECT_THAT(made.answer.pickle, IsEmpty());
  EXPECT_THAT(made.answer.python_error, IsEmpty());
}

TEST_F(StageAnswersTest, ABatchWhoseForerunnerTheLaneNeverHadIsRefused) {
  const StageAnswers::Made made = Give(Frame(kEarly));
  EXPECT_EQ(made.answer.status.code(), Code::kUnavailable);
  EXPECT_EQ(made.answer.batch, BatchId(5));
  EXPECT_THAT(made.answer.pickle, IsEmpty());
}

TEST_F(StageAnswersTest, AMadeBatchTellsWhatTheHostSaidAndWhatItCost) {
  const StageAnswers::Made made = Give(Frame(kMade));
  const wire::BatchDone& answer = made.answer;
  ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
  EXPECT_EQ(answer.session, SessionId(3));
  EXPECT_EQ(answer.iteration, IterationId(4));
  EXPECT_EQ(answer.batch, BatchId(5));
  EXPECT_EQ(answer.attempt, 6U);
  EXPECT_EQ(answer.pickle, Text("pickle"));
  EXPECT_THAT(answer.buffer_offsets, ElementsAre(0, 64));
  EXPECT_THAT(answer.buffer_sizes, ElementsAre(3, 4));
  EXPECT_EQ(answer.used_bytes, 68U);
  EXPECT_EQ(answer.needed_bytes, 70U);
  EXPECT_EQ(answer.lane_state, Text("state"));
  EXPECT_THAT(answer.python_error, IsEmpty());
  EXPECT_EQ(answer.output, "printed");
  EXPECT_EQ(answer.error_output, "warned");
  EXPECT_EQ(answer.state_change, "x changed");
  EXPECT_EQ(answer.samples, 2);
  EXPECT_FALSE(answer.lane_ended);
  EXPECT_EQ(answer.cost.native_images, 9U);
  EXPECT_EQ(answer.cost.miss_cpu_ns, 1234U);
  EXPECT_EQ(answer.cost.source_bytes, 77U);
  EXPECT_EQ(answer.cost.queue_ns, 20U);
  EXPECT_EQ(answer.cost.compute_ns, 300U);
  EXPECT_EQ(answer.cost.python_ns, 300U);
  EXPECT_EQ(answer.cost.wall_ns, 320U);
  EXPECT_EQ(made.hold, nullptr);  // it lies in the trainer's arena
}

TEST_F(StageAnswersTest, WhatRaisedOrEndedItsLaneHasNoBatch) {
  const wire::BatchDone raised = Give(Frame(kRaised)).answer;
  EXPECT_TRUE(raised.status.ok());
  EXPECT_EQ(raised.python_error, Text("error"));
  EXPECT_THAT(raised.pickle, IsEmpty());
  EXPECT_EQ(raised.used_bytes, 0U);
  EXPECT_EQ(raised.lane_state, Text("state"));
  const wire::BatchDone ended = Give(Frame(kEnded)).answer;
  EXPECT_TRUE(ended.status.ok());
  EXPECT_TRUE(ended.lane_ended);
  EXPECT_THAT(ended.python_error, IsEmpty());
  EXPECT_THAT(ended.pickle, IsEmpty());
}

TEST_F(StageAnswersTest, ASlotThatIsTooSmallIsSaidWithWhatWouldDo) {
  StageFrame frame = Frame(kTooSmall);
  frame.parts[2] = Numbers({5000});
  const wire::BatchDone answer = Give(std::move(frame)).answer;
  EXPECT_EQ(answer.status.code(), Code::kResourceExhausted);
  EXPECT_THAT(answer.status.message(), HasSubstr("5000 bytes, the slot has 4096"));
  EXPECT_EQ(answer.needed_bytes, 5000U);
}

TEST_F(StageAnswersTest, AFrameOfAnotherFormIsNoAnswer) {
  StageFrame other = Frame(kMade);
  other.kind = StageMessage::kForked;
  EXPECT_FALSE(StageAnswers::IsAnswer(other));
  StageFrame less = Frame(kMade);
  less.parts.pop_back();
  EXPECT_FALSE(StageAnswers::IsAnswer(less));
}

TEST_F(StageAnswersTest, NumbersThatAreNotOneAreAWrongAnswer) {
  for (const std::size_t part : {1U, 2U, 10U, 11U, 12U}) {
    StageFrame none = Frame(kMade);
    none.parts[part].clear();
    EXPECT_EQ(CodeOf(std::move(none)), Code::kUnavailable) << part;
    StageFrame two = Frame(kMade);
    two.parts[part] = Numbers({1, 2});
    EXPECT_EQ(CodeOf(std::move(two)), Code::kUnavailable) << part;
  }
}

TEST_F(StageAnswersTest, BuffersOutsideOfTheSlotAreAWrongAnswer) {
  StageFrame outside = Frame(kMade);
  outside.parts[4] = Numbers({0, 4093});
  EXPECT_EQ(CodeOf(std::move(outside)), Code::kUnavailable);
  StageFrame without_size = Frame(kMade);
  without_size.parts[5] = Numbers({3});
  EXPECT_EQ(CodeOf(std::move(without_size)), Code::kUnavailable);
}

TEST_F(StageAnswersTest, CountsThatAreTooLargeAreCutToWhatTheAnswerHolds) {
  StageFrame frame = Frame(kMade);
  frame.parts[10] = Numbers(std::vector<std::uint64_t>(3, ~std::uint64_t{0}));
  frame.parts[11] = Numbers({~std::uint64_t{0}});
  const wire::BatchDone answer = Give(std::move(frame)).answer;
  EXPECT_EQ(answer.cost.native_images, 0xFFFFFFFFU);
  EXPECT_EQ(answer.cost.leaf_hits, 0xFFFFFFFFU);
  EXPECT_EQ(answer.cost.leaf_misses, 0xFFFFFFFFU);
  EXPECT_EQ(answer.samples, 0x7FFFFFFF);
}

TEST_F(StageAnswersTest, LeavesAreCountedWhereTheLaneSaysThem) {
  StageFrame frame = Frame(kMade);
  frame.parts[10] = Numbers({9, 5, 2});
  const wire::BatchCost cost = Give(std::move(frame)).answer.cost;
  EXPECT_EQ(cost.native_images, 9U);
  EXPECT_EQ(cost.leaf_hits, 5U);
  EXPECT_EQ(cost.leaf_misses, 2U);
  EXPECT_EQ(Give(Frame(kMade)).answer.cost.leaf_hits, 0U);
  for (const auto& numbers : {Numbers({}), Numbers({9, 5}), Numbers({9, 5, 2, 1})}) {
    StageFrame other = Frame(kMade);
    other.parts[10] = numbers;
    EXPECT_EQ(CodeOf(std::move(other)), Code::kUnavailable);
  }
}

TEST_F(StageAnswersTest, OutputIsCutAndAPickleThatNoMessageCarriesIsRefused) {
  StageFrame frame = Frame(kMade);
  frame.parts[8] = Bytes((1 << 20) + 1);
  EXPECT_THAT(Give(std::move(frame)).answer.output, SizeIs(1 << 20));
  for (const auto& [outcome, part] :
       std::vector<std::pair<Outcome, std::size_t>>{{kMade, 3}, {kMade, 6}, {kRaised, 7}}) {
    StageFrame large = Frame(outcome);
    large.parts[part] = Bytes(wire::kMaxBodyBytes / 2 + 1);
    EXPECT_EQ(CodeOf(std::move(large)), Code::kUnsupported) << part;
  }
}

TEST_F(StageAnswersTest, ABatchInMemoryOfItsOwnTakesItAlong) {
  UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  job_.arena = *ArenaMap::Map(std::move(file), 4096);
  job_.own_memory = true;
  const StageAnswers::Made made = Give(Frame(kMade));
  EXPECT_EQ(made.memory.size(), 68U);
  EXPECT_EQ(made.hold, job_.arena);
  // Without buffers there is nothing to take.
  StageFrame empty = Frame(kMade);
  empty.parts[4].clear();
  empty.parts[5].clear();
  EXPECT_EQ(Give(std::move(empty)).hold, nullptr);
}

TEST_F(StageAnswersTest, AJobThatWasCancelledIsAnsweredSo) {
  job_.cancelled = true;
  EXPECT_EQ(CodeOf(Frame(kMade)), Code::kCancelled);
  // It was not made, so that nothing crossed its answer.
  EXPECT_FALSE(answers_.Crossed(job_.request));
}

TEST_F(StageAnswersTest, ARefusalOfAJobThatHasNotBegunTookTheQueueAlone) {
  job_.started = SteadyTime();
  answers_.Refuse(job_, Unavailable("gone"));
  const wire::BatchDone answer = TakeLast().answer;
  EXPECT_EQ(answer.status.code(), Code::kUnavailable);
  EXPECT_EQ(answer.cost.compute_ns, 0U);
  EXPECT_EQ(answer.cost.queue_ns, 320U);
  EXPECT_FALSE(answers_.Crossed(job_.request));
}

TEST_F(StageAnswersTest, LaterAttemptsAreAnsweredAfterTheFirst) {
  job_.repeats = {8, 9};
  answers_.Give(job_, Frame(kMade), 0);
  ASSERT_THAT(told_, SizeIs(3));
  EXPECT_TRUE(told_[0].answer.status.ok());
  EXPECT_EQ(told_[0].answer.attempt, 6U);
  EXPECT_EQ(told_[1].answer.status.code(), Code::kCancelled);
  EXPECT_EQ(told_[1].answer.attempt, 8U);
  EXPECT_EQ(told_[2].answer.attempt, 9U);
}

TEST_F(StageAnswersTest, OneRequestCrossesTheAnswerAndTheNextOneDoesNot) {
  answers_.Give(job_, Frame(kMade), 0);
  wire::BatchRequest other = job_.request;
  other.lane_set = 1;
  EXPECT_FALSE(answers_.Crossed(other));
  EXPECT_TRUE(answers_.Crossed(job_.request));
  EXPECT_FALSE(answers_.Crossed(job_.request));
}

TEST_F(StageAnswersTest, OnlyTheLastBatchesAreRemembered) {
  const wire::BatchRequest first = job_.request;
  answers_.Give(job_, Frame(kMade), 0);
  job_.request.batch = BatchId(100);
  const wire::BatchRequest second = job_.request;
  for (int i = 0; i < 256; ++i) {
    job_.request.batch = BatchId(100 + i);
    answers_.Give(job_, Frame(kMade), 0);
  }
  EXPECT_FALSE(answers_.Crossed(first));
  EXPECT_TRUE(answers_.Crossed(second));
}

}  // namespace
}  // namespace headrace::dataworker
