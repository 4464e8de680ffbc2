// One session against a real worker.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "gtest/gtest.h"
#include "headrace/image_folder.h"
#include "tests/integration/images.h"
#include "tests/integration/service.h"

namespace headrace::testing_support {
namespace {

class SessionTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    images_ = new TemporaryFolder;
    MakeImages(images_->path(), 3, 60);
    cluster_ = new Cluster(2);
  }
  static void TearDownTestSuite() {
    delete cluster_;
    delete images_;
  }
  SessionTest() : client_(cluster_->Connect()) {
    ImageFolderOptions options;
    options.rng = RngMode::kTorch;
    options.lanes = 3;
    options.image_size = 64;
    auto folder = OpenImageFolder(images_->path(), options);
    EXPECT_TRUE(folder.ok());
    folder_ = *std::move(folder);
    batches_ = IndexBatches(folder_.samples, 16, 1);
    iteration_.base_seed = 11;
  }
  std::unique_ptr<Session> Open(bool in_order = true, WireForm wire = WireForm::kAuto) {
    SessionOptions options;
    options.in_order = in_order;
    options.wire = wire;
    auto session = client_->OpenSession(folder_.plan, folder_.blobs, options);
    EXPECT_TRUE(session.ok()) << session.status().ToString();
    return *std::move(session);
  }

  static TemporaryFolder* images_;
  static Cluster* cluster_;
  std::shared_ptr<Client> client_;
  ImageFolder folder_;
  std::vector<std::vector<std::int64_t>> batches_;
  IterationOptions iteration_;
};
TemporaryFolder* SessionTest::images_ = nullptr;
Cluster* SessionTest::cluster_ = nullptr;

TEST_F(SessionTest, TcpBytesEqualSharedMemoryBytes) {
  const auto shm = RunIteration(*Open(), batches_, iteration_, [](const Batch& batch) {
    EXPECT_EQ(batch.transport, Transport::kShm);
    EXPECT_TRUE(batch.missing.empty());
  });
  std::map<WireForm, SessionStats> stats;
  for (const WireForm form : {WireForm::kAuto, WireForm::kAsMade, WireForm::kUint8}) {
    ::setenv("HEADRACE_TRANSPORT", "tcp", 1);
    const auto session = Open(true, form);
    ::unsetenv("HEADRACE_TRANSPORT");
    const auto tcp = RunIteration(*session, batches_, iteration_, [](const Batch& batch) {
      EXPECT_EQ(batch.transport, Transport::kTcp);
    });
    EXPECT_EQ(shm, tcp);
    stats[form] = session->Stats();
  }
  const SessionStats& made = stats[WireForm::kAsMade];
  const SessionStats& uint8 = stats[WireForm::kUint8];
  EXPECT_EQ(made.received_bytes, made.tcp_bytes);
  EXPECT_EQ(made.finished_batches, 0U);
  EXPECT_EQ(uint8.tcp_bytes, made.tcp_bytes) << "what the trainer gets is the same";
  EXPECT_LE(static_cast<double>(uint8.received_bytes),
            0.26 * static_cast<double>(made.received_bytes));
  EXPECT_EQ(uint8.finished_batches, batches_.size());
  EXPECT_GT(uint8.finish_ns, 0U);
}

TEST_F(SessionTest, MissingSamplesOfABatchThatCrossesAsUint8) {
  TemporaryFolder images;
  MakeImages(images.path(), 2, 10);
  std::ofstream(images.path() + "/class_1/4.jpg") << "no image";
  ImageFolderOptions options;
  options.rng = RngMode::kSample;
  options.image_size = 64;
  const auto folder = OpenImageFolder(images.path(), options);
  ASSERT_TRUE(folder.ok());
  std::vector<std::vector<std::uint64_t>> seen;
  for (const WireForm form : {WireForm::kAsMade, WireForm::kUint8}) {
    SessionOptions session_options;
    session_options.wire = form;
    ::setenv("HEADRACE_TRANSPORT", "tcp", 1);
    const auto session = *client_->OpenSession(folder->plan, folder->blobs, session_options);
    ::unsetenv("HEADRACE_TRANSPORT");
    // The only sample of a batch, and one among others.
    seen.push_back(RunIteration(
        *session, {{14}, {3, 14, 5}, {1, 2}}, iteration_,
        [](const Batch& batch) { EXPECT_EQ(batch.missing.size(), batch.batch < 2 ? 1U : 0U); }));
    EXPECT_GE(session->Stats().finished_batches, form == WireForm::kUint8 ? 2U : 0U);
  }
  EXPECT_EQ(seen[0], seen[1]);
}

TEST_F(SessionTest, TwoSessionsAtOnceDoNotMix) {
  const auto one = Open(), two = Open();
  IterationOptions other = iteration_;
  other.base_seed = 12;
  const auto expected_one = RunIteration(*one, batches_, iteration_);
  const auto expected_two = RunIteration(*two, batches_, other);
  EXPECT_NE(expected_one, expected_two);
  std::vector<std::uint64_t> inner;
  const auto outer = RunIteration(*one, batches_, iteration_, [&](const Batch& batch) {
    if (batch.batch == 2) inner = RunIteration(*two, batches_, other);
  });
  EXPECT_EQ(outer, expected_one);
  EXPECT_EQ(inner, expected_two);
}

