// A whole worker against a scripted client: sessions whose batches user code makes, in
// subprocesses.
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/hash_forgery.h"
#include "dataworker/session/attachment.h"
#include "dataworker/stage/fake_stage.h"
#include "dataworker/worker/worker_fixture.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

class WorkerStageTest : public ::testing::Test {
 protected:
  WorkerStageTest() {
    WriteFakeStage(directory_);
    const Bytes bundle;
    attach_.session = SessionId(77);
    attach_.job = JobId(5);
    attach_.host = wire::ReadHostIdentity();
    attach_.plan.has_python_stage = true;
    attach_.plan.python.bundle = HashBlob(bundle);
    attach_.plan.python.executable = "/usr/bin/python3";
    attach_.plan.python.sys_path = {directory_.path()};
    attach_.plan.rng = RngMode::kTorch;
    attach_.plan.lanes = 2;
    blobs_[attach_.plan.python.bundle] = bundle;
  }
  wire::BatchRequest Request(std::int64_t key, std::int32_t lane = 0) {
    wire::BatchRequest request;
    request.session = attach_.session;
    request.iteration = IterationId(1);
    request.batch = BatchId(next_);
    request.attempt = static_cast<std::uint32_t>(next_++);
    request.keys = {key};
    request.lane = LaneId(lane);
    request.lane_state = CopyBytes(AsBytes(std::string("s")));
    request.slot_bytes = 4096;
    return request;
  }
  static wire::BatchDone Ask(TestClient& client, const wire::BatchRequest& request) {
    client.Send(request);
    return client.Next<wire::BatchDone>();
  }

  TemporaryDirectory directory_;
  wire::Attach attach_;
  std::map<BlobHash, Bytes> blobs_;
  std::int64_t next_ = 0;
};

TEST_F(WorkerStageTest, ALostZygoteIsStartedAgainWhenTheTrainerAttachesAgain) {
  TestWorker worker;
  TestClient client(worker);
  for (int loss = 0; loss < StageLosses::kMost - 1; ++loss) {
    ASSERT_TRUE(client.Attach(attach_, blobs_).status.ok());
    ASSERT_TRUE(Ask(client, Request(1)).status.ok());
    const wire::BatchDone lost = Ask(client, Request(-5));
    EXPECT_EQ(lost.status.code(), Code::kNotFound);
    EXPECT_THAT(lost.status.message(), HasSubstr("killed by signal: Killed"));
    // Until the trainer attaches again.
    EXPECT_EQ(Ask(client, Request(1)).status.code(), Code::kNotFound);
  }
  ASSERT_TRUE(client.Attach(attach_, blobs_).status.ok());
  EXPECT_TRUE(Ask(client, Request(1)).status.ok());
}

TEST_F(WorkerStageTest, AZygoteThatIsLostEachTimeEndsTheSessionWithItsCause) {
  TestWorker worker;
  for (int loss = 0; loss < StageLosses::kMost; ++loss) {
    TestClient client(worker);  // each time on another connection
    ASSERT_TRUE(client.Attach(attach_, blobs_).status.ok());
    const Status status = Ask(client, Request(-5)).status;
    EXPECT_EQ(status.code(), loss + 1 < StageLosses::kMost ? Code::kNotFound : Code::kUnsupported)
        << status.ToString();
  }
  TestClient client(worker);
  const Status refused = client.Attach(attach_, blobs_).status;
  EXPECT_EQ(refused.code(), Code::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("lost 3 times"));
  EXPECT_THAT(refused.message(), HasSubstr("killed by signal: Killed"));
  EXPECT_EQ(Ask(client, Request(1)).status.code(), Code::kUnsupported);
  attach_.session = SessionId(78);  // is another matter
  ASSERT_TRUE(client.Attach(attach_, blobs_).status.ok());
  EXPECT_TRUE(Ask(client, Request(1)).status.ok());
}

