#include "remote/store_lessons.h"

#include <gtest/gtest.h>

namespace headrace::remote {
namespace {

Store Bucket(const std::string& name) { return *Store::Make({.base = "s3://" + name + "/p"}); }

TEST(StoreLessons, EachBucketHasItsOwn) {
  StoreLessons lessons;
  EXPECT_EQ(lessons.RegionOf(Bucket("one")), "us-east-1");
  EXPECT_EQ(lessons.AheadOf(Bucket("one")), 0);
  lessons.LearnRegion(Bucket("one"), "eu-west-1");
  lessons.LearnClock(Bucket("two"), 5'000, 7'000);
  EXPECT_EQ(lessons.RegionOf(Bucket("one")), "eu-west-1");
  EXPECT_EQ(lessons.AheadOf(Bucket("one")), 0);
  EXPECT_EQ(lessons.RegionOf(Bucket("two")), "us-east-1");
  EXPECT_EQ(lessons.AheadOf(Bucket("two")), -2'000);
  lessons.LearnClock(Bucket("one"), 9'000, 1'000);
  EXPECT_EQ(lessons.RegionOf(Bucket("one")), "eu-west-1") << "forgotten with the clock";
}

TEST(StoreLessons, TheyAreBounded) {
  StoreLessons lessons;
  for (std::size_t i = 0; i <= StoreLessons::kMost; ++i) {
    lessons.LearnRegion(Bucket("b" + std::to_string(i)), "eu-west-1");
  }
  EXPECT_EQ(lessons.RegionOf(Bucket("b0")), "us-east-1");
  EXPECT_EQ(lessons.RegionOf(Bucket("b" + std::to_string(StoreLessons::kMost))), "eu-west-1");
}

}  // namespace
}  // namespace headrace::remote
