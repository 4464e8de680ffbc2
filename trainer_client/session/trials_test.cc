#include "trainer_client/session/trials.h"

#include <vector>

#include "gtest/gtest.h"

namespace headrace::client {
namespace {

using Standing = Trials::Standing;

constexpr WorkerId kHere(1), kThere(2), kFar(3);

// Makes trials with one reference and one trusted worker.
Trials WithATrustedOne(std::uint64_t compare_every) {
  Trials trials({.equal_for_trust = 1, .compare_every = compare_every});
  trials.Ready(kHere, true);
  trials.Ready(kThere, false);
  EXPECT_EQ(trials.OnSent(kHere, 0).size(), 1U);
  EXPECT_EQ(trials.OnCompared(kThere, true), Standing::kTrusted);
  return trials;
}

TEST(Trials, AReferenceServesAtOnceAndOthersOnlyAfterTheirTrial) {
  Trials trials({.equal_for_trust = 2});
  EXPECT_FALSE(trials.may_serve(kHere)) << "nobody has heard of it";
  trials.Ready(kHere, true);
  trials.Ready(kThere, false);
  EXPECT_TRUE(trials.may_serve(kHere));
  EXPECT_FALSE(trials.may_serve(kThere));
  ASSERT_EQ(trials.OnSent(kHere, 0).size(), 1U);
  EXPECT_EQ(trials.OnCompared(kThere, true), Standing::kOnTrial);
  EXPECT_FALSE(trials.may_serve(kThere)) << "one is not two";
  ASSERT_EQ(trials.OnSent(kHere, 1).size(), 1U);
  EXPECT_EQ(trials.OnCompared(kThere, true), Standing::kTrusted);
  EXPECT_TRUE(trials.may_serve(kThere));
}

TEST(Trials, EachWorkerOnTrialCopiesWhatAReferenceMakesOneAtATime) {
  Trials trials({});
  trials.Ready(kHere, true);
  trials.Ready(kThere, false);
  trials.Ready(kFar, false);
  const std::vector<Trials::Shadow> shadows = trials.OnSent(kHere, 0);
  ASSERT_EQ(shadows.size(), 2U);
  EXPECT_EQ(shadows[0].maker, kThere);
  EXPECT_EQ(shadows[0].tried, kThere);
  EXPECT_EQ(shadows[1].maker, kFar);
  EXPECT_TRUE(trials.OnSent(kHere, 1).empty()) << "both have one";
  trials.OnLost(kFar);
  ASSERT_EQ(trials.OnSent(kHere, 2).size(), 1U) << "a lost one is nothing";
  EXPECT_EQ(trials.standing(kFar), Standing::kOnTrial);
}

TEST(Trials, ADifferenceWithdrawsForGoodAlsoOverAnEnd) {
  Trials trials = WithATrustedOne(1);
  ASSERT_EQ(trials.OnSent(kThere, 1).size(), 1U);
  EXPECT_EQ(trials.OnCompared(kThere, false), Standing::kWithdrawn);
  EXPECT_FALSE(trials.may_serve(kThere));
  EXPECT_EQ(trials.OnCompared(kThere, true), Standing::kWithdrawn);
  trials.Gone(kThere);
  trials.Ready(kThere, false);
  EXPECT_EQ(trials.standing(kThere), Standing::kWithdrawn);
  EXPECT_TRUE(trials.OnSent(kHere, 2).empty()) << "nothing is asked of it";
}

TEST(Trials, AnotherProcessBeginsAnewAndAMuteOneDoesNot) {
  Trials trials = WithATrustedOne(1);
  trials.Away(kThere);
  trials.Ready(kThere, false);
  EXPECT_EQ(trials.standing(kThere), Standing::kTrusted);
  trials.Gone(kThere);
  trials.Ready(kThere, false);
  EXPECT_EQ(trials.standing(kThere), Standing::kOnTrial);
}

TEST(Trials, NothingIsAskedOfAWorkerThatIsAway) {
  Trials trials({});
  trials.Ready(kHere, true);
  trials.Ready(kThere, false);
  trials.Away(kThere);
  EXPECT_TRUE(trials.OnSent(kHere, 0).empty());
  Trials trusted = WithATrustedOne(1);
  trusted.Away(kHere);
  EXPECT_TRUE(trusted.OnSent(kThere, 1).empty()) << "no reference answers";
  trusted.Ready(kHere, true);
  EXPECT_EQ(trusted.OnSent(kThere, 1).size(), 1U);
}

TEST(Trials, AShareOfATrustedWorkersBatchesIsMadeAgainByAReference) {
  Trials trials = WithATrustedOne(16);
  int compared = 0;
  for (std::int64_t ticket = 0; ticket < 16'000; ++ticket) {
    EXPECT_TRUE(trials.OnSent(kHere, ticket).empty()) << "nobody is on trial";
    const std::vector<Trials::Shadow> shadows = trials.OnSent(kThere, ticket);
    if (shadows.empty()) continue;
    EXPECT_EQ(shadows[0].maker, kHere);
    EXPECT_EQ(shadows[0].tried, kThere);
    EXPECT_TRUE(trials.OnSent(kThere, ticket).empty()) << "one at a time";
    EXPECT_EQ(trials.OnCompared(kThere, true), Standing::kTrusted);
    ++compared;
  }
  EXPECT_GT(compared, 850);
  EXPECT_LT(compared, 1150);
}

TEST(Trials, ComparisonsOfTrustedWorkersCanBeTurnedOff) {
  Trials trials = WithATrustedOne(0);
  for (std::int64_t ticket = 0; ticket < 1000; ++ticket) {
    EXPECT_TRUE(trials.OnSent(kThere, ticket).empty());
  }
}

}  // namespace
}  // namespace headrace::client
