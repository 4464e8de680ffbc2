#include "dataworker/cache/divide_quota.h"

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using Shares = std::vector<std::uint64_t>;

TEST(DivideQuota, WithOneTierIsTheQuota) {
  for (const std::uint64_t budget : {0U, 10U, 100U}) {
    EXPECT_EQ(DivideQuota(50, Shares{budget}), Shares{50});
  }
}

TEST(DivideQuota, FillsTheFastestFirst) {
  const Shares budgets{10, 100, 1000};
  EXPECT_EQ(DivideQuota(0, budgets), (Shares{0, 0, 0}));
  EXPECT_EQ(DivideQuota(7, budgets), (Shares{7, 0, 0}));
  EXPECT_EQ(DivideQuota(60, budgets), (Shares{10, 50, 0}));
  EXPECT_EQ(DivideQuota(5000, budgets), (Shares{10, 100, 4890}));
}

}  // namespace
}  // namespace headrace::dataworker
