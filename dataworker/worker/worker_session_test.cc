// A whole worker against a scripted client: sessions that begin, fail, are cancelled and end.
#include <sys/stat.h>

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dataworker/worker/worker_test_base.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

TEST_F(WorkerTest, EveryRequestIsAnsweredOnceWhenAnIterationIsCancelled) {
  TestWorker worker("", 0, /*threads=*/1);
  TestClient client(worker);
  const TestArena arena(kArenaBytes);
  client.Attach(attach_, blobs_, &arena);
  std::map<std::int64_t, int> answers;
  std::vector<wire::BatchRequest> later;
  for (int i = 0; i < 40; ++i) {
    wire::BatchRequest request = Request(AllKeys());
    if (i % 4 == 3) {
      request.iteration = IterationId(2);
      request.slot_offset = 1 << 20;
      later.push_back(request);
    }
    client.Send(request);
  }
  client.Send(wire::CancelIterations{attach_.session, IterationId(2)});
  int made = 0;
  for (int i = 0; i < 40; ++i) {
    const wire::BatchDone done = client.Next<wire::BatchDone>();
    ++answers[done.batch.value];
    if (done.iteration == IterationId(2)) {
      EXPECT_TRUE(done.status.ok());
      ++made;
    } else {
      EXPECT_TRUE(done.status.ok() || done.status.code() == Code::kCancelled);
    }
  }
  EXPECT_EQ(made, 10);
  EXPECT_EQ(answers.size(), 40U);
}

// Crops that were drawn for another image would lie elsewhere in this one.
TEST_F(WorkerTest, ASampleWhoseImageHasNotThePlannedSizeIsRefused) {
  attach_.plan.rng = RngMode::kTorch;
  for (const std::uint64_t cache_bytes : {std::uint64_t{0}, std::uint64_t{8} << 20}) {
    TestWorker worker("", cache_bytes);
    TestClient client(worker);
    attach_.cache_bytes = cache_bytes;
    client.Attach(attach_, blobs_);
    for (int time = 0; time < 2; ++time) {  // the second one from the cache
      wire::BatchRequest request = Request({0, 1, 2, 3});
      request.seeds.clear();
      const auto words = static_cast<std::size_t>(
          ops::Chain::Compile(attach_.plan.chain, attach_.plan.libraries, {})->param_words());
      request.params.assign(4 * words, 0);
      // Sample 1 is as planned; of the others height, width and channels are not.
      const auto image = [](std::int64_t height, std::int64_t width, std::int64_t channels) {
        return TensorSpec{DType::kU8, Layout::kHwc, {height, width, channels}};
      };
      request.specs = {image(31, 50, 3), image(31, 49, 3), image(32, 47, 3), image(33, 47, 1)};
      client.Send(request);
      const wire::BatchDone done = client.Next<wire::BatchDone>();
      ASSERT_TRUE(done.status.ok()) << done.status.ToString();
      ASSERT_EQ(done.failures.size(), 3U);
      const std::vector<std::int32_t> refused = {0, 2, 3};
      for (std::size_t i = 0; i < refused.size(); ++i) {
        EXPECT_EQ(done.failures[i].position, refused[i]);
        EXPECT_EQ(done.failures[i].detail, Detail::kOtherSpec);
        EXPECT_EQ(done.failures[i].code, Code::kUnavailable);
      }
      EXPECT_THAT(done.failures[0].message,
                  HasSubstr("is uint8[30, 50, 3] now, and was planned as uint8[31, 50, 3]"));
    }
  }
}

TEST_F(WorkerTest, AHangUpInTheMiddleEndsTheSession) {
  TestWorker worker;
  TestClient client(worker);
  {
    const TestArena arena(kArenaBytes);
    client.Attach(attach_, blobs_, &arena);
    for (int i = 0; i < 30; ++i) client.Send(Request(AllKeys()));
  }
  client.HangUp();
  // Soon nobody knows the session. Requests that it has when it ends are not answered.
  bool ended = false;
  while (!ended) {
    client.Send(Request({0}));
    const auto answers = client.UntilPong<wire::BatchDone>();
    ended = std::any_of(answers.begin(), answers.end(), [](const wire::BatchDone& answer) {
      return answer.status.code() == Code::kNotFound;
    });
  }
}

