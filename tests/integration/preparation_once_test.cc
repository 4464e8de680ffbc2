// Two jobs that want the same of the same pictures: they are decoded once. Real processes.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "gtest/gtest.h"
#include "headrace/image_folder.h"
#include "tests/integration/images.h"
#include "tests/integration/service.h"

namespace headrace::testing_support {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSamples = 600;
constexpr std::int64_t kMost = kSamples * 105 / 100;  // decodes: 5% more than one job's

// A job of its own, with one session.
class Reader {
 public:
  Reader(const Cluster& cluster, const std::string& root, const ImageFolderOptions& options)
      : client_(cluster.Connect()) {
    const Result<ImageFolder> folder = OpenImageFolder(root, options);
    HR_CHECK(folder.ok() && folder->samples == kSamples);
    auto session = client_->OpenSession(folder->plan, folder->blobs, {});
    HR_CHECK(session.ok());
    session_ = std::move(session).value();
  }
  // An epoch in an order of its own.
  void Epoch(std::int64_t batch, std::uint64_t seed) {
    IterationOptions iteration;
    iteration.base_seed = seed;
    RunIteration(*session_, IndexBatches(kSamples, batch, seed), iteration);
  }
  // How many samples were read and decoded for it.
  [[nodiscard]] std::int64_t decodes() const {
    return static_cast<std::int64_t>(session_->Stats().misses);
  }

 private:
  std::shared_ptr<Client> client_;
  std::unique_ptr<Session> session_;
};

ImageFolderOptions Train(std::int64_t size) {
  ImageFolderOptions options;
  options.image_size = size;
  return options;
}
ImageFolderOptions Evaluate(std::int64_t short_side) {
  ImageFolderOptions options;
  options.train = false;
  options.short_side = short_side;
  options.image_size = 64;
  return options;
}

class PreparationOnceTest : public testing::TestWithParam<int> {
 protected:
  PreparationOnceTest() { MakeEqualImages(images_.path(), kSamples, 160, 120); }
  // Both epochs at the same time. Workers know of both jobs: what they begin before that is in the
  // form of one alone, and the first batches are a large part of so short an epoch.
  void Both(Reader& a, std::int64_t batch_a, std::uint64_t seed_a, Reader& b, std::int64_t batch_b,
            std::uint64_t seed_b) {
    cluster_.WaitForWorkers();
    std::thread other([&] { b.Epoch(batch_b, seed_b); });
    a.Epoch(batch_a, seed_a);
    other.join();
  }
  // `decodes`: of all jobs together. gtest's output (--gtest_output) has it.
  static void ExpectOnce(std::int64_t decodes) {
    RecordProperty("decodes", static_cast<int>(decodes));
    EXPECT_LE(decodes, kMost);
  }
  TemporaryFolder images_;
  const Cluster cluster_{GetParam(), "64M"};
};

TEST_P(PreparationOnceTest, JobsAtTheSameTimeWithOtherOrdersBatchesAndDraws) {
  Reader a(cluster_, images_.path(), Train(64)), b(cluster_, images_.path(), Train(48));
  Both(a, 16, 1, b, 24, 2);
  ExpectOnce(a.decodes() + b.decodes());
}

// As those of a search for parameters: each wants at every moment what the other wants.
TEST_P(PreparationOnceTest, JobsAtTheSameTimeWithTheSameOrder) {
  Reader a(cluster_, images_.path(), Train(64)), b(cluster_, images_.path(), Train(64));
  Both(a, 16, 1, b, 16, 1);
  ExpectOnce(a.decodes() + b.decodes());
}

TEST_P(PreparationOnceTest, OneAfterTheOther) {
  std::int64_t first = 0;
  {
    Reader a(cluster_, images_.path(), Train(64));
    a.Epoch(16, 1);
    first = a.decodes();
  }
  Reader b(cluster_, images_.path(), Train(48));
  b.Epoch(24, 2);
  ExpectOnce(first + b.decodes());
}

TEST_P(PreparationOnceTest, OneThatComesWhileTheOtherRuns) {
  Reader a(cluster_, images_.path(), Train(64));
  a.Epoch(16, 1);
  Reader b(cluster_, images_.path(), Train(64));
  Both(a, 16, 3, b, 16, 2);
  ExpectOnce(a.decodes() + b.decodes());
}

// The same files by a symbolic link, and by hard links in another folder.
TEST_P(PreparationOnceTest, OtherPathsToTheSameFiles) {
  const TemporaryFolder elsewhere;
  fs::create_directory_symlink(images_.path(), elsewhere.path() + "/link");
  fs::create_directories(elsewhere.path() + "/hard/class_0");
  for (const auto& file : fs::directory_iterator(images_.path() + "/class_0")) {
    fs::create_hard_link(file.path(),
                         elsewhere.path() + "/hard/class_0/" + file.path().filename().string());
  }
  Reader a(cluster_, images_.path(), Train(64)), b(cluster_, elsewhere.path() + "/link", Train(64));
  Both(a, 16, 1, b, 16, 2);
  Reader c(cluster_, elsewhere.path() + "/hard", Train(64));
  c.Epoch(16, 3);
  ExpectOnce(a.decodes() + b.decodes() + c.decodes());
}

// What both begin with is kept: the decoded picture.
TEST_P(PreparationOnceTest, OtherSizesOfTheSamePictures) {
  Reader a(cluster_, images_.path(), Evaluate(72)), b(cluster_, images_.path(), Evaluate(96));
  Both(a, 16, 1, b, 16, 2);
  ExpectOnce(a.decodes() + b.decodes());
  Reader c(cluster_, images_.path(), Train(64));
  c.Epoch(16, 3);
  ExpectOnce(a.decodes() + b.decodes() + c.decodes());
}

INSTANTIATE_TEST_SUITE_P(Workers, PreparationOnceTest, testing::Values(1, 4),
                         [](const auto& workers) {
                           return "Workers" + std::to_string(workers.param);
                         });

}  // namespace
}  // namespace headrace::testing_support
