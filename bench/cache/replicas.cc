// What copies of other hosts' entries save (docs/adr/0074-duplicates-and-replicas.md): one process with a
// coordinator, four workers on four hosts, as they seem to each other, and a trainer that takes each batch as
// soon as it is there. The pictures are objects of a store whose answers take 3 ms. Each worker has room for
// all of them. Prints one JSON line a run, with copies and without in turns:
//
//   replicas_bench [PAIRS]
//
//   asked, copies       part of the samples that were found at another worker, and in copies of its entries
//   hits                part that any cache had
//   entries             first copies in all caches, in parts of the samples
//   samples_per_second  of the last epochs
//   cpu_ms              of all of the process, for 1000 samples
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "headrace/image_folder.h"
#include "tests/integration/images.h"
#include "tests/integration/store_of_files.h"
#include "tests/integration/world.h"

namespace headrace::testing_support {
namespace {

constexpr std::int64_t kPictures = 800;
constexpr int kWide = 320, kHigh = 240;
constexpr double kPictureBytes = kWide * kHigh * 3 + 64 + 224;
constexpr int kWarm = 15, kMeasured = 10;  // epochs

double CpuSeconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct Found {
  double asked = 0, copies = 0, all = 0;
};
Found FoundSoFar(const Session& session) {
  Found found;
  for (const auto& [tier, of] : session.Stats().hits_by_tier) {
    const double samples = static_cast<double>(of.decoded + of.encoded);
    found.all += samples;
    if (tier == "peers") found.asked += samples;
    if (tier == "replicas") found.copies += samples;
  }
  return found;
}

void Run(const std::string& images, bool replicas) {
  const dataworker::SourceRegistry sources = StoreOfFiles::Registry();
  World::Options options;
  options.workers = options.hosts = 4;
  options.cache_bytes = static_cast<std::uint64_t>(1.3 * kPictures * kPictureBytes);
  options.replicas = replicas;
  options.sources = &sources;
  ImageFolderOptions wanted;
  wanted.image_size = 64;
  ImageFolder folder = *OpenImageFolder(images, wanted);
  folder.plan.leaves[0].source = "objects";
  folder.plan.leaves[0].args["base"] = std::string("s3://pictures/");
  World world(options);
  const auto session = world.Open(folder.plan, folder.blobs, folder.samples);
  world.AwaitOwners();
  std::uint64_t epoch = 0;
  const auto run = [&](int epochs) {
    for (int i = 0; i < epochs; ++i) {
      IterationOptions iteration;
      iteration.base_seed = ++epoch;
      RunIteration(*session, IndexBatches(kPictures, 16, epoch), iteration);
    }
  };
  run(kWarm);
  const Found before = FoundSoFar(*session);
  const double cpu = CpuSeconds();
  const auto begin = std::chrono::steady_clock::now();
  run(kMeasured);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const Found after = FoundSoFar(*session);
  constexpr double kSamples = 1.0 * kPictures * kMeasured;
  double entries = 0;
  for (std::size_t i = 0; i < 4; ++i) entries += static_cast<double>(world.CacheOf(i).entries);
  std::printf(
      "{\"replicas\": %s, \"asked\": %.4f, \"copies\": %.4f, \"hits\": %.4f, \"entries\": %.4f, "
      "\"samples_per_second\": %.0f, \"cpu_ms\": %.1f}\n",
      replicas ? "true" : "false", (after.asked - before.asked) / kSamples,
      (after.copies - before.copies) / kSamples, (after.all - before.all) / kSamples,
      entries / kPictures, kSamples / took.count(), (CpuSeconds() - cpu) / kSamples * 1e6);
  std::fflush(stdout);
}

}  // namespace
}  // namespace headrace::testing_support

int main(int argc, char** argv) {
  const headrace::testing_support::TemporaryFolder images;
  headrace::testing_support::MakeEqualImages(images.path(), headrace::testing_support::kPictures,
                                             headrace::testing_support::kWide,
                                             headrace::testing_support::kHigh);
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 5;
  for (int pair = 0; pair < pairs; ++pair) {
    for (const bool replicas : {true, false}) {
      headrace::testing_support::Run(images.path(), replicas);
    }
  }
  return 0;
}
