#include "coordinator/estimate/duplicate_share.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>

namespace headrace::coordinator {
namespace {

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

// Workers whose caches overlap at random, and what they tell of them.
struct Cluster {
  std::vector<NameSample> samples;
  double share = 0;  // that is true
};

Cluster Draw(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::vector<std::uint64_t> names(1 + below(20'000));
  for (std::uint64_t& name : names) name = random();
  const std::uint64_t workers = 1 + below(8);
  const double often =
      static_cast<double>(below(1000)) / 1000;  // how often an entry has one more copy
  std::vector<std::vector<std::uint64_t>> held(workers);
  for (const std::uint64_t name : names) {
    const std::uint64_t first = below(workers);
    for (std::uint64_t w = 0; w < workers; ++w) {
      const bool one_more = static_cast<double>(below(1000)) / 1000 < often;
      if (w == first || one_more) held[w].push_back(name);
    }
  }
  Cluster made;
  double all = 0;
  for (const auto& each : held) {
    all += static_cast<double>(each.size());
    // A bound of each worker's own, as its entries have it.
    NameSample sample{.below = kAll, .names = each};
    while (sample.names.size() > 128) {
      sample.below /= 2;
      std::erase_if(sample.names, [&](std::uint64_t name) { return name >= sample.below; });
    }
    made.samples.push_back(std::move(sample));
  }
  made.share = 1 - static_cast<double>(names.size()) / all;
  return made;
}

TEST(DuplicateShare, TheEstimateIsWithinItsErrorForRandomOverlaps) {
  const std::uint64_t seed = ::testing::UnitTest::GetInstance()->random_seed() + 20261129ULL;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr int kClusters = 400;
  int within_one = 0, within_two = 0;
  double sum = 0;
  for (int i = 0; i < kClusters; ++i) {
    const Cluster cluster = Draw(random);
    const DuplicateShare found = DuplicatesOf(cluster.samples);
    const double off = std::abs(found.share - cluster.share);
    ASSERT_GT(found.sampled, 0U);
    EXPECT_LE(off, 5 * found.error + 1e-12) << "cluster " << i << ": " << found.share << " +- "
                                            << found.error << ", and it is " << cluster.share;
    within_one += off <= found.error + 1e-12 ? 1 : 0;
    within_two += off <= 2 * found.error + 1e-12 ? 1 : 0;
    if (found.error > 0) sum += (found.share - cluster.share) / found.error;
  }
  // A normal error is within one standard error 68 times of 100, and within two 95 times.
  EXPECT_GE(within_one, kClusters * 60 / 100);
  EXPECT_GE(within_two, kClusters * 91 / 100);
  EXPECT_LE(within_one, kClusters * 85 / 100) << "the error that is told is too large";
  EXPECT_LE(std::abs(sum), 5 * std::sqrt(kClusters)) << "it leans to one side";
}

TEST(DuplicateShare, AllEntriesAreCountedExactly) {
  const std::vector<NameSample> samples = {{kAll, {1, 2, 3}}, {kAll, {2, 3, 4}}, {kAll, {3}}};
  const DuplicateShare found = DuplicatesOf(samples);
  EXPECT_DOUBLE_EQ(found.share, 3.0 / 7);
  EXPECT_DOUBLE_EQ(found.error, 0);
  EXPECT_EQ(found.sampled, 7U);
}

TEST(DuplicateShare, NamesAreComparedUpToTheLeastBound) {
  // The second worker may have 70, too: above its bound it does not tell.
  const std::vector<NameSample> samples = {{kAll, {10, 20, 70}}, {50, {10, 20}}};
  const DuplicateShare found = DuplicatesOf(samples);
  EXPECT_DOUBLE_EQ(found.share, 0.5);
  EXPECT_EQ(found.sampled, 4U);
}

TEST(DuplicateShare, NothingIsSaidOfNothing) {
  EXPECT_EQ(DuplicatesOf({}).sampled, 0U);
  const std::vector<NameSample> none = {{kAll, {}}, {1, {5}}};
  EXPECT_EQ(DuplicatesOf(none).sampled, 0U) << "a name above its own bound";
}

TEST(DuplicateShare, NoCopiesInASampleAreNotNoCopies) {
  NameSample sample{.below = kAll / 64, .names = {}};
  for (std::uint64_t i = 0; i < 100; ++i) sample.names.push_back(i << 40);
  const DuplicateShare found = DuplicatesOf({&sample, 1});
  EXPECT_EQ(found.share, 0);
  EXPECT_NEAR(found.error, 0.01, 1e-3);
}

}  // namespace
}  // namespace headrace::coordinator
