#include "base/quota.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(Quota, SaysLimitNumberAndOption) {
  const Quota quota{"--max-jobs", 10, "open jobs"};
  EXPECT_TRUE(quota.Check(10).ok());
  EXPECT_TRUE(quota.Check(0).ok());
  const Status over = quota.Check(11);
  EXPECT_EQ(over.code(), Code::kUnsupported);
  EXPECT_EQ(over.message(),
            "11 open jobs are over the limit of 10; whoever runs this may raise it with "
            "--max-jobs");
}

}  // namespace
}  // namespace headrace
