#include "trainer_client/session/bad_samples.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "schemas/wire/bad_samples.h"

namespace headrace::client {
namespace {

using Rows = std::vector<std::int64_t>;

TEST(ClientBadSamples, WhatIsInTwoLostBatchesIsHeldBack) {
  BadSamples bad;
  const auto held_back = bad.HeldBack(7);
  EXPECT_TRUE(bad.Lost(7, Rows{1, 2, 3}).empty()) << "it may be any of them";
  EXPECT_TRUE(bad.Lost(8, Rows{3, 4}).empty()) << "another data set";
  EXPECT_TRUE(held_back->empty());
  EXPECT_EQ(bad.Lost(7, Rows{9, 3, 5}), (Rows{3}));
  EXPECT_EQ(*held_back, (BadSamples::Rows{3}));
  EXPECT_EQ(bad.version(), 1U);
  EXPECT_TRUE(bad.Lost(7, Rows{1, 2}).empty()) << "the first batch was explained";
}

// Without a shuffle the same batch comes in each epoch: nothing says which sample it is.
TEST(ClientBadSamples, ABatchThatIsLostAgainAsItWasIsHeldBackWhole) {
  BadSamples bad;
  EXPECT_TRUE(bad.Lost(7, Rows{1, 2}).empty());
  EXPECT_EQ(bad.Lost(7, Rows{1, 2}), (Rows{1, 2}));
}

TEST(ClientBadSamples, WhatWasAloneInItsBatchIsHeldBackAtOnce) {
  BadSamples bad;
  EXPECT_EQ(bad.Lost(7, Rows{5}), (Rows{5}));
}

TEST(ClientBadSamples, WhatTheTrainerFindsIsNewsOnceAndCounts) {
  BadSamples bad;
  const wire::BadSample large{
      .data_set = 7, .row = 3, .name = "large.png", .cause = "264 MB", .held_back = true};
  EXPECT_TRUE(bad.Lost(7, Rows{1, 3}).empty());
  EXPECT_TRUE(bad.Found(large));
  EXPECT_FALSE(bad.Found(large));
  EXPECT_FALSE(bad.Found({.data_set = 7, .row = 4, .cause = "truncated"})) << "it is not held back";
  EXPECT_TRUE(bad.Lost(7, Rows{1, 2}).empty()) << "the large one explains the first batch";
  const std::vector<wire::BadSample> told = bad.Told();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].times, 2U);
  EXPECT_EQ(told[0].name, "large.png");
  EXPECT_EQ(told[1].cause, "truncated");
}

TEST(ClientBadSamples, WhatOthersFoundIsHeldBackToo) {
  BadSamples bad;
  const auto held_back = bad.HeldBack(7);
  bad.Learn({{.data_set = 7, .row = 3, .name = "a", .times = 9, .held_back = true},
             {.data_set = 7, .row = 4, .name = "b"},
             {.data_set = 0, .row = 5, .name = "c", .held_back = true}});
  EXPECT_EQ(*held_back, (BadSamples::Rows{3}))
      << "and neither what is not, nor what is of no data set";
  ASSERT_EQ(bad.Told().size(), 1U) << "a coordinator that starts anew learns it from this client";
  EXPECT_EQ(bad.Told()[0].times, 0U);
}

TEST(ClientBadSamples, AllIsBounded) {
  BadSamples bad;
  const auto held_back = bad.HeldBack(7);
  for (std::int64_t row = 0; row < 5000; ++row) {
    (void)bad.Found({.data_set = 7, .row = row, .held_back = true});
  }
  EXPECT_EQ(held_back->size(), BadSamples::kMostHeldBack);
  EXPECT_EQ(bad.Told().size(), wire::kMostBadSamples);
  EXPECT_EQ(bad.Told().back().row, 4999);
}

}  // namespace
}  // namespace headrace::client
