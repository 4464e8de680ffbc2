#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "headrace/image_folder.h"
#include "tests/integration/images.h"
#include "tests/integration/world.h"

// For tests of caches that workers share: pictures, epochs over them, and what was hit.
namespace headrace::testing_support {

// Owners are drawn: the parts of three workers differ by 19 samples (one standard deviation), and a quota has
// 5% of slack, 27 samples. So more than 3% do not fit in about one of 10,000 runs; of 800 samples in one of 100.
inline constexpr std::int64_t kSamples = 1600;
inline constexpr std::size_t kWorkers = 4;
inline constexpr double kEntryBytes = 27'648 + 64 + 224;  // 96 x 96 pixels, slack, and the index
inline constexpr double kAll = kSamples * kEntryBytes;
// Most epochs until all that may be kept is kept. An owner may not know the job yet, or answer late on a
// busy host; whoever had its claim then keeps it for 10 s, and an epoch takes a twentieth of a second.
inline constexpr int kEpochs = 1000;

class PoolCacheTest : public testing::Test {
 protected:
  PoolCacheTest() {
    MakeEqualImages(images_.path(), kSamples, 96, 96);
    ImageFolderOptions options;
    options.image_size = 64;
    folder_ = *OpenImageFolder(images_.path(), options);
  }
  // One epoch in an order of its own. Returns the share of its samples that a cache had.
  double Epoch(Session& session, const std::function<void(const Batch&)>& at = {}) {
    const std::uint64_t before = Hits(session);
    IterationOptions iteration;
    iteration.base_seed = ++epoch_;
    last_ = RunIteration(session, IndexBatches(kSamples, 16, epoch_), iteration, at);
    return static_cast<double>(Hits(session) - before) / kSamples;
  }
  // The same epoch, as it was without a cache.
  [[nodiscard]] std::vector<std::uint64_t> Again(Session& session) const {
    IterationOptions iteration;
    iteration.base_seed = epoch_;
    return RunIteration(session, IndexBatches(kSamples, 16, epoch_), iteration);
  }
  static std::uint64_t Hits(const Session& session) {
    std::uint64_t hits = 0;
    for (const auto& [tier, of] : session.Stats().hits_by_tier) hits += of.decoded + of.encoded;
    return hits;
  }
  static double Entries(const World& world) {
    double entries = 0;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      entries += static_cast<double>(world.CacheOf(i).entries);
    }
    return entries;
  }
  // Runs epochs until all that may be kept is kept, and expects that it is hit, and kept once. `share`: of
  // the data that fits all workers together.
  void ExpectAnyHitsWhatAnyKeeps(const World& world, Session& session, double share) {
    world.AwaitOwners();  // what is made before that may be kept twice
    EXPECT_LT(Epoch(session), 0.02);
    // The room is used, but for the ends of chunks. Not at once: see kEpochs.
    const double used = std::min(share * 0.93, 0.97);
    for (int epoch = 0; epoch < kEpochs && Entries(world) / kSamples <= used; ++epoch) {
      Epoch(session);
    }
    for (int epoch = 0; epoch < 2; ++epoch) {
      const double cached = Entries(world) / kSamples;
      EXPECT_NEAR(Epoch(session), cached, 0.02);
      EXPECT_GT(cached, used);
      EXPECT_LE(cached, std::min(share, 1.0));
    }
  }
  // `share`: of the data that fits all workers together.
  static World::Options Options(double share) {
    World::Options options;
    options.workers = kWorkers;
    options.cache_bytes = static_cast<std::uint64_t>(kAll * share / kWorkers);
    return options;
  }

  TemporaryFolder images_;
  ImageFolder folder_;
  std::uint64_t epoch_ = 0;
  std::vector<std::uint64_t> last_;
};

}  // namespace headrace::testing_support
