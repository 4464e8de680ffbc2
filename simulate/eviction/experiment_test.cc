#include "simulate/eviction/experiment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "simulate/eviction/test_objects.h"

namespace headrace::simulate {
namespace {

const eviction::OrderDescriptor& OrderOf(const char* name) {
  return *eviction::BuiltinOrders().Find(name);
}

class ExperimentTest : public testing::Test {
 protected:
  // Objects of `sets_`: 90 GB of 10 s twice, 80 GB of 20 s, 70 GB of 5 s.
  [[nodiscard]] double Seconds(const char* order, const Schedule& schedule, std::uint64_t gigabytes,
                               Refused refused = Refused::kTakesRoom) const {
    return PreparationSeconds(sets_, schedule, gigabytes * 1'000'000'000, OrderOf(order), refused);
  }
  const ObjectSets sets_ = ObjectSets::Read("x.csv", kObjects).value();
  const std::size_t first_ = sets_.reused[0], second_ = sets_.reused[1];
  const std::size_t shared_ = sets_.shared[0], once_ = sets_.once[0];
};

TEST_F(ExperimentTest, AMissCostsItsPreparationAndAHitNothing) {
  const Schedule schedule = {{{first_}}, {{once_}}, {{first_}}};
  EXPECT_DOUBLE_EQ(Seconds("lru", schedule, 160), 15);
  EXPECT_DOUBLE_EQ(Seconds("lru", schedule, 159), 25);
}

TEST_F(ExperimentTest, JobsThatShareAnObjectMakeItOnce) {
  const Schedule schedule = {{{first_}}, {{shared_, 5}}};
  for (const char* order : {"lru", "minio", "value"}) {
    EXPECT_DOUBLE_EQ(Seconds(order, schedule, 100), 30) << order;
    EXPECT_DOUBLE_EQ(Seconds(order, schedule, 100, Refused::kPasses), 30) << order;
  }
}

TEST_F(ExperimentTest, WhatIsRefusedTakesRoomWhileItIsUsed) {
  const Schedule schedule = {{{first_}}, {{once_}}, {{first_}}};
  EXPECT_DOUBLE_EQ(Seconds("minio", schedule, 100), 25) << "the first one had to go";
  EXPECT_DOUBLE_EQ(Seconds("minio", schedule, 100, Refused::kPasses), 15);
  // Where nothing else needs the room, it stays until then.
  const Schedule again = {{{once_}}, {{first_}}, {{once_}}};
  EXPECT_DOUBLE_EQ(Seconds("minio", again, 160), 15);
}

TEST_F(ExperimentTest, WhatPassesIsNotThereForTheNextJob) {
  const Schedule schedule = {{{first_}}, {{once_}}, {{once_}}};
  EXPECT_DOUBLE_EQ(Seconds("minio", schedule, 100, Refused::kPasses), 20);
}

TEST_F(ExperimentTest, NoOrderIsBelowTheBound) {
  ScheduleMaker maker(sets_);
  for (int run = 0; run < 50; ++run) {
    const Schedule schedule = maker.Next({.capacity = 1, .reuse = 3, .share = 3, .window = 1});
    const double bound = LeastPreparationSeconds(sets_, schedule, 190'000'000'000);
    for (const auto* order : eviction::BuiltinOrders().All()) {
      for (const Refused refused : {Refused::kTakesRoom, Refused::kPasses}) {
        EXPECT_GE(PreparationSeconds(sets_, schedule, 190'000'000'000, *order, refused),
                  bound - 1e-6)
            << order->name;
      }
    }
  }
}

TEST_F(ExperimentTest, TheTableHasARowForEachRun) {
  std::istringstream table(EvictionTable(sets_, 1000));
  std::string line;
  std::getline(table, line);
  EXPECT_EQ(line,
            "capacity_gb,reuse,share,window,cost,cost_aware_lrfu,gdsf,lfu,lrfu,lru,minio,"
            "minio_passing,quiver,quiver_passing,value,value_passing,bound");
  int rows = 0;
  for (; std::getline(table, line); ++rows) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 16) << line;
  }
  EXPECT_EQ(rows, 15);
}

}  // namespace
}  // namespace headrace::simulate
