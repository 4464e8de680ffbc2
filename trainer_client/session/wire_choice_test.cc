#include "trainer_client/session/wire_choice.h"

#include "gtest/gtest.h"
#include "ops/core/test_util.h"

namespace headrace::client {
namespace {

using ops::testing::Libraries;
using ops::testing::MakeNode;
using std::chrono::microseconds;

constexpr WorkerId kWorker(1);
constexpr std::uint64_t kBytes = 1'000'000;

std::optional<ops::Finisher> FinisherOf(const std::string& dtype = "float32") {
  const Result<ops::Chain> chain =
      ops::Chain::Compile({MakeNode("decode"), MakeNode("to_image"),
                           MakeNode("to_dtype", {{"dtype", dtype}, {"scale", std::int64_t{1}}})},
                          Libraries(), {});
  return *ops::Finisher::Make(*chain, chain->tail());
}

TEST(Uint8Pays, TheSlowerOfNetworkAndTrainerCounts) {
  const WireCosts narrow{.link = 8, .receive = 0.5, .finish = 2, .ratio = 4};
  EXPECT_TRUE(Uint8Pays(narrow));
  // The link is never waited for; the trainer finishes longer than it would copy.
  EXPECT_FALSE(Uint8Pays({.link = 0.01, .receive = 0.5, .finish = 1.6, .ratio = 4}));
  EXPECT_TRUE(Uint8Pays({.link = 0.01, .receive = 0.5, .finish = 1.4, .ratio = 4}));
  // Nothing is saved on the way.
  EXPECT_FALSE(Uint8Pays({.link = 8, .receive = 0.5, .finish = 0.5, .ratio = 1}));
  EXPECT_FALSE(Uint8Pays({.link = 1, .receive = 0.5, .finish = 100, .ratio = 4}));
}

TEST(WireChoice, ThePlanOrTheProgramMayLeaveNoChoice) {
  EXPECT_EQ(WireChoice(WireForm::kUint8, std::nullopt).TailFor(kWorker, false), 0);
  EXPECT_EQ(WireChoice(WireForm::kAsMade, FinisherOf()).TailFor(kWorker, false), 0);
  WireChoice always(WireForm::kUint8, FinisherOf());
  for (int i = 0; i < 100; ++i) always.Finished(kBytes, microseconds(100'000));
  EXPECT_EQ(always.TailFor(kWorker, false), 1);
}

TEST(WireChoice, WhatIsAssumedSendsUint8BetweenHosts) {
  for (const char* dtype : {"float16", "float32", "float64"}) {
    EXPECT_EQ(WireChoice(WireForm::kAuto, FinisherOf(dtype)).TailFor(kWorker, false), 1) << dtype;
    EXPECT_EQ(WireChoice(WireForm::kAuto, FinisherOf(dtype)).TailFor(kWorker, true), 1) << dtype;
  }
}

TEST(WireChoice, AFastLinkAndASlowTrainerSendBatchesAsMadeUntilTheLinkIsNarrow) {
  WireChoice choice(WireForm::kAuto, FinisherOf());
  for (int i = 0; i < 100; ++i) choice.Finished(kBytes, microseconds(2'500));  // 2.5 ns
  choice.Came(kWorker, kBytes, microseconds(100));                             // 0.1 ns
  EXPECT_EQ(choice.TailFor(kWorker, false), 0);
  EXPECT_EQ(choice.TailFor(WorkerId(2), false), 1) << "of another link, nothing is known";
  for (int i = 0; i < 100; ++i) choice.Came(kWorker, kBytes, microseconds(2'000));
  EXPECT_EQ(choice.TailFor(kWorker, false), 1);
  choice.Came(kWorker, kBytes, microseconds(100));  // the others have waited for one another
  EXPECT_EQ(choice.TailFor(kWorker, false), 0);
  for (int i = 0; i < 100; ++i) choice.Came(kWorker, 1000, microseconds(100'000));
  EXPECT_EQ(choice.TailFor(kWorker, false), 0) << "small messages tell of latency";
}

}  // namespace
}  // namespace headrace::client
