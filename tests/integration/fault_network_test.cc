// A network that loses, doubles, delays and reorders messages between client, workers and
// coordinator: the program sees none of it.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "dataworker/stage/fake_stage.h"
#include "gtest/gtest.h"
#include "headrace/image_folder.h"
#include "tests/integration/images.h"
#include "tests/integration/world.h"

namespace headrace::testing_support {
namespace {

// HEADRACE_TEST_SEED repeats a run.
std::uint64_t Seed() {
  const char* given = std::getenv("HEADRACE_TEST_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::fprintf(stderr, "HEADRACE_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

constexpr net::FaultRates kBad{.drop = 0.02,
                               .duplicate = 0.1,
                               .delay = 0.2,
                               .reorder = 0.1,
                               .max_delay = std::chrono::milliseconds(20)};
constexpr net::FaultRates kNothingLost{.drop = 0,
                                       .duplicate = 0.2,
                                       .delay = 0.3,
                                       .reorder = 0.2,
                                       .max_delay = std::chrono::milliseconds(20)};

class FaultNetworkTest : public testing::TestWithParam<bool> {};

TEST_P(FaultNetworkTest, EveryBatchOnceInOrderWithTheRightBits) {
  TemporaryFolder images;
  MakeImages(images.path(), 3, 60);
  ImageFolderOptions wanted;
  wanted.image_size = 64;
  const auto folder = OpenImageFolder(images.path(), wanted);
  ASSERT_TRUE(folder.ok());
  const std::uint64_t seed = Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const auto batches = IndexBatches(folder->samples, 4, seed);
  IterationOptions iteration;
  iteration.base_seed = seed;
  World::Options good;
  good.arena = GetParam();
  World quiet(good);
  const auto expected =
      RunIteration(*quiet.Open(folder->plan, folder->blobs, folder->samples), batches, iteration);

  World::Options bad = good;
  bad.cache_bytes = std::uint64_t{16} << 20;  // the workers ask each other for samples, too
  bad.rates = kBad;
  bad.seed = seed;
  World world(bad);
  const auto session = world.Open(folder->plan, folder->blobs, folder->samples);
  for (int epoch = 0; epoch < 3; ++epoch) {
    // RunIteration checks that each batch comes once, in order.
    EXPECT_EQ(RunIteration(*session, batches, iteration,
                           [&](const Batch& batch) { EXPECT_TRUE(batch.missing.empty()); }),
              expected);
  }
  EXPECT_GT(session->Stats().rerequested + session->Stats().hedged, 0U);
}

INSTANTIATE_TEST_SUITE_P(Transports, FaultNetworkTest, testing::Bool(), [](const auto& arena) {
  return arena.param ? "SharedMemory" : "Messages";
});

class FaultNetworkStageTest : public testing::Test {
 protected:
  FaultNetworkStageTest() {
    dataworker::WriteFakeStage(folder_);
    plan_.has_python_stage = true;
    plan_.python.bundle = HashBlob(Bytes());
    plan_.python.executable = "/usr/bin/python3";
    plan_.python.sys_path = {folder_.path()};
    plan_.rng = RngMode::kTorch;
    plan_.lanes = 2;
    blobs_[plan_.python.bundle] = Blob();
    folder_.Write("pickles", "");
  }
  // How often the code of each key ran.
  [[nodiscard]] std::map<std::int64_t, int> Runs() const {
    std::map<std::int64_t, int> runs;
    std::ifstream file(folder_.path() + "/runs");
    for (std::int64_t key = 0; file >> key;) ++runs[key];
    return runs;
  }
  // One key a batch.
  void RunEpoch(Session& session, const std::vector<std::int64_t>& keys) {
    IterationOptions iteration;
    ASSERT_TRUE(session.Begin(iteration).ok());
    std::size_t submitted = 0;
    for (std::size_t i = 0; i < keys.size();) {
      while (submitted < keys.size() && session.outstanding() < 4) {
        ASSERT_TRUE(session.Submit(std::span(&keys[submitted++], 1)).ok());
      }
      const auto event = session.Next(std::chrono::milliseconds(1000));
      if (event.status().code() == Code::kDeadlineExceeded && keys[i] == -6) {
        folder_.Write("go", "");  // it was asked again and again by now
      }
      if (event.status().code() == Code::kDeadlineExceeded) continue;
      ASSERT_TRUE(event.ok() && event->batch) << event.status().ToString();
      // "<pid> <lane> <state>": a batch sees all batches before it in its lane.
      const std::string pickle(AsText(event->batch->pickle));
      ASSERT_GT(pickle.size(), 5U);
      std::istringstream text{pickle.substr(4, pickle.size() - 5)};
      std::int64_t pid = 0;
      std::size_t lane = 0;
      std::string state;
      text >> pid >> lane >> state;
      ASSERT_EQ(lane, i % 2);
      ASSERT_EQ(state, std::string(i / 2, '+'));
      ++i;
    }
  }

  dataworker::TemporaryDirectory folder_;
  Plan plan_;
  std::map<BlobHash, Blob> blobs_;
};

TEST_F(FaultNetworkStageTest, UserCodeOfABatchRunsOnceHoweverLongItTakes) {
  World::Options options;
  options.rates = kNothingLost;
  options.seed = Seed();
  SCOPED_TRACE("seed " + std::to_string(options.seed));
  options.resend_floor = std::chrono::milliseconds(250);
  World world(options);
  const auto session = world.Open(plan_, blobs_, -1);
  std::vector<std::int64_t> keys;
  for (std::int64_t key = 0; key < 40; ++key) keys.push_back(key == 7 ? -6 : key);
  RunEpoch(*session, keys);
  const auto runs = Runs();
  EXPECT_EQ(runs.size(), keys.size());
  for (const auto& [key, times] : runs) EXPECT_EQ(times, 1) << "key " << key;
  EXPECT_GT(session->Stats().rerequested, 0U);
}

TEST_F(FaultNetworkStageTest, LanesKeepTheirOrderWhenMessagesAreLost) {
  World::Options options;
  options.rates = kBad;
  options.seed = Seed();
  SCOPED_TRACE("seed " + std::to_string(options.seed));
  World world(options);
  const auto session = world.Open(plan_, blobs_, -1);
  std::vector<std::int64_t> keys(60);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i);
  RunEpoch(*session, keys);
}

}  // namespace
}  // namespace headrace::testing_support
