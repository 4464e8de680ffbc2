#include "trainer_client/session/trials.h"

#include <vector>

#include "gtest/gtest.h"

namespace headrace::client {
namespace {

using Standing = Trials::Standing;

constexpr WorkerId kReference(1), kTried(2), kFar(3);

// Makes trials with one reference and one trusted worker.
Trials WithATrustedOne(std::uint64_t compare_every) {
  Trials trials({.equal_for_trust = 1, .compare_every = compare_every});
  trials.Ready(kReference, true);
  trials.Ready(kTried, false);
  EXPECT_EQ(trials.OnSent(kReference, 0).size(), 1U);
  EXPECT_EQ(trials.OnCompared(kTried, true), Standing::kTrusted);
  return trials;
}

TEST(Trials, AReferenceServesAtOnceAndOthersOnlyAfterTheirTrial) {
  Trials trials({.equal_for_trust = 2});
  EXPECT_FALSE(trials.may_serve(kReference)) << "nobody has heard of it";
  trials.Ready(kReference, true);
  trials.Ready(kTried, false);
  EXPECT_TRUE(trials.may_serve(kReference));
  EXPECT_FALSE(trials.may_serve(kTried));
  ASSERT_EQ(trials.OnSent(kReference, 0).size(), 1U);
  EXPECT_EQ(trials.OnCompared(kTried, true), Standing::kOnTrial);
  EXPECT_FALSE(trials.may_serve(kTried)) << "one is not two";
  ASSERT_EQ(trials.OnSent(kReference, 1).size(), 1U);
  EXPECT_EQ(trials.OnCompared(kTried, true), Standing::kTrusted);
  EXPECT_TRUE(trials.may_serve(kTried));
}

TEST(Trials, EachWorkerOnTrialCopiesWhatAReferenceMakesOneAtATime) {
  Trials trials({});
  trials.Ready(kReference, true);
  trials.Ready(kTried, false);
  trials.Ready(kFar, false);
  const std::vector<Trials::Shadow> shadows = trials.OnSent(kReference, 0);
  ASSERT_EQ(shadows.size(), 2U);
  EXPECT_EQ(shadows[0].maker, kTried);
  EXPECT_EQ(shadows[0].tried, kTried);
  EXPECT_EQ(shadows[1].maker, kFar);
  EXPECT_TRUE(trials.OnSent(kReference, 1).empty()) << "both have one";
  trials.OnLost(kFar);
  ASSERT_EQ(trials.OnSent(kReference, 2).size(), 1U) << "a lost one is nothing";
  EXPECT_EQ(trials.standing(kFar), Standing::kOnTrial);
}

TEST(Trials, ADifferenceWithdrawsForGoodAlsoOverAnEnd) {
  Trials trials = WithATrustedOne(1);
  ASSERT_EQ(trials.OnSent(kTried, 1).size(), 1U);
  EXPECT_EQ(trials.OnCompared(kTried, false), Standing::kWithdrawn);
  EXPECT_FALSE(trials.may_serve(kTried));
  EXPECT_EQ(trials.OnCompared(kTried, true), Standing::kWithdrawn);
  trials.Gone(kTried);
  trials.Ready(kTried, false);
  EXPECT_EQ(trials.standing(kTried), Standing::kWithdrawn);
  EXPECT_TRUE(trials.OnSent(kReference, 2).empty()) << "nothing is asked of it";
}

TEST(Trials, AnotherProcessBeginsAnewAndAMuteOneDoesNot) {
  Trials trials = WithATrustedOne(1);
  trials.Away(kTried);
  trials.Ready(kTried, false);
  EXPECT_EQ(trials.standing(kTried), Standing::kTrusted);
  trials.Gone(kTried);
  trials.Ready(kTried, false);
  EXPECT_EQ(trials.standing(kTried), Standing::kOnTrial);
}

TEST(Trials, NothingIsAskedOfAWorkerThatIsAway) {
  Trials trials({});
  trials.Ready(kReference, true);
  trials.Ready(kTried, false);
  trials.Away(kTried);
  EXPECT_TRUE(trials.OnSent(kReference, 0).empty());
  Trials trusted = WithATrustedOne(1);
  trusted.Away(kReference);
  EXPECT_TRUE(trusted.OnSent(kTried, 1).empty()) << "no reference answers";
  trusted.Ready(kReference, true);
  EXPECT_EQ(trusted.OnSent(kTried, 1).size(), 1U);
}

TEST(Trials, AShareOfATrustedWorkersBatchesIsMadeAgainByAReference) {
  Trials trials = WithATrustedOne(16);
  int compared = 0;
  for (std::int64_t ticket = 0; ticket < 16'000; ++ticket) {
    EXPECT_TRUE(trials.OnSent(kReference, ticket).empty()) << "nobody is on trial";
    const std::vector<Trials::Shadow> shadows = trials.OnSent(kTried, ticket);
    if (shadows.empty()) continue;
    EXPECT_EQ(shadows[0].maker, kReference);
    EXPECT_EQ(shadows[0].tried, kTried);
    EXPECT_TRUE(trials.OnSent(kTried, ticket).empty()) << "one at a time";
    EXPECT_EQ(trials.OnCompared(kTried, true), Standing::kTrusted);
    ++compared;
  }
  EXPECT_GT(compared, 850);
  EXPECT_LT(compared, 1150);
}

TEST(Trials, ComparisonsOfTrustedWorkersCanBeTurnedOff) {
  Trials trials = WithATrustedOne(0);
  for (std::int64_t ticket = 0; ticket < 1000; ++ticket) {
    EXPECT_TRUE(trials.OnSent(kTried, ticket).empty());
  }
}

}  // namespace
}  // namespace headrace::client
