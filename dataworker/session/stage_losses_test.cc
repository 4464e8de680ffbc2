#include "dataworker/session/stage_losses.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

TEST(StageLosses, AttachingAgainMayHelpUntilTheThirdLoss) {
  const SessionId session(5), other(6);
  StageLosses losses;
  for (int loss = 1; loss < StageLosses::kMost; ++loss) {
    const Status lost = losses.Add(session, "it crashed");
    EXPECT_EQ(lost.code(), Code::kNotFound);
    EXPECT_THAT(lost.message(), HasSubstr("session 5 was lost: it crashed"));
    EXPECT_TRUE(losses.Check(session).ok());
  }
  EXPECT_EQ(losses.Add(session, "it was killed").code(), Code::kUnsupported);
  const Status refused = losses.Check(session);
  EXPECT_EQ(refused.code(), Code::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("3 times on this worker; the last time it was killed"));
  EXPECT_TRUE(losses.Check(other).ok());
}

TEST(StageLosses, AsManyAsAreRememberedAndTheOldestSessionGoes) {
  StageLosses losses;
  for (int loss = 0; loss < StageLosses::kMost; ++loss) (void)losses.Add(SessionId(1), "x");
  for (int session = 2; session <= 4096; ++session) (void)losses.Add(SessionId(session), "x");
  (void)losses.Add(SessionId(2), "x");  // known: takes no other's place
  EXPECT_FALSE(losses.Check(SessionId(1)).ok());
  (void)losses.Add(SessionId(4097), "x");
  EXPECT_TRUE(losses.Check(SessionId(1)).ok());
}

}  // namespace
}  // namespace headrace::dataworker