TEST_F(SessionTest, AbandonedIterationDisturbsTheNextOneNot) {
  const auto session = Open();
  const auto expected = RunIteration(*session, batches_, iteration_);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(session->Begin(iteration_).ok());
    for (int b = 0; b < 4; ++b) ASSERT_TRUE(session->Submit(batches_[0]).ok());
    if (i % 2 == 0) {
      ASSERT_TRUE(session->Next(std::chrono::seconds(30)).ok());
    }
  }
  EXPECT_EQ(RunIteration(*session, batches_, iteration_), expected);
}

TEST_F(SessionTest, DroppedSessionLeavesTheClientUsable) {
  for (int i = 0; i < 3; ++i) {
    const auto session = Open();
    ASSERT_TRUE(session->Begin(iteration_).ok());
    for (int b = 0; b < 4; ++b) ASSERT_TRUE(session->Submit(batches_[0]).ok());
  }
  EXPECT_EQ(RunIteration(*Open(), batches_, iteration_).size(), batches_.size());
}

TEST_F(SessionTest, ResumeByLaneDrawsEqualsAContinuousRun) {
  const auto first = Open();
  std::vector<std::uint64_t> draws;
  const auto expected = RunIteration(*first, batches_, iteration_, [&](const Batch& batch) {
    if (batch.batch == 4) draws = *first->LaneDraws();
  });
  const auto second = Open();
  IterationOptions resumed = iteration_;
  resumed.first_batch = 5;
  resumed.lane_draws = draws;
  const auto rest = RunIteration(*second, batches_, resumed);
  EXPECT_EQ(rest, std::vector(expected.begin() + 5, expected.end()));
}

TEST_F(SessionTest, OutOfOrderDeliversEveryBatchOnce) {
  const auto session = Open(false);
  ASSERT_TRUE(session->Begin(iteration_).ok());
  std::vector<std::int64_t> numbers;
  std::size_t submitted = 0;
  while (numbers.size() < batches_.size()) {
    while (submitted < batches_.size() && session->outstanding() < 4) {
      ASSERT_TRUE(session->Submit(batches_[submitted++]).ok());
    }
    const auto event = session->Next(std::chrono::seconds(30));
    ASSERT_TRUE(event.ok() && event->batch);
    numbers.push_back(event->batch->batch);
  }
  std::ranges::sort(numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(numbers[i], static_cast<std::int64_t>(i));
  }
}

TEST_F(SessionTest, KeptBatchesNeverChangeAndAreToBeCopiedWhenTheyAreMany) {
  const auto session = Open();
  std::vector<Batch> kept;
  std::vector<std::uint64_t> fingerprints;
  ASSERT_TRUE(session->Begin(iteration_).ok());
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(session->Submit(batches_[static_cast<std::size_t>(i)]).ok());
    auto event = session->Next(std::chrono::seconds(30));
    ASSERT_TRUE(event.ok() && event->batch);
    EXPECT_EQ(event->batch->copy_advised, i >= 3) << i;
    fingerprints.push_back(Fingerprint(*event->batch));
    kept.push_back(std::move(*event->batch));
  }
  RunIteration(*session, batches_, iteration_);
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(Fingerprint(kept[i]), fingerprints[i]);
}

TEST_F(SessionTest, BatchOutlivesSessionAndClient) {
  auto session = Open();
  ASSERT_TRUE(session->Begin(iteration_).ok());
  ASSERT_TRUE(session->Submit(batches_[0]).ok());
  auto event = session->Next(std::chrono::seconds(30));
  ASSERT_TRUE(event.ok() && event->batch);
  const std::uint64_t before = Fingerprint(*event->batch);
  session.reset();
  client_.reset();
  EXPECT_EQ(Fingerprint(*event->batch), before);
}

TEST_F(SessionTest, ArenaThatIsFullIsAnErrorAndGoesOnWhenABatchIsDropped) {
  SessionOptions options;
  options.max_arena_bytes = 1 << 20;  // one batch of 16 * 3 * 64 * 64 floats is 786 kB
  const auto session = *client_->OpenSession(folder_.plan, folder_.blobs, options);
  ASSERT_TRUE(session->Begin(iteration_).ok());
  ASSERT_TRUE(session->Submit(batches_[0]).ok());
  auto first = session->Next(std::chrono::seconds(30));
  ASSERT_TRUE(first.ok() && first->batch) << first.status().ToString();
  ASSERT_TRUE(session->Submit(batches_[1]).ok());
  const auto refused = session->Next(std::chrono::seconds(30));
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted) << refused.status().ToString();
  first->batch.reset();
  const auto second = session->Next(std::chrono::seconds(30));
  ASSERT_TRUE(second.ok() && second->batch) << second.status().ToString();
  EXPECT_EQ(second->batch->batch, 1);
}

