// A worker whose cache is on a disk: what it has made once, the next worker there finds.
#include <filesystem>
#include <memory>
#include <string>

#include "dataworker/worker/worker_test_base.h"

namespace headrace::dataworker {
namespace {

class WorkerDiskTest : public WorkerTest {
 protected:
  WorkerDiskTest() {
    std::string pattern = testing::TempDir() + "worker_disk_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    attach_.cache_bytes = std::uint64_t{8} << 20;
  }
  ~WorkerDiskTest() override { std::filesystem::remove_all(directory_); }

  // The batch of all keys, of a worker that has just started and ends then.
  wire::BatchDone OfANewWorker() {
    WorkerOptions options;
    options.threads = 2;
    options.cache_tiers.push_back("disk:size=8M,directory=" + directory_);
    TestWorker worker(options);
    TestClient client(worker);
    client.Attach(attach_, blobs_, &arena_);
    const wire::BatchRequest request = Request(AllKeys());
    client.Send(request);
    wire::BatchDone done = client.Next<wire::BatchDone>();
    ExpectBatch(request, done, arena_.memory().subspan(4096));
    return done;
  }

  std::string directory_;
  const TestArena arena_{kArenaBytes};
};

TEST_F(WorkerDiskTest, FindsWhatAnEarlierOneHasMadeAndTheBitsAreTheSame) {
  EXPECT_EQ(OfANewWorker().cost.misses, static_cast<unsigned>(kFiles));
  for (int times = 0; times < 2; ++times) {
    const wire::BatchDone done = OfANewWorker();
    EXPECT_EQ(done.cost.decoded_hits, static_cast<unsigned>(kFiles));
    EXPECT_EQ(done.cost.misses, 0U);
    EXPECT_EQ(done.cost.source_bytes, 0U);
    ASSERT_EQ(done.tiers.size(), 1U);
    EXPECT_EQ(done.tiers[0].tier, "disk");
  }
}

}  // namespace
}  // namespace headrace::dataworker