// A stranger can say that it is on this host. Its message would name a program to start.
TEST_F(WorkerStageTest, TheTrainersOwnPythonIsStartedByTheKernelsWordAlone) {
  const std::string python = directory_.path() + "/python", mark = directory_.path() + "/started";
  directory_.Write("python", "#!/bin/sh\ntouch " + mark + "\nexec /usr/bin/python3 \"$@\"\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  attach_.plan.python.executable = python;
  const TestArena arena(1 << 16);
  const auto started = [&](const std::string& listen, const TestArena* passed) {
    std::filesystem::remove(mark);
    TestWorker worker(listen);
    TestClient client(worker);
    EXPECT_TRUE(client.Attach(attach_, blobs_, passed).status.ok());
    EXPECT_TRUE(Ask(client, Request(1)).status.ok());
    return std::filesystem::exists(mark);
  };
  EXPECT_TRUE(started("", nullptr));  // on its Unix socket
  EXPECT_FALSE(started("tcp://127.0.0.1:*", nullptr));
  EXPECT_TRUE(started("tcp://127.0.0.1:*", &arena));
}

// Its message may come before its arena. The code is here already, of another loader, and would be
// started in another Python.
TEST_F(WorkerStageTest, WhatATrainerWithAnArenaRunsWaitsForIt) {
  FakeClock clock;
  clock.Advance(std::chrono::seconds(1));  // the clock's first moment stands for none
  WorkerOptions options;
  options.listen = "tcp://127.0.0.1:*";
  TestWorker worker(options, clock);
  const TestArena arena(1 << 16);
  TestClient before(worker);
  EXPECT_TRUE(before.Attach(attach_, blobs_, &arena).status.ok());
  EXPECT_TRUE(Ask(before, Request(1)).status.ok());
  attach_.session = SessionId(78);
  attach_.use_arena = true;
  TestClient client(worker);
  for (int i = 0; i < 3 * Attachment::kMostAwaited; ++i) {  // in a hurry
    client.Send(attach_);
    const auto answer = client.Next<wire::Attached>();
    EXPECT_TRUE(answer.status.ok());
    EXPECT_FALSE(answer.use_arena);
    EXPECT_THAT(answer.needed_blobs, ::testing::IsEmpty());
  }
  EXPECT_TRUE(client.Attach(attach_, blobs_, &arena).status.ok());
  EXPECT_TRUE(Ask(client, Request(1)).status.ok());
  EXPECT_THAT(FakeStageNumbers(directory_, "bases"), ::testing::SizeIs(1));
}

// A trainer that gave up waiting sends requests.
TEST_F(WorkerStageTest, WithoutTheArenaItsCodeRunsAllTheSame) {
  TestWorker worker("tcp://127.0.0.1:*");
  const TestArena arena(1 << 16);
  TestClient before(worker);
  EXPECT_TRUE(before.Attach(attach_, blobs_, &arena).status.ok());
  attach_.session = SessionId(78);
  attach_.use_arena = true;
  TestClient client(worker);
  client.Send(attach_);
  const auto attached = client.Next<wire::Attached>();
  EXPECT_FALSE(attached.use_arena);
  for (const BlobHash hash : attached.needed_blobs) {  // the other session's may not be checked yet
    const auto copy = std::make_shared<const Bytes>(blobs_.at(hash));
    client.Send(wire::BlobPart{attach_.session, hash, copy->size(), 0}, {{*copy, copy}});
  }
  EXPECT_TRUE(Ask(client, Request(1)).status.ok());
}

TEST_F(WorkerStageTest, ARepeatedRequestDoesNotRunUserCodeTwice) {
  TestWorker worker;
  TestClient client(worker);
  ASSERT_TRUE(client.Attach(attach_, blobs_).status.ok());
  const wire::BatchRequest first = Request(-6);  // runs until told
  const wire::BatchRequest queued = Request(1);  // after it, in the same lane
  client.Send(first);
  client.Send(queued);
  std::set<std::uint32_t> repeats;
  for (const wire::BatchRequest& request : {first, queued, first}) {
    wire::BatchRequest again = request;
    again.attempt = static_cast<std::uint32_t>(next_++);
    repeats.insert(again.attempt);
    client.Send(again);
  }
  client.Send(first);  // the very message again
  client.Send(wire::Ping{1});
  client.Next<wire::Pong>();  // all of them are there
  directory_.Write("go", "");
  for (int i = 0; i < 5; ++i) {
    const wire::BatchDone done = client.Next<wire::BatchDone>();
    if (repeats.erase(done.attempt) > 0) {
      EXPECT_EQ(done.status.code(), Code::kCancelled);
    } else {
      EXPECT_TRUE(done.status.ok()) << done.status.ToString();
      EXPECT_EQ(done.attempt, i == 0 ? first.attempt : queued.attempt);
    }
  }
  EXPECT_TRUE(repeats.empty());
  // Nothing else came. A request that crosses the answer does not run the code again either; one
  // after that does, because then the answer was lost.
  for (const Code code : {Code::kCancelled, Code::kOk}) {
    wire::BatchRequest again = first;
    again.attempt = static_cast<std::uint32_t>(next_++);
    const wire::BatchDone done = Ask(client, again);
    EXPECT_EQ(done.attempt, again.attempt);
    EXPECT_EQ(done.status.code(), code);
  }
}

TEST_F(WorkerStageTest, WhatUserCodeReadsIsHeldToTheLimitOfSources) {
  directory_.Write("sample", std::string(100'000, 'x'));
  FakeClock clock;
  clock.Advance(std::chrono::seconds(1));  // the clock's first moment stands for none
  WorkerOptions options;
  options.source_bytes_per_second = 1000;
  TestWorker worker(options, clock);
  TestClient client(worker);
  ASSERT_TRUE(client.Attach(attach_, blobs_).status.ok());
  EXPECT_EQ(Ask(client, Request(-10)).cost.source_bytes, 100'000U);
  client.Send(Request(-10));
  EXPECT_TRUE(client.UntilPong<wire::BatchDone>().empty());
  for (const int passed : {99, 1}) {
    OnReactorThread(worker.reactor(), [&] { clock.Advance(std::chrono::seconds(passed)); });
  }
  const wire::BatchDone done = client.Next<wire::BatchDone>();
  EXPECT_TRUE(done.status.ok());
  EXPECT_EQ(done.cost.queue_ns, 100'000'000'000U);  // when the first one is paid, it begins
}

TEST_F(WorkerStageTest, ABundleThatIsForgedToAnothersHashRunsForItsOwnJobAlone) {
  const Bytes honest = CopyBytes(AsBytes(std::string("base forks")));
  ForgedHash forge{.text = "of a stranger " + std::string(400, 'x'), .first = 2, .second = 3};
  forge.To(HashBytes(honest));
  const Bytes forged = CopyBytes(AsBytes(forge.text));
  const BlobHash hash = HashBlob(honest);
  ASSERT_EQ(HashBlob(forged), hash);
  attach_.plan.python.bundle = hash;
  wire::Attach stranger = attach_;
  stranger.session = SessionId(78);
  stranger.job = JobId(6);
  for (const bool stranger_first : {true, false}) {
    TestWorker worker;
    TestClient mine(worker), theirs(worker);
    const auto attach_stranger = [&] {
      EXPECT_EQ(theirs.Attach(stranger, {{hash, forged}}).needed_blobs.size(), 1U);
      EXPECT_THAT(theirs.Next<wire::Attached>().status.message(), HasSubstr("of a stranger"));
    };
    if (stranger_first) attach_stranger();
    EXPECT_EQ(mine.Attach(attach_, {{hash, honest}}).needed_blobs.size(), 1U);
    EXPECT_TRUE(Ask(mine, Request(1)).status.ok());
    if (!stranger_first) attach_stranger();
  }
}

TEST_F(WorkerStageTest, MemoryOfUserCodeIsLimitedWhereTheWorkerSaysSo) {
  for (const bool limited : {false, true}) {
    WorkerOptions options;
    if (limited) options.stages.memory_bytes = std::uint64_t{256} << 20;
    TestWorker worker(options);
    TestClient client(worker);
    ASSERT_TRUE(client.Attach(attach_, blobs_).status.ok());
    const wire::BatchDone done = Ask(client, Request(-7));  // takes 512 MiB
    EXPECT_TRUE(done.status.ok()) << done.status.ToString();
    EXPECT_EQ(AsText(done.python_error), limited ? "MemoryError" : "");
    EXPECT_TRUE(Ask(client, Request(1)).status.ok());
  }
}

}  // namespace
}  // namespace headrace::dataworker
