#include "trainer_client/session/trials.h"

#include <vector>

#include "gtest/gtest.h"

namespace headrace::client {
namespace {

using Standing = Trials::Standing;

constexpr WorkerId kReference(1), kOnTrial(2), kFar(3);

// Makes trials with one reference and one trusted worker.
Trials WithATrustedOne(std::uint64_t compare_every) {
  Trials trials({.equal_for_trust = 1, .compare_every = compare_every});
  trials.Ready(kReference, true);
  trials.Ready(kOnTrial, false);
  EXPECT_EQ(trials.OnSent(kReference, 0).size(), 1U);
  EXPECT_EQ(trials.OnCompared(kOnTrial, true), Standing::kTrusted);
  return trials;
}

TEST(Trials, AReferenceServesAtOnceAndOthersOnlyAfterTheirTrial) {
  Trials trials({.equal_for_trust = 2});
  EXPECT_FALSE(trials.may_serve(kReference)) << "nobody has heard of it";
  trials.Ready(kReference, true);
  trials.Ready(kOnTrial, false);
  EXPECT_TRUE(trials.may_serve(kReference));
  EXPECT_FALSE(trials.may_serve(kOnTrial));
  ASSERT_EQ(trials.OnSent(kReference, 0).size(), 1U);
  EXPECT_EQ(trials.OnCompared(kOnTrial, true), Standing::kOnTrial);
  EXPECT_FALSE(trials.may_serve(kOnTrial)) << "one is not two";
  ASSERT_EQ(trials.OnSent(kReference, 1).size(), 1U);
  EXPECT_EQ(trials.OnCompared(kOnTrial, true), Standing::kTrusted);
  EXPECT_TRUE(trials.may_serve(kOnTrial));
}

TEST(Trials, EachWorkerOnTrialCopiesWhatAReferenceMakesOneAtATime) {
  Trials trials({});
  trials.Ready(kReference, true);
  trials.Ready(kOnTrial, false);
  trials.Ready(kFar, false);
  const std::vector<Trials::Shadow> shadows = trials.OnSent(kReference, 0);
  ASSERT_EQ(shadows.size(), 2U);
  EXPECT_EQ(shadows[0].maker, kOnTrial);
  EXPECT_EQ(shadows[0].tried, kOnTrial);
  EXPECT_EQ(shadows[1].maker, kFar);
  EXPECT_TRUE(trials.OnSent(kReference, 1).empty()) << "both have one";
  trials.OnLost(kFar);
  ASSERT_EQ(trials.OnSent(kReference, 2).size(), 1U) << "a lost one is nothing";
  EXPECT_EQ(trials.standing(kFar), Standing::kOnTrial);
}

TEST(Trials, ADifferenceWithdrawsForGoodAlsoOverAnEnd) {
  Trials trials = WithATrustedOne(1);
  ASSERT_EQ(trials.OnSent(kOnTrial, 1).size(), 1U);
  EXPECT_EQ(trials.OnCompared(kOnTrial, false), Standing::kWithdrawn);
  EXPECT_FALSE(trials.may_serve(kOnTrial));
  EXPECT_EQ(trials.OnCompared(kOnTrial, true), Standing::kWithdrawn);
  trials.Gone(kOnTrial);
  trials.Ready(kOnTrial, false);
  EXPECT_EQ(trials.standing(kOnTrial), Standing::kWithdrawn);
  EXPECT_TRUE(trials.OnSent(kReference, 2).empty()) << "nothing is asked of it";
}

TEST(Trials, AnotherProcessBeginsAnewAndAMuteOneDoesNot) {
  Trials trials = WithATrustedOne(1);
  trials.Away(kOnTrial);
  trials.Ready(kOnTrial, false);
  EXPECT_EQ(trials.standing(kOnTrial), Standing::kTrusted);
  trials.Gone(kOnTrial);
  trials.Ready(kOnTrial, false);
  EXPECT_EQ(trials.standing(kOnTrial), Standing::kOnTrial);
}

TEST(Trials, NothingIsAskedOfAWorkerThatIsAway) {
  Trials trials({});
  trials.Ready(kReference, true);
  trials.Ready(kOnTrial, false);
  trials.Away(kOnTrial);
  EXPECT_TRUE(trials.OnSent(kReference, 0).empty());
  Trials trusted = WithATrustedOne(1);
  trusted.Away(kReference);
  EXPECT_TRUE(trusted.OnSent(kOnTrial, 1).empty()) << "no reference answers";
  trusted.Ready(kReference, true);
  EXPECT_EQ(trusted.OnSent(kOnTrial, 1).size(), 1U);
}

TEST(Trials, AShareOfATrustedWorkersBatchesIsMadeAgainByAReference) {
  Trials trials = WithATrustedOne(16);
  int compared = 0;
  for (std::int64_t ticket = 0; ticket < 16'000; ++ticket) {
    EXPECT_TRUE(trials.OnSent(kReference, ticket).empty()) << "nobody is on trial";
    const std::vector<Trials::Shadow> shadows = trials.OnSent(kOnTrial, ticket);
    if (shadows.empty()) continue;
    EXPECT_EQ(shadows[0].maker, kReference);
    EXPECT_EQ(shadows[0].tried, kOnTrial);
    EXPECT_TRUE(trials.OnSent(kOnTrial, ticket).empty()) << "one at a time";
    EXPECT_EQ(trials.OnCompared(kOnTrial, true), Standing::kTrusted);
    ++compared;
  }
  EXPECT_GT(compared, 850);
  EXPECT_LT(compared, 1150);
}

TEST(Trials, ComparisonsOfTrustedWorkersCanBeTurnedOff) {
  Trials trials = WithATrustedOne(0);
  for (std::int64_t ticket = 0; ticket < 1000; ++ticket) {
    EXPECT_TRUE(trials.OnSent(kOnTrial, ticket).empty());
  }
}

}  // namespace
}  // namespace headrace::client
