#include "dataworker/cache/cache_registry.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

TEST(CacheTierChoice, IsANameWithSettings) {
  const auto plain = CacheTierChoice::Parse("memory");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->name, "memory");
  EXPECT_TRUE(plain->settings.empty());
  const auto full = CacheTierChoice::Parse("disk:size=2G,directory=/a:b=c,empty=");
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(full->name, "disk");
  EXPECT_EQ(full->settings,
            (GivenSettings{{"size", "2G"}, {"directory", "/a:b=c"}, {"empty", ""}}));
}

TEST(CacheTierChoice, NothingElse) {
  for (const std::string text : {"", ":", ":size=1", "memory:", "memory:size", "memory:=1",
                                 "memory:size=1,", "memory:size=1,,"}) {
    const Status status = CacheTierChoice::Parse(text).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr("NAME:KEY=VALUE")) << text;
  }
}

TEST(CacheRegistry, AnUnknownNameListsTheKnownOnes) {
  const auto made = BuiltinCacheTiers().Make({"tape", {}});
  EXPECT_EQ(made.status().code(), Code::kNotFound);
  EXPECT_THAT(made.status().message(), HasSubstr("memory"));
}

TEST(CacheRegistry, MakesAStoreOfTheTiersAsGiven) {
  const auto store = BuiltinCacheTiers().MakeStore({{"memory", {{"size", "64K"}}}});
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  ASSERT_EQ((*store)->tiers(), 1U);
  EXPECT_EQ((*store)->tier_name(0), "memory");
  EXPECT_EQ((*store)->Stats().budget, std::uint64_t{64} << 10);
}

TEST(CacheRegistry, RefusesAStoreWithoutTiersOrWithTwoOfOneName) {
  const auto refusal = [](const std::vector<CacheTierChoice>& choices) {
    return BuiltinCacheTiers().MakeStore(choices).status();
  };
  EXPECT_EQ(refusal({}).code(), Code::kInvalidArgument);
  EXPECT_THAT(refusal({{"memory", {}}, {"memory", {}}}).message(), HasSubstr("given twice"));
  const Status bad = refusal({{"memory", {{"size", "much"}}}});
  EXPECT_EQ(bad.code(), Code::kInvalidArgument);
  EXPECT_THAT(bad.message(), HasSubstr("cache tier memory"));
  const Status large = refusal({{"memory", {{"size", "900000G"}}}});
  EXPECT_EQ(large.code(), Code::kInvalidArgument);
  EXPECT_THAT(large.message(), HasSubstr("more than the memory of this host"));
}

}  // namespace
}  // namespace headrace::dataworker