TEST_F(WorkerTest, NothingIsWrittenAfterTheWorkerHungUp) {
  constexpr int kRequests = 60;
  constexpr std::uint64_t kSlotBytes = 1 << 20;
  const TestArena arena(kRequests * kSlotBytes);
  auto worker = std::make_unique<TestWorker>();
  TestClient client(*worker);
  std::promise<void> hung_up;
  client.on_hangup = [&] {  // as a trainer that uses its slots for something else now
    std::fill(arena.memory().begin(), arena.memory().end(), std::byte{0});
    hung_up.set_value();
  };
  client.Attach(attach_, blobs_, &arena);
  for (int i = 0; i < kRequests; ++i) {
    wire::BatchRequest request = Request(AllKeys());
    request.slot_offset = static_cast<std::uint64_t>(i) * kSlotBytes;
    request.slot_bytes = kSlotBytes;
    client.Send(request);
  }
  client.Next<wire::BatchDone>();
  worker.reset();
  hung_up.get_future().get();
  EXPECT_TRUE(std::all_of(arena.memory().begin(), arena.memory().end(),
                          [](std::byte value) { return value == std::byte{0}; }));
}

TEST_F(WorkerTest, DamagedBlobsAndPlansAreRefusedWithTheReason) {
  TestWorker worker;
  TestClient client(worker);
  auto damaged = blobs_;
  damaged.begin()->second[40] ^= std::byte{1};
  client.Attach(attach_, damaged);
  client.Send(Request({0}));
  const wire::BatchDone done = client.Next<wire::BatchDone>();
  EXPECT_EQ(done.status.code(), Code::kDataLoss);
  EXPECT_THAT(done.status.message(), HasSubstr("is damaged"));
  // Attached again, with the right content this time.
  client.Attach(attach_, blobs_);
  const wire::BatchRequest request = Request({0});
  client.Send(request);
  Bytes payload;
  const wire::BatchDone good = client.Next<wire::BatchDone>(&payload);
  ExpectBatch(request, good, payload);

  attach_.session = SessionId(78);
  attach_.plan.chain[1].op = "no_such_op";
  const wire::Attached refused = client.Attach(attach_, blobs_);
  EXPECT_EQ(refused.status.code(), Code::kUnsupported);
  EXPECT_THAT(refused.status.message(), HasSubstr("no_such_op"));
}

TEST_F(WorkerTest, BlobsComeByDescriptorToo) {
  TestWorker worker;
  TestClient client(worker);
  const TestArena arena(kArenaBytes);
  net::DescriptorMessage message;
  message.session = attach_.session;
  message.bytes = arena.memory().size();
  client.PassDescriptor(message, arena.fd());
  wire::Attached attached;
  attach_.use_arena = true;
  do {
    ++attach_.request;
    client.Send(attach_);
    attached = client.Next<wire::Attached>();
  } while (!attached.use_arena);
  ASSERT_EQ(attached.needed_blobs.size(), 1U);
  const Bytes& content = blobs_.at(attached.needed_blobs[0]);
  const TestArena blob(content.size());
  std::copy(content.begin(), content.end(), blob.memory().begin());
  message.kind = net::DescriptorMessage::Kind::kBlob;
  message.hash = attached.needed_blobs[0];
  message.bytes = content.size();
  client.PassDescriptor(message, blob.fd());
  wire::BatchRequest request = Request(AllKeys());
  client.Send(request);
  ExpectBatch(request, client.Next<wire::BatchDone>(), arena.memory().subspan(4096));
}

TEST_F(WorkerTest, LeaveAnswersWhatWasAskedAndTakesNobodyNew) {
  TestWorker worker;
  TestClient client(worker);
  client.Attach(attach_, blobs_);
  for (int i = 0; i < 5; ++i) client.Send(Request(AllKeys()));
  client.Send(wire::Ping{4});
  EXPECT_EQ(client.Next<wire::Pong>().sequence, 4U);  // the requests are there now
  worker.Leave();
  wire::Attach other = attach_;
  other.session = SessionId(99);
  EXPECT_EQ(client.Attach(other, blobs_).status.code(), Code::kUnavailable);
  client.Send(wire::Detach{attach_.session});
  worker.WaitForEnd();
}

TEST(WorkerStart, ADirectoryThatOthersMayEnterIsRefused) {
  const TemporaryDirectory directory;
  ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
  auto reactor = net::Reactor::Make("test");
  WorkerOptions options;
  options.directory = directory.path();
  const auto worker = Worker::Start(**reactor, options, [](Status) {});
  EXPECT_EQ(worker.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(worker.status().message(), HasSubstr("0700"));
}

}  // namespace
}  // namespace headrace::dataworker