TEST_F(SessionTest, LaterBatchesNeverStarveTheNextOneOfMemory) {
  SessionOptions options;
  options.max_arena_bytes = 1 << 20;
  const auto session = *client_->OpenSession(folder_.plan, folder_.blobs, options);
  EXPECT_EQ(RunIteration(*session, batches_, iteration_),
            RunIteration(*Open(), batches_, iteration_));
}

// A trainer that keeps no batch is never told that memory is missing, however its drop and the
// session's look for a slot meet.
TEST_F(SessionTest, ATrainerThatKeepsNothingAlwaysGetsTheNextBatch) {
  SessionOptions options;
  options.max_arena_bytes = 1 << 20;  // a batch takes all of it
  options.max_outstanding = std::ssize(batches_);
  const auto session = *client_->OpenSession(folder_.plan, folder_.blobs, options);
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(session->Begin(iteration_).ok());
    for (const auto& batch : batches_) ASSERT_TRUE(session->Submit(batch).ok());
    for (std::size_t taken = 0; taken < batches_.size(); ++taken) {
      const auto event = session->Next(std::chrono::seconds(30));
      ASSERT_TRUE(event.ok()) << event.status().ToString() << " in round " << round;
    }
  }
}

TEST_F(SessionTest, UnreadableFilesAreLeftToTheTrainerWithTheirGeneratorState) {
  TemporaryFolder images;
  MakeImages(images.path(), 2, 10);
  const std::string truncated = images.path() + "/class_0/3.jpg";
  std::filesystem::resize_file(truncated, std::filesystem::file_size(truncated) / 2);
  std::ofstream(images.path() + "/class_1/4.jpg") << "no image";
  std::filesystem::remove(images.path() + "/class_1/5.jpg");
  std::ofstream(images.path() + "/class_1/5.jpg") << "";
  ImageFolderOptions folder_options;
  folder_options.rng = RngMode::kTorch;
  folder_options.image_size = 64;
  const auto folder = OpenImageFolder(images.path(), folder_options);
  ASSERT_TRUE(folder.ok());
  const auto session = *client_->OpenSession(folder->plan, folder->blobs, {});
  ASSERT_TRUE(session->Begin(iteration_).ok());
  ASSERT_TRUE(session->Submit(IndexBatches(20, 20, 3)[0]).ok());
  int needed = 0;
  for (;;) {
    const auto event = session->Next(std::chrono::seconds(30));
    ASSERT_TRUE(event.ok()) << event.status().ToString();
    if (event->sample) {
      ++needed;
      // As if the trainer could make it, without a draw.
      ASSERT_TRUE(session
                      ->ResolveSample(event->sample->batch, event->sample->position,
                                      event->sample->torch_state, false)
                      .ok());
      continue;
    }
    ASSERT_EQ(event->batch->missing.size(), 3U);
    for (const MissingSample& missing : event->batch->missing) {
      EXPECT_EQ(missing.torch_state.size(), 5056U);
      EXPECT_FALSE(missing.message.empty());
    }
    break;
  }
  EXPECT_EQ(needed, 2);
  EXPECT_TRUE(session->LaneDraws().ok());
}

TEST_F(SessionTest, ForkedChildGetsErrorsAndHangsNowhere) {
  auto session = Open();
  ASSERT_TRUE(session->Begin(iteration_).ok());
  ASSERT_TRUE(session->Submit(batches_[0]).ok());
  const pid_t child = ::fork();
  if (child == 0) {
    const bool refused =
        session->Submit(batches_[1]).status().code() == Code::kUnavailable &&
        session->Next(std::chrono::seconds(1)).status().code() == Code::kUnavailable &&
        session->Begin({}).code() == Code::kUnavailable &&
        client_->OpenSession(folder_.plan, folder_.blobs, {}).status().code() == Code::kUnavailable;
    session.reset();
    client_.reset();
    const auto own = cluster_->Connect();  // one of its own works
    const bool opened = own->OpenSession(folder_.plan, folder_.blobs, {}).ok();
    ::_exit(refused && opened ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(session->Next(std::chrono::seconds(30)).ok());
}

TEST_F(SessionTest, ThePoolsCacheServesAProgramThatAsksForNone) {
  Cluster pool(2, "64M");
  const auto client = pool.Connect();
  const auto session = *client->OpenSession(folder_.plan, folder_.blobs, {});
  const auto misses = [&] { return session->Stats().miss_samples; };
  const auto expected = RunIteration(*session, batches_, iteration_);
  // The second worker may have come later, and what it owns is then made once more.
  EXPECT_EQ(RunIteration(*session, batches_, iteration_), expected);
  const std::uint64_t before = misses();
  EXPECT_EQ(RunIteration(*session, batches_, iteration_), expected);
  EXPECT_EQ(misses(), before);
}

TEST_F(SessionTest, PlanWithoutNativeFormIsRefusedByName) {
  Plan plan = folder_.plan;
  plan.chain[1].op = "swirl";
  plan.chain[1].label = "Swirl(3)";
  const Status status = client_->OpenSession(plan, folder_.blobs, {}).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("Swirl(3)"), std::string::npos);
}

}  // namespace
}  // namespace headrace::testing_support
