// What dies, and what then happens.
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "gtest/gtest.h"
#include "headrace/image_folder.h"
#include "tests/integration/images.h"
#include "tests/integration/service.h"

namespace headrace::testing_support {
namespace {

class FaultTest : public testing::Test {
 protected:
  FaultTest() {
    MakeImages(images_.path(), 3, 60);
    ImageFolderOptions options;
    options.rng = RngMode::kTorch;
    options.lanes = 2;
    options.image_size = 64;
    folder_ = *OpenImageFolder(images_.path(), options);
    batches_ = IndexBatches(folder_.samples, 8, 1);
    iteration_.base_seed = 11;
  }
  std::unique_ptr<Session> Open(Client& client) const {
    auto session = client.OpenSession(folder_.plan, folder_.blobs, {});
    EXPECT_TRUE(session.ok()) << session.status().ToString();
    return *std::move(session);
  }
  // The batches when nothing dies.
  std::vector<std::uint64_t> Expected() const {
    Cluster cluster(1);
    const auto client = cluster.Connect();
    return RunIteration(*Open(*client), batches_, iteration_);
  }

  TemporaryFolder images_;
  ImageFolder folder_;
  std::vector<std::vector<std::int64_t>> batches_;
  IterationOptions iteration_;
};

TEST_F(FaultTest, KilledWorkersBatchesComeFromAnotherWithTheSameBytes) {
  const auto expected = Expected();
  Cluster cluster(2);
  const auto client = cluster.Connect();
  const auto session = Open(*client);
  const auto got = RunIteration(*session, batches_, iteration_, [&](const Batch& batch) {
    if (batch.batch == 5) cluster.worker(0).Kill();
  });
  EXPECT_EQ(got, expected);
}

TEST_F(FaultTest, KilledLocalWorkerIsReplaced) {
  const auto expected = Expected();
  const auto client = *Client::Open(EmbeddedOptions(1));
  const auto session = Open(*client);
  const auto got = RunIteration(*session, batches_, iteration_, [&](const Batch& batch) {
    if (batch.batch != 5) return;
    for (const int coordinator : ChildrenOf(::getpid())) {
      for (const int worker : ChildrenOf(coordinator)) ::kill(worker, SIGKILL);
    }
  });
  EXPECT_EQ(got, expected);
  EXPECT_GE(session->Stats().samples_by_worker.size(), 2U);
}

TEST_F(FaultTest, KilledCoordinatorStopsNoIteration) {
  const auto expected = Expected();
  Cluster cluster(1);
  const auto client = cluster.Connect();
  const auto session = Open(*client);
  const auto got = RunIteration(*session, batches_, iteration_, [&](const Batch& batch) {
    if (batch.batch == 5) cluster.coordinator().Kill();
  });
  EXPECT_EQ(got, expected);
  EXPECT_EQ(RunIteration(*session, batches_, iteration_), expected);
}

TEST_F(FaultTest, RestartedCoordinatorTakesTheSameWorkerForTheSame) {
  const auto expected = Expected();
  Cluster cluster(1);
  const auto client = cluster.Connect();
  const auto session = Open(*client);
  EXPECT_EQ(RunIteration(*session, batches_, iteration_), expected);
  cluster.RestartCoordinator();
  // Until the job is open there again, and the worker leased under its new id.
  const SteadyTime end = Clock::Real().Now() + std::chrono::seconds(4);
  while (Clock::Real().Now() < end) {
    EXPECT_EQ(RunIteration(*session, batches_, iteration_), expected);
  }
  EXPECT_EQ(RunIteration(*Open(*client), batches_, iteration_), expected);
  EXPECT_EQ(session->Stats().rerequested, 0U);
  EXPECT_EQ(session->Stats().samples_by_worker.size(), 1U);
}

TEST_F(FaultTest, KilledPrivateCoordinatorStopsNoIterationAndIsReplacedForTheNextSession) {
  const auto expected = Expected();
  const auto client = *Client::Open(EmbeddedOptions(1));
  const auto session = Open(*client);
  const std::string before = client->coordinator_endpoint();
  std::vector<int> workers;
  const auto got = RunIteration(*session, batches_, iteration_, [&](const Batch& batch) {
    if (batch.batch != 5) return;
    for (const int coordinator : ChildrenOf(::getpid())) {
      workers = ChildrenOf(coordinator);
      ::kill(coordinator, SIGKILL);
    }
  });
  EXPECT_EQ(got, expected);
  EXPECT_EQ(RunIteration(*session, batches_, iteration_), expected);
  EXPECT_EQ(session->Stats().samples_by_worker.size(), 1U);
  const auto next = Open(*client);
  EXPECT_EQ(RunIteration(*next, batches_, iteration_), expected);
  EXPECT_NE(client->coordinator_endpoint(), before);
  // The new coordinator's worker has its id from the start, as the former's had.
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_TRUE(WaitForEnd(workers[0], 10'000));
  EXPECT_EQ(RunIteration(*session, batches_, iteration_), expected);
  EXPECT_EQ(session->Stats().samples_by_worker.size(), 2U);
}

TEST_F(FaultTest, WorkersOfAKilledPrivateCoordinatorEndWithTheClient) {
  auto client = *Client::Open(EmbeddedOptions(1));
  const auto session = Open(*client);
  RunIteration(*session, batches_, iteration_);
  std::vector<int> workers;
  for (const int coordinator : ChildrenOf(::getpid())) {
    workers = ChildrenOf(coordinator);
    ::kill(coordinator, SIGKILL);
  }
  ASSERT_EQ(workers.size(), 1U);
  client->Close();
  EXPECT_TRUE(WaitForEnd(workers[0], 5000));
}

TEST_F(FaultTest, WorkerThatComesInTheMiddleTakesItsShare) {
  const auto expected = Expected();
  Cluster cluster(1);
  const auto client = cluster.Connect();
  const auto session = Open(*client);
  EXPECT_EQ(RunIteration(*session, batches_, iteration_), expected);
  cluster.AddWorker();
  // Epoch after epoch, until it has taken part.
  for (int epoch = 0; epoch < 200 && session->Stats().samples_by_worker.size() < 2; ++epoch) {
    EXPECT_EQ(RunIteration(*session, batches_, iteration_), expected);
  }
  EXPECT_EQ(session->Stats().samples_by_worker.size(), 2U);
}

TEST_F(FaultTest, NoWorkerIsAnErrorThatSaysWhatToDo) {
  Cluster cluster(1);
  ClientOptions options;
  options.connect_timeout = std::chrono::milliseconds(1500);
  const auto client = cluster.Connect(options);
  const auto session = Open(*client);
  ASSERT_TRUE(session->Begin(iteration_).ok());
  cluster.worker(0).Kill();
  ASSERT_TRUE(session->Submit(batches_[0]).ok());
  Status status;
  do {
    status = session->Next(std::chrono::seconds(1)).status();
  } while (status.ok() || status.code() == Code::kDeadlineExceeded);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("headrace worker --coordinator"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace headrace::testing_support
