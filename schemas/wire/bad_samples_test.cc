#include "schemas/wire/bad_samples.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::wire {
namespace {

TEST(BadSamples, TheNewestOfEachIsKeptAndTheirTextsAreShort) {
  std::vector<BadSample> samples;
  for (std::int64_t row = 0; row < 100; ++row) samples.push_back({.data_set = 7, .row = row});
  samples.push_back({.data_set = 7, .row = 99, .name = std::string(900, 'n'), .cause = "newer"});
  samples.push_back({.data_set = 8, .row = 99, .cause = std::string(900, 'c')});
  const std::vector<BadSample> bounded = Bounded(samples);
  ASSERT_EQ(bounded.size(), kMostBadSamples);
  EXPECT_EQ(bounded.front().row, 37);
  EXPECT_EQ(bounded[62].row, 99);
  EXPECT_EQ(bounded[62].cause, "newer");
  EXPECT_EQ(bounded[62].name, std::string(400, 'n'));
  EXPECT_EQ(bounded[63].data_set, 8U);
  EXPECT_EQ(bounded[63].cause, std::string(400, 'c'));
}

TEST(BadSamples, ADataSetIsItsFilesAndRowsAlone) {
  Plan plan;
  plan.leaves.push_back({.source = "local_dir", .rows = 10, .table = BlobHash(5)});
  Plan other = plan;
  other.name = "another program";
  other.lanes = 7;
  EXPECT_NE(DataSetOf(plan), 0U);
  EXPECT_EQ(DataSetOf(plan), DataSetOf(other));
  other.leaves[0].table = BlobHash(6);
  EXPECT_NE(DataSetOf(plan), DataSetOf(other));
  plan.has_python_stage = true;
  EXPECT_EQ(DataSetOf(plan), 0U);
  EXPECT_EQ(DataSetOf(Plan()), 0U);
}

}  // namespace
}  // namespace headrace::wire
