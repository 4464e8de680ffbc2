#include "schemas/wire/unfit_workers.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::wire {
namespace {

TEST(UnfitWorkersTest, OneEntryForEachWorkerTheFirstThatWasSaid) {
  const std::vector<UnfitWorker> bounded =
      Bounded({{WorkerId(7), "b"}, {WorkerId(3), "c"}, {WorkerId(7), "d"}});
  EXPECT_EQ(bounded, (std::vector<UnfitWorker>{{WorkerId(3), "c"}, {WorkerId(7), "b"}}));
}

TEST(UnfitWorkersTest, NeitherManyWorkersNorLongReasonsAreKept) {
  std::vector<UnfitWorker> many;
  for (int id = 1000; id > 0; --id) many.push_back({WorkerId(id), std::string(10'000, 'x')});
  const std::vector<UnfitWorker> bounded = Bounded(many);
  ASSERT_EQ(bounded.size(), 64U);
  EXPECT_EQ(bounded.front().worker, WorkerId(1));
  EXPECT_EQ(bounded.back().worker, WorkerId(64));
  for (const UnfitWorker& worker : bounded) EXPECT_EQ(worker.reason, std::string(400, 'x'));
}

TEST(UnfitWorkersTest, OfNoneThereIsNone) { EXPECT_TRUE(Bounded({}).empty()); }

}  // namespace
}  // namespace headrace::wire
