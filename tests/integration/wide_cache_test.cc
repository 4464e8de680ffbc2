// One cache over hosts, for samples whose names hold on all of them.
#include <cmath>
#include <functional>
#include <string>

#include "tests/integration/pool_cache_fixture.h"
#include "tests/integration/store_of_files.h"

namespace headrace::testing_support {
namespace {

class WideCacheTest : public PoolCacheTest {
 protected:
  // Four workers on four hosts. `store`: the pictures are objects in a store.
  World::Options OnHosts(double share, bool store) {
    World::Options options = Options(share);
    options.hosts = kWorkers;
    if (store) {
      options.sources = &sources_;
      folder_.plan.leaves[0].source = "objects";
      folder_.plan.leaves[0].args["base"] = std::string("s3://pictures/");
    }
    return options;
  }
  // Samples that were found in a tier so far, in parts of all there are.
  static double OfTier(const Session& session, const std::string& tier) {
    const auto hits = session.Stats().hits_by_tier;
    const auto at = hits.find(tier);
    if (at == hits.end()) return 0;
    return static_cast<double>(at->second.decoded + at->second.encoded) / kSamples;
  }
  // Samples that were read at the store so far.
  static std::uint64_t Read(const Session& session) { return session.Stats().misses; }
  // Bytes in all caches, in parts of what the pictures take.
  static double Used(const World& world) {
    double bytes = 0;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      bytes += static_cast<double>(world.CacheOf(i).bytes);
    }
    return bytes / kAll;
  }
  // Runs epochs until the estimate of duplicates is within its error of the truth, which `truth` tells,
  // and has stayed there. Samples come with a few heartbeats.
  void ExpectDuplicates(const World& world, Session& session,
                        const std::function<double()>& truth) {
    int settled = 0;
    wire::DatasetStatus shown;
    for (int epoch = 0; epoch < kEpochs && settled < 20; ++epoch) {
      Epoch(session);
      shown = world.Datasets().at(0);
      const double off = std::abs(shown.duplicate_share - truth());
      const bool told = shown.sampled_entries > 100;
      settled = told && off <= 4 * shown.duplicate_share_error + 0.005 ? settled + 1 : 0;
    }
    EXPECT_EQ(settled, 20) << shown.duplicate_share << " +- " << shown.duplicate_share_error
                           << " of " << shown.sampled_entries << ", and it is " << truth();
    EXPECT_LT(shown.duplicate_share_error, 0.06);
  }
  const dataworker::SourceRegistry sources_ = StoreOfFiles::Registry();
};

class WideCacheShareTest : public WideCacheTest, public testing::WithParamInterface<double> {};

TEST_P(WideCacheShareTest, AnyHostHitsWhatAnyHostKeeps) {
  World world(OnHosts(GetParam(), true));
  const auto session = world.Open(folder_.plan, folder_.blobs, folder_.samples);
  world.AwaitOwners();  // what is made before that may be kept twice
  EXPECT_LT(Epoch(*session), 0.02);
  // Meanwhile the coordinator may find that encoded bytes are worth more, of which more fit.
  const double used = 0.85 * GetParam();
  int settled = 0;
  for (int epoch = 0; epoch < kEpochs && settled < 3; ++epoch) {
    const double cached = Entries(world) / kSamples, hits = Epoch(*session);
    const bool full = Used(world) > used || cached > 0.97;
    settled = full && std::abs(hits - cached) < 0.02 ? settled + 1 : 0;
    ASSERT_LE(cached, 1) << "each sample is kept once";
  }
  EXPECT_EQ(settled, 3);
}

INSTANTIATE_TEST_SUITE_P(Shares, WideCacheShareTest, testing::Values(0.1, 1.2),
                         [](const auto& share) {
                           return "Percent" + std::to_string(std::lround(share.param * 100));
                         });

// Their device and inode may be another file's there.
TEST_F(WideCacheTest, FilesAreSharedWithNoOtherHost) {
  World world(OnHosts(1.2, false));
  const auto session = world.Open(folder_.plan, folder_.blobs, folder_.samples);
  double hits = 0;
  for (int epoch = 0; epoch < 12; ++epoch) hits = Epoch(*session);
  EXPECT_NEAR(hits, 0.3, 0.1) << "each host hits its own 30 percent";
}

// Each host has room for six of ten pictures, and keeps what it makes. After the first epoch each picture
// is somewhere, so what there is beyond that is there twice.
TEST_F(WideCacheTest, CopiesThatHostsKeepOfOneFileAreCounted) {
  World world(OnHosts(2.4, false));
  const auto session = world.Open(folder_.plan, folder_.blobs, folder_.samples);
  for (int epoch = 0; epoch < kEpochs && Entries(world) < 2 * kSamples; ++epoch) Epoch(*session);
  ASSERT_GE(Entries(world), 2 * kSamples);
  ExpectDuplicates(world, *session, [&] { return 1 - kSamples / Entries(world); });
}

TEST_F(WideCacheTest, WhatHostsShareIsThereOnce) {
  World world(OnHosts(1.2, true));
  const auto session = world.Open(folder_.plan, folder_.blobs, folder_.samples);
  world.AwaitOwners();
  ExpectDuplicates(world, *session, [&] { return 0; });
}

// Each host has room for all: once a host has fetched a picture it asks for it no more.
TEST_F(WideCacheTest, CopiesTakeTheQuestionsAway) {
  World world(OnHosts(5, true));
  const auto session = world.Open(folder_.plan, folder_.blobs, folder_.samples);
  world.AwaitOwners();
  int settled = 0;
  for (int epoch = 0; epoch < kEpochs && settled < 3; ++epoch) {
    const double asked = OfTier(*session, "peers"), copies = OfTier(*session, "replicas");
    const double hits = Epoch(*session);
    settled = hits > 0.97 && OfTier(*session, "peers") - asked < 0.03 &&
                      OfTier(*session, "replicas") - copies > 0.6
                  ? settled + 1
                  : 0;
  }
  EXPECT_EQ(settled, 3);
  EXPECT_EQ(Again(*session), last_) << "the same bits";
  EXPECT_LE(Entries(world) / kSamples, 1) << "first copies are counted alone";
  const wire::DatasetStatus shown = world.Datasets().at(0);
  EXPECT_EQ(shown.duplicate_share, 0);
  EXPECT_GT(shown.replica_entries, 2.5 * kSamples);
  EXPECT_GT(shown.replica_hits, 0U);
}

TEST_F(WideCacheTest, WithoutCopiesThreeOfFourAreAskedFor) {
  World::Options options = OnHosts(5, true);
  options.replicas = false;
  World world(options);
  const auto session = world.Open(folder_.plan, folder_.blobs, folder_.samples);
  world.AwaitOwners();
  double hits = 0;
  for (int epoch = 0; epoch < kEpochs && hits < 0.97; ++epoch) hits = Epoch(*session);
  const double asked = OfTier(*session, "peers");
  for (int epoch = 0; epoch < 3; ++epoch) Epoch(*session);
  EXPECT_GT((OfTier(*session, "peers") - asked) / 3, 0.6);
  EXPECT_EQ(OfTier(*session, "replicas"), 0);
}

// What it owned others have copies of, which become entries.
TEST_F(WideCacheTest, CopiesStandInForWhatALostHostHad) {
  World world(OnHosts(5, true));
  const auto session = world.Open(folder_.plan, folder_.blobs, folder_.samples);
  world.AwaitOwners();
  double copies = 0;
  for (int epoch = 0; epoch < kEpochs && copies < 2.99; ++epoch) {
    Epoch(*session);
    copies = static_cast<double>(world.Datasets().at(0).replica_entries) / kSamples;
  }
  ASSERT_GE(copies, 2.99) << "each of four lacks what it owns";
  const std::uint64_t read = Read(*session);
  world.KillWorker(0);
  // Batches that it had are made by others. Its own entries went with it.
  for (int epoch = 0; epoch < kEpochs && Entries(world) < 0.97 * kSamples; ++epoch) Epoch(*session);
  EXPECT_GE(Entries(world), 0.97 * kSamples);
  EXPECT_LT(Read(*session) - read, kSamples / 20) << "of the quarter that was there alone";
}

TEST_F(WideCacheTest, AHostThatIsLostTakesItsPartAlone) {
  World::Options options = OnHosts(2, true);
  options.replicas = false;
  World world(options);
  const auto session = world.Open(folder_.plan, folder_.blobs, folder_.samples);
  double warm = 0;
  for (int epoch = 0; epoch < kEpochs && warm < 0.97; ++epoch) warm = Epoch(*session);
  ASSERT_GE(warm, 0.97);
  const double kept = Epoch(*session, [&](const Batch& batch) {
    if (batch.batch == 20) world.KillWorker(0);
  });
  EXPECT_GT(kept, 0.65);
}

}  // namespace
}  // namespace headrace::testing_support
