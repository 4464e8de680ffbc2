#include "simulate/eviction/schedule.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "simulate/eviction/test_objects.h"

namespace headrace::simulate {
namespace {

TEST(ObjectSets, AreReadByTheirFirstFolder) {
  const ObjectSets sets = ObjectSets::Read("x.csv", kObjects).value();
  ASSERT_EQ(sets.objects.size(), 8U);
  EXPECT_EQ(sets.reused.size(), 2U);
  EXPECT_EQ(sets.shared.size(), 1U);
  EXPECT_EQ(sets.once.size(), 1U);
  EXPECT_DOUBLE_EQ(sets.objects[sets.reused[0]].cost_s, 10) << "of eight processes";
  EXPECT_EQ(sets.objects[sets.reused[0]].bytes, 90'000'000'000U);
  // By their names, not as the table has them.
  ASSERT_EQ(sets.window.size(), 4U);
  EXPECT_EQ(sets.objects[sets.window[0]].bytes, 1000U);
  EXPECT_EQ(sets.objects[sets.window[3]].bytes, 4000U);
}

TEST(ObjectSets, OtherTablesAreRefused) {
  EXPECT_FALSE(ObjectSets::Read("x.csv", "Cost,Key\n1,ILSVRC/a\n").ok());
  EXPECT_FALSE(ObjectSets::Read("x.csv", "Cost,ETag,Key,Size\n8,a,ILSVRC/a,1\n").ok()) << "one set";
  std::string text(kObjects);
  EXPECT_FALSE(ObjectSets::Read("x.csv", text + "8,z,Other/a,1\n").ok());
  EXPECT_FALSE(ObjectSets::Read("x.csv", text + "8,z,Inrix/a,-1\n").ok());
  EXPECT_FALSE(ObjectSets::Read("x.csv", text + "x,z,Inrix/a,1\n").ok());
}

TEST(EvictionCells, AreThoseOfTheExperiment) {
  const auto cells = EvictionCells();
  EXPECT_EQ(cells.size() * kRunsOfCell, 14'400U);
  EXPECT_EQ(cells.front().capacity, 160'000'000'000U);
  EXPECT_EQ(cells.back().capacity, 260'000'000'000U);
  EXPECT_EQ(cells[1].window, 3);
  EXPECT_EQ(cells[4].share, 3);
}

TEST(ScheduleMaker, EachJobReadsItsSet) {
  const ObjectSets sets = ObjectSets::Read("x.csv", kObjects).value();
  ScheduleMaker maker(sets);
  const Schedule schedule = maker.Next({.capacity = 1, .reuse = 3, .share = 5, .window = 1});
  ASSERT_EQ(schedule.size(), 3U + 5 + 3 + 1);
  std::map<std::size_t, int> asked;
  std::size_t windows = 0;
  for (const auto& job : schedule) {
    for (const Asked& each : job) asked[each.object] += each.times;
    if (job[0].object != sets.window[windows]) continue;
    ASSERT_EQ(job.size(), 2U);
    EXPECT_EQ(job[1].object, sets.window[++windows]) << "the window moves on by one";
  }
  EXPECT_EQ(windows, 3U);
  EXPECT_EQ(asked[sets.reused[1]], 3);
  EXPECT_EQ(asked[sets.shared[0]], 25) << "five jobs, five times at once";
  EXPECT_EQ(asked[sets.once[0]], 1);
}

// NumPy: RandomState(12345), shuffle(list("IIILSSSX")) twice.
TEST(ScheduleMaker, JobsAreShuffledAsNumPyDoes) {
  const ObjectSets sets = ObjectSets::Read("x.csv", kObjects).value();
  ScheduleMaker maker(sets);
  const auto kinds = [&] {
    std::string text;
    for (const auto& job : maker.Next({.capacity = 1, .reuse = 3, .share = 1, .window = 1})) {
      const std::size_t first = job[0].object;
      text += first == sets.reused[0]   ? 'I'
              : first == sets.shared[0] ? 'L'
              : first == sets.once[0]   ? 'X'
                                        : 'S';
    }
    return text;
  };
  EXPECT_EQ(kinds(), "XLSIISSI");
  EXPECT_EQ(kinds(), "ILSXIISS");
}

}  // namespace
}  // namespace headrace::simulate
