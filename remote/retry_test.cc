#include "remote/retry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::remote {
namespace {

using Failure = Outcome::Failure;
using std::chrono::milliseconds;
using std::chrono::seconds;

Verdict Of(int status, const char* code = "", int tries = 1) {
  return Judge({.status = status, .failure = Failure::kNone, .code = code, .retry_after = {}}, {},
               tries, {});
}

TEST(Retry, WhatPassesIsTriedAgainAndNothingElse) {
  for (const int status : {408, 429, 500, 502, 503, 504}) {
    EXPECT_EQ(Of(status), Verdict::kAgain) << status;
    EXPECT_EQ(Of(status, "", 7), Verdict::kAgain) << status;
    EXPECT_EQ(Of(status, "", 8), Verdict::kFailed) << status;
  }
  EXPECT_EQ(Of(400, "RequestTimeout"), Verdict::kAgain);
  for (const int status : {301, 400, 401, 403, 404, 405, 410, 416, 501, 505}) {
    EXPECT_EQ(Of(status), Verdict::kFailed) << status;
  }
  for (const int status : {200, 204, 206}) EXPECT_EQ(Of(status), Verdict::kDone);
  EXPECT_EQ(Of(412), Verdict::kAgainFromStart);
  EXPECT_EQ(Of(412, "", 8), Verdict::kFailed);
}

TEST(Retry, WhatCanBePutRightIsOnceHoweverManyTriesWereBefore) {
  const auto of = [](const Outcome& outcome, Verdict expected) {
    Remedies done;
    EXPECT_EQ(Judge(outcome, {}, 5, done), expected);
    EXPECT_TRUE(NoteRemedy(expected, done));
    EXPECT_EQ(Judge(outcome, {}, 1, done), Verdict::kFailed);
  };
  of({.status = 400, .code = "ExpiredToken"}, Verdict::kAgainRenewed);
  of({.status = 403, .code = "RequestTimeTooSkewed"}, Verdict::kAgainInTime);
  for (const int status : {301, 307, 400, 403}) {
    of({.status = status, .region = "eu-west-1"}, Verdict::kAgainInRegion);
  }
  of({.status = 400, .untold = true}, Verdict::kAgainForCode);
  of({.status = 416, .beyond = true}, Verdict::kAgainForSize);
  EXPECT_EQ(Of(403, "AccessDenied"), Verdict::kFailed);
  EXPECT_EQ(Of(403, "SignatureDoesNotMatch"), Verdict::kFailed);
  EXPECT_EQ(Judge({.status = 404, .region = "eu-west-1"}, {}, 1, {}), Verdict::kFailed);
  Remedies none;
  for (const Verdict verdict :
       {Verdict::kDone, Verdict::kAgain, Verdict::kAgainFromStart, Verdict::kFailed}) {
    EXPECT_FALSE(NoteRemedy(verdict, none));
  }
}

TEST(Retry, OneRemedyLeavesTheOthers) {
  Remedies done{.timed = true, .moved = true};
  EXPECT_EQ(Judge({.status = 400, .code = "ExpiredToken"}, {}, 1, done), Verdict::kAgainRenewed);
}

TEST(Retry, BrokenConnectionsAreTriedAgainAndRefusedOnesNever) {
  const auto of = [](Failure failure) { return Judge({.failure = failure}, {}, 1, {}); };
  for (const Failure failure :
       {Failure::kConnect, Failure::kTimeout, Failure::kBroken, Failure::kDamaged}) {
    EXPECT_EQ(of(failure), Verdict::kAgain);
  }
  EXPECT_EQ(of(Failure::kChanged), Verdict::kAgainFromStart);
  EXPECT_EQ(of(Failure::kForbidden), Verdict::kFailed);
  EXPECT_EQ(of(Failure::kOther), Verdict::kFailed);
}

TEST(Retry, PausesDoubleAreDrawnAndHonourTheStore) {
  const RetryRules rules;
  EXPECT_EQ(PauseBefore({}, rules, 1, 0.5), milliseconds(50));
  EXPECT_EQ(PauseBefore({}, rules, 4, 0.5), milliseconds(400));
  EXPECT_EQ(PauseBefore({}, rules, 4, 0.0), Duration(0));
  EXPECT_EQ(PauseBefore({}, rules, 60, 0.5), seconds(10));
  EXPECT_EQ(PauseBefore({.retry_after = seconds(3)}, rules, 1, 0.5), seconds(3));
  EXPECT_EQ(PauseBefore({.retry_after = milliseconds(1)}, rules, 1, 0.5), milliseconds(50));
}

TEST(Retry, TheBudgetEndsAStormAndLastsWhereRetriesHelp) {
  RetryBudget storm;
  int retries = 0;
  while (storm.Take()) ++retries;
  EXPECT_EQ(retries, RetryBudget::kFull / RetryBudget::kOfRetry);
  storm.Succeed(0);
  EXPECT_FALSE(storm.Take());
  RetryBudget useful;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(useful.Take());
    useful.Succeed(1);
  }
  EXPECT_EQ(useful.left(), RetryBudget::kFull);
}

TEST(Retry, ErrorsSayWhatHappenedToWhat) {
  const Status gone = StatusOf({.status = 404, .code = "NoSuchKey"}, "https://h/b/k", 1);
  EXPECT_EQ(gone.code(), Code::kNotFound);
  EXPECT_EQ(gone.detail(), Detail::kNoFile);
  EXPECT_EQ(gone.message(), "https://h/b/k: 404 NoSuchKey");
  const Status slow = StatusOf({.status = 503, .code = "SlowDown"}, "https://h/b/k", 8);
  EXPECT_EQ(slow.code(), Code::kUnavailable);
  EXPECT_EQ(slow.message(), "https://h/b/k: 503 SlowDown, after 8 tries");
  EXPECT_EQ(StatusOf({.failure = Failure::kForbidden}, "n", 1).detail(), Detail::kNotAllowed);
}

}  // namespace
}  // namespace headrace::remote
