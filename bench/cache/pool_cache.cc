// Hit share and throughput of the workers of one host, over their number and the size of their caches
// together. Prints one JSON line for each pair.
//
//   pool_cache_bench HEADRACE shares|speed [WORKERS...]
//
// `shares`: many small pictures, so that no part of a cache is lost to its granularity, and caches that
// hold a part of them. `speed`: pictures like photographs, and room for all.
//
// Processes: a coordinator, workers of one thread each, and this program as the trainer. It takes each
// batch as soon as it is there. Without numbers: 1, 2, 4 and 8 workers.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "headrace/image_folder.h"
#include "tests/integration/images.h"
#include "tests/integration/service.h"

namespace headrace::testing_support {
namespace {

struct Kind {
  int samples = 0;
  int width = 0, height = 0;  // of each picture
  int size = 0;               // that it is cropped to
  std::vector<double> shares;

  // What one of the pictures takes of a cache: pixels, header and slack in whole cache lines, and its
  // place in the index.
  [[nodiscard]] double EntryBytes() const {
    return (width * height * 3 + 128 + 64 + 64 + 63) / 64 * 64 + 224;
  }
};
const Kind kShares{16'000, 40, 30, 24, {0.25, 0.5, 0.9, 1}};
const Kind kSpeed{400, 500, 375, 224, {2}};
constexpr int kEpochs = 4;  // the first one fills

struct Epoch {
  double hits = 0;  // share of the samples
  double samples_per_second = 0;
};

std::uint64_t Hits(const Session& session) {
  std::uint64_t hits = 0;
  for (const auto& [tier, of] : session.Stats().hits_by_tier) hits += of.decoded;
  return hits;
}

std::vector<Epoch> Run(const Kind& kind, const std::string& images, int workers, double share) {
  const auto each = static_cast<std::uint64_t>(kind.EntryBytes() * kind.samples * share / workers);
  Cluster cluster(workers, std::to_string(each));
  const auto client = cluster.Connect();
  ImageFolderOptions wanted;
  wanted.image_size = kind.size;
  const ImageFolder folder = *OpenImageFolder(images, wanted);
  SessionOptions options;
  const auto session = *client->OpenSession(folder.plan, folder.blobs, options);
  std::vector<Epoch> epochs;
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const std::uint64_t before = Hits(*session);
    IterationOptions iteration;
    iteration.base_seed = epoch;
    const auto batches = IndexBatches(kind.samples, 20, epoch);
    const auto begin = std::chrono::steady_clock::now();
    RunIteration(*session, batches, iteration);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    epochs.push_back(
        {static_cast<double>(Hits(*session) - before) / kind.samples, kind.samples / took.count()});
  }
  return epochs;
}

int Main(const Kind& kind, const std::vector<int>& workers) {
  TemporaryFolder images;
  MakeEqualImages(images.path(), kind.samples, kind.width, kind.height);
  for (const int count : workers) {
    for (const double share : kind.shares) {
      std::printf("{\"workers\": %d, \"share\": %g, \"hits\": [", count, share);
      const std::vector<Epoch> epochs = Run(kind, images.path(), count, share);
      for (std::size_t i = 0; i < epochs.size(); ++i) {
        std::printf("%s%.4f", i == 0 ? "" : ", ", epochs[i].hits);
      }
      std::printf("], \"samples_per_second\": [");
      for (std::size_t i = 0; i < epochs.size(); ++i) {
        std::printf("%s%.0f", i == 0 ? "" : ", ", epochs[i].samples_per_second);
      }
      std::printf("]}\n");
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace headrace::testing_support

int main(int argc, char** argv) {
  HR_CHECK(argc > 2);
  ::setenv("HEADRACE_BENCH_PROGRAM", argv[1], 1);  // NOLINT(concurrency-mt-unsafe): the only thread
  std::vector<int> workers;
  for (int i = 3; i < argc; ++i) workers.push_back(std::atoi(argv[i]));
  if (workers.empty()) workers = {1, 2, 4, 8};
  using headrace::testing_support::kShares, headrace::testing_support::kSpeed;
  const bool speed = std::string_view(argv[2]) == "speed";
  return headrace::testing_support::Main(speed ? kSpeed : kShares, workers);
}
