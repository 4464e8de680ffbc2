#include "trainer_client/session/batch_answers.h"

#include "gtest/gtest.h"

namespace headrace::client {
namespace {

Dispatcher::Answer KindOf(Code code, std::uint64_t needed_bytes = 0,
                          Detail detail = Detail::kNone) {
  wire::BatchDone done;
  if (code != Code::kOk) done.status = Status(code, "why", detail);
  done.needed_bytes = needed_bytes;
  return AnswerKind(done);
}

TEST(AnswerKind, WhatAnotherWorkerMayMakeIsNoFailure) {
  EXPECT_EQ(KindOf(Code::kOk), Dispatcher::Answer::kMade);
  for (const Code code : {Code::kUnavailable, Code::kDeadlineExceeded, Code::kDataLoss,
                          Code::kInternal, Code::kUnknown}) {
    EXPECT_EQ(KindOf(code), Dispatcher::Answer::kRefused);
  }
  for (const Code code : {Code::kInvalidArgument, Code::kInfeasible, Code::kUnsupported}) {
    EXPECT_EQ(KindOf(code), Dispatcher::Answer::kFailed);
  }
}

TEST(AnswerKind, ASlotIsTooSmallWhereTheWorkerSaysHowMuchItTakes) {
  EXPECT_EQ(KindOf(Code::kResourceExhausted, 1), Dispatcher::Answer::kTooSmall);
  EXPECT_EQ(KindOf(Code::kResourceExhausted), Dispatcher::Answer::kRefused);
  EXPECT_EQ(KindOf(Code::kResourceExhausted, 1, Detail::kSlotTooSmall),
            Dispatcher::Answer::kTooSmall);
  // It does not say which slot would do: asking again would never end.
  EXPECT_EQ(KindOf(Code::kResourceExhausted, 0, Detail::kSlotTooSmall),
            Dispatcher::Answer::kRefused);
}

TEST(AnswerKind, WhatIsMissingIsNotAlwaysTheSession) {
  EXPECT_EQ(KindOf(Code::kNotFound, 0, Detail::kNoSession), Dispatcher::Answer::kNoSession);
  EXPECT_EQ(KindOf(Code::kNotFound, 0, Detail::kNoFile), Dispatcher::Answer::kRefused);
}

TEST(AnswerKind, AWorkerThatForgotTheSessionIsNotRefusing) {
  EXPECT_EQ(KindOf(Code::kNotFound), Dispatcher::Answer::kNoSession);
  EXPECT_EQ(KindOf(Code::kCancelled), Dispatcher::Answer::kCancelled);
}

}  // namespace
}  // namespace headrace::client
