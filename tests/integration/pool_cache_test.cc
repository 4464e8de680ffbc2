// One cache: the memory of all workers of a host serves each of them.
#include <cmath>
#include <string>

#include "tests/integration/pool_cache_fixture.h"

namespace headrace::testing_support {
namespace {

class PoolCacheShareTest : public PoolCacheTest, public testing::WithParamInterface<double> {};

TEST_P(PoolCacheShareTest, AnyWorkerHitsWhatAnyWorkerKeeps) {
  World world(Options(GetParam()));
  const auto session = world.Open(folder_.plan, folder_.blobs, folder_.samples);
  ExpectAnyHitsWhatAnyKeeps(world, *session, GetParam());
  World plain(Options(0));
  EXPECT_EQ(Again(*plain.Open(folder_.plan, folder_.blobs, folder_.samples)), last_);
}

INSTANTIATE_TEST_SUITE_P(Shares, PoolCacheShareTest, testing::Values(0.25, 0.5, 0.9, 1.2),
                         [](const auto& share) {
                           return "Percent" + std::to_string(std::lround(share.param * 100));
                         });

class PoolCacheLossTest : public PoolCacheTest, public testing::WithParamInterface<bool> {};

TEST_P(PoolCacheLossTest, AnOwnerThatGoesInMidEpochTakesItsPartAlone) {
  World world(Options(2));
  const auto session = world.Open(folder_.plan, folder_.blobs, folder_.samples);
  double warm = 0;
  for (int epoch = 0; epoch < kEpochs && warm < 0.97; ++epoch) warm = Epoch(*session);
  ASSERT_GE(warm, 0.97);
  const double kept = Epoch(*session, [&](const Batch& batch) {
    if (batch.batch != 20) return;
    if (GetParam()) {
      world.KillWorker(0);
    } else {
      world.DrainWorker(0);
    }
  });
  EXPECT_GT(kept, 0.65);
  World plain(Options(0));
  EXPECT_EQ(Again(*plain.Open(folder_.plan, folder_.blobs, folder_.samples)), last_);
  // Its part is made again where it belongs now.
  double hits = 0;
  for (int epoch = 0; epoch < kEpochs && hits < 0.97; ++epoch) {
    hits = Epoch(*session);
    EXPECT_GT(hits, 0.65);
  }
  EXPECT_GE(hits, 0.97);
}

INSTANTIATE_TEST_SUITE_P(Ways, PoolCacheLossTest, testing::Bool(),
                         [](const auto& killed) { return killed.param ? "Killed" : "Drained"; });

}  // namespace
}  // namespace headrace::testing_support
