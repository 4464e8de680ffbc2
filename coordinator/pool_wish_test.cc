#include "coordinator/pool_wish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(PoolWish, AWordAloneIsAKind) {
  const auto wish = PoolWish::Parse("slurm");
  ASSERT_TRUE(wish.ok());
  EXPECT_EQ(wish->kind, "slurm");
  EXPECT_EQ(wish->shown_name(), "slurm");
  EXPECT_TRUE(wish->name.empty());
  EXPECT_FALSE(wish->rules.preemptible);
  EXPECT_EQ(wish->rules.most, PoolRules::kNoBound);
}

TEST(PoolWish, WhatIsSaidOfEveryKindIsApartFromSettings) {
  const auto wish =
      PoolWish::Parse("slurm:name=spot,partition=preempt,price=0.012,preemptible,most=8,qos=");
  ASSERT_TRUE(wish.ok()) << wish.status().ToString();
  EXPECT_EQ(wish->shown_name(), "spot");
  EXPECT_DOUBLE_EQ(wish->rules.core_price, 0.012);
  EXPECT_TRUE(wish->rules.preemptible);
  EXPECT_EQ(wish->rules.most, 8);
  EXPECT_THAT(wish->settings, ElementsAre(Pair("partition", "preempt"), Pair("qos", "")));
}

TEST(PoolWish, WhatIsNoneIsRefusedInWords) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "KIND"},
           {"slurm:", "KEY=VALUE"},
           {"slurm:partition", "KEY=VALUE"},
           {"slurm:=x", "KEY=VALUE"},
           {"slurm:name=7", "begins with a letter"},
           {"slurm:name=a.b", "letters, digits and dashes"},
           {"slurm:name=", "letters"},
           {"slurm:name=a123456789012345678901234", "24 letters"},
           {"slurm:price=cheap", "costs an hour"},
           {"slurm:price=0", "costs an hour"},
           {"slurm:price=inf", "costs an hour"},
           {"slurm:most=0", "number of workers"},
           {"slurm:most=9999999999", "number of workers"},
           {"slurm:preemptible=yes", "no value"}}) {
    const auto wish = PoolWish::Parse(text);
    EXPECT_EQ(wish.status().code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(wish.status().message(), HasSubstr(why)) << text;
  }
}

std::vector<PoolWish> Wishes(std::initializer_list<const char*> words) {
  std::vector<PoolWish> wishes;
  for (const char* word : words) wishes.push_back(PoolWish::Parse(word).value());
  return wishes;
}

std::vector<std::string> Names(const Result<std::vector<PoolWish>>& wishes) {
  std::vector<std::string> names;
  if (!wishes.ok()) return {wishes.status().message()};
  for (const PoolWish& each : *wishes) names.push_back(each.shown_name());
  return names;
}

TEST(PoolsWish, TheCheapestComesFirstAndEqualOnesAsTheyAreNamed) {
  EXPECT_THAT(Names(InOrder({Wishes({"exec:price=0.04", "slurm:price=0.01", "local"}), 0.04})),
              ElementsAre("slurm", "exec", "local"));
  EXPECT_THAT(Names(InOrder({Wishes({"slurm:name=b", "slurm:name=a"})})), ElementsAre("b", "a"));
}

// A worker's handle begins with its pool's mark.
TEST(PoolsWish, OnlyTheFirstHasTheMarkOfTheCoordinator) {
  const auto pools = InOrder({Wishes({"slurm:name=spot", "local", "exec"})});
  ASSERT_TRUE(pools.ok());
  EXPECT_EQ(pools->at(0).name, "spot");
  EXPECT_EQ(pools->at(1).name, "");
  EXPECT_EQ(pools->at(2).name, "exec");
}

TEST(PoolsWish, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_THAT(Names(InOrder({Wishes({"slurm:most=2", "slurm"})})),
              ElementsAre(HasSubstr("two pools are called slurm")));
  EXPECT_THAT(Names(InOrder({Wishes({"slurm", "static"})})), ElementsAre(HasSubstr("static")));
  EXPECT_THAT(Names(InOrder({Wishes({"slurm:price=1", "local"})})),
              ElementsAre(HasSubstr("pool local has no price")));
  EXPECT_THAT(Names(InOrder({Wishes({"slurm:preemptible"}), 0, 1})),
              ElementsAre(HasSubstr("not pre-emptible")));
}

}  // namespace
}  // namespace headrace::coordinator
