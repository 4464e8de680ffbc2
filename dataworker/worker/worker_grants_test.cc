// A whole worker that several jobs share: what the coordinator grants them, and how they end.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dataworker/stage/fake_stage.h"
#include "dataworker/worker/test_coordinator.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class GrantsTest : public CoordinatedWorkerTest {
 protected:
  void SetUp() override {
    WorkerTest::SetUp();
    other_ = attach_;
    other_.session = SessionId(78);
    other_.job = JobId(6);
    for (std::int64_t i = 0; i < kFiles; ++i) {
      file_bytes_ +=
          std::filesystem::file_size(directory_.path() + "/" + std::to_string(i) + ".png");
    }
    WorkerOptions options;
    options.cache_bytes = std::uint64_t{8} << 20;
    Begin(options);
  }
  // The worker's heartbeat a second later, whose answer has been followed.
  wire::WorkerHeartbeat Beat() {
    Advance(seconds(1));
    wire::WorkerHeartbeat beat = coordinator_->Next();
    worker_->AwaitDirectives(coordinator_->sent());
    return beat;
  }
  void Grant(const std::vector<wire::JobGrant>& grants) {
    wire::WorkerDirective directive;
    for (const wire::JobGrant& grant : grants) directive.jobs.push_back(grant.job);
    directive.grants = grants;
    coordinator_->Say(directive);
    Beat();
  }
  wire::BatchRequest RequestOf(const wire::Attach& attach, std::vector<std::int64_t> keys) {
    wire::BatchRequest request = Request(std::move(keys));
    request.session = attach.session;
    return request;
  }
  static wire::JobUsage Of(const wire::WorkerHeartbeat& beat, JobId job) {
    for (const wire::JobUsage& usage : beat.usage) {
      if (usage.job == job) return usage;
    }
    ADD_FAILURE() << "no usage of job " << job.value;
    return {};
  }

  wire::Attach other_;
  std::uint64_t file_bytes_ = 0;
};

// Files of the kernel's memory are read again at no cost: their bytes are not worth a cache.
TEST_F(GrantsTest, EncodedBytesOfLocalFilesAreNotKept) {
  TestClient client(*worker_);
  attach_.cache_bytes = std::uint64_t{4} << 20;
  client.Attach(attach_, blobs_);
  Grant({{.job = attach_.job,
          .millicores = 1000,
          .cache_bytes = std::uint64_t{4} << 20,
          .cache_encoded = true}});
  wire::BatchDone done;
  for (int epoch = 0; epoch < 2; ++epoch) {
    client.Send(Request(AllKeys()));
    done = client.Next<wire::BatchDone>();
    ASSERT_TRUE(done.status.ok());
  }
  EXPECT_EQ(done.cost.decoded_hits, static_cast<unsigned>(kFiles));
}

TEST_F(GrantsTest, HeartbeatsSayWhatEachJobUsed) {
  TestClient client(*worker_), second(*worker_);
  attach_.cache_bytes = std::uint64_t{4} << 20;
  client.Attach(attach_, blobs_);
  second.Attach(other_, blobs_);
  for (int epoch = 0; epoch < 2; ++epoch) {
    client.Send(Request(AllKeys()));
    ASSERT_TRUE(client.Next<wire::BatchDone>().status.ok());
  }
  second.Send(RequestOf(other_, {0, 1}));
  ASSERT_TRUE(second.Next<wire::BatchDone>().status.ok());
  wire::WorkerHeartbeat beat = Beat();
  ASSERT_THAT(beat.usage, SizeIs(2));
  const wire::JobUsage first = Of(beat, attach_.job);
  EXPECT_EQ(first.samples, 24U);
  EXPECT_EQ(first.source_bytes, file_bytes_);  // the second time from the cache
  EXPECT_GT(first.cpu_ns, 0U);
  EXPECT_EQ(first.cache_entries, 12U);
  EXPECT_EQ(first.cache_bytes, beat.cache_bytes);
  EXPECT_EQ(first.cache_hits, 12U);
  EXPECT_EQ(first.cache_misses, 12U);
  EXPECT_EQ(first.queued_samples + first.limited_ns, 0U);
  EXPECT_EQ(Of(beat, other_.job).samples, 2U);
  EXPECT_EQ(Of(beat, other_.job).cache_entries + Of(beat, other_.job).cache_hits, 0U);
  // What has gone is named for as long as it has entries.
  client.Send(wire::Detach{attach_.session});
  second.Send(wire::Detach{other_.session});
  client.UntilPong<wire::BatchDone>();
  second.UntilPong<wire::BatchDone>();
  beat = Beat();
  ASSERT_THAT(beat.usage, SizeIs(1));
  EXPECT_EQ(Of(beat, attach_.job).samples, 24U);
}

// They are told apart from the rest, and seldom: they are longer than all the rest of a heartbeat.
TEST_F(GrantsTest, EachEighthHeartbeatHasASampleOfTheEntries) {
  TestClient client(*worker_);
  attach_.cache_bytes = std::uint64_t{4} << 20;
  client.Attach(attach_, blobs_);
  client.Send(Request(AllKeys()));
  ASSERT_TRUE(client.Next<wire::BatchDone>().status.ok());
  int told = 0, last = -8;
  for (int beat = 0; beat < 24; ++beat) {
    const wire::JobUsage usage = Of(Beat(), attach_.job);
    ASSERT_EQ(usage.cache_entries, 12U);
    ASSERT_EQ(usage.sampled_below > 0, !usage.sampled.empty());
    if (usage.sampled.empty()) continue;
    EXPECT_EQ(usage.sampled.size(), 12U) << "so few are told all";
    EXPECT_TRUE(told == 0 || beat - last == 8) << beat << " after " << last;
    ++told;
    last = beat;
  }
  EXPECT_EQ(told, 3);
}

TEST_F(GrantsTest, AGrantOfCacheStandsInPlaceOfTheQuotaOfAttach) {
  TestClient client(*worker_);
  attach_.cache_bytes = std::uint64_t{4} << 20;
  client.Attach(attach_, blobs_);
  Grant({{.job = attach_.job, .millicores = 1000, .cache_bytes = 0}});
  client.Send(Request(AllKeys()));
  ASSERT_TRUE(client.Next<wire::BatchDone>().status.ok());
  EXPECT_EQ(worker_->cache().entries, 0U);
  Grant({{.job = attach_.job, .millicores = 1000, .cache_bytes = 1 << 20}});
  client.Send(Request(AllKeys()));
  ASSERT_TRUE(client.Next<wire::BatchDone>().status.ok());
  EXPECT_EQ(worker_->cache().entries, 12U);
  Grant({{.job = attach_.job, .millicores = 1000, .cache_bytes = 0}});
  EXPECT_EQ(worker_->cache().entries, 0U);
  EXPECT_EQ(worker_->cache().bytes, 0U);
}

TEST_F(GrantsTest, AJobOverItsSourceLimitWaitsAndHoldsNoThread) {
  TestClient client(*worker_), second(*worker_);
  client.Attach(attach_, blobs_);
  second.Attach(other_, blobs_);
  Grant({{.job = attach_.job, .millicores = 1000, .source_bytes_per_second = 1000},
         {.job = other_.job, .millicores = 1000}});
  client.Send(Request(AllKeys()));
  EXPECT_THAT(client.UntilPong<wire::BatchDone>(), IsEmpty());
  for (int batch = 0; batch < 20; ++batch) {
    second.Send(RequestOf(other_, AllKeys()));
    ASSERT_TRUE(second.Next<wire::BatchDone>().status.ok());
  }
  // Nothing of a batch is answered before its last sample.
  EXPECT_THAT(client.UntilPong<wire::BatchDone>(), IsEmpty());
  const wire::JobUsage held = Of(Beat(), attach_.job);
  EXPECT_GT(held.queued_samples, 0U);
  EXPECT_GT(held.limited_ns, 0U);
  // A new grant holds at once.
  Grant({{.job = attach_.job, .millicores = 1000}, {.job = other_.job, .millicores = 1000}});
  EXPECT_TRUE(client.Next<wire::BatchDone>().status.ok());
  EXPECT_EQ(Of(Beat(), attach_.job).source_bytes, file_bytes_);
}

TEST_F(GrantsTest, CachedSamplesDoNotWaitForALimitThatOthersOfTheJobWaitFor) {
  TestClient client(*worker_);
  attach_.cache_bytes = std::uint64_t{4} << 20;
  client.Attach(attach_, blobs_);
  Grant({{.job = attach_.job, .millicores = 1000, .cache_bytes = 1 << 20}});
  client.Send(Request({0, 1, 2, 3}));
  ASSERT_TRUE(client.Next<wire::BatchDone>().status.ok());
  Grant({{.job = attach_.job,
          .millicores = 1000,
          .cache_bytes = 1 << 20,
          .source_bytes_per_second = 1}});
  client.Send(Request({4, 5, 6, 7, 8, 9, 10, 11}));  // the first of them may be read, then none
  EXPECT_THAT(client.UntilPong<wire::BatchDone>(), IsEmpty());
  for (int batch = 0; batch < 5; ++batch) {
    client.Send(Request({0, 1, 2, 3}));
    EXPECT_TRUE(client.Next<wire::BatchDone>().status.ok());
  }
  Grant({{.job = attach_.job, .millicores = 1000, .cache_bytes = 1 << 20}});
  EXPECT_TRUE(client.Next<wire::BatchDone>().status.ok());
}

TEST_F(GrantsTest, SamplesThatWaitForAPythonProcessAreQueuedToo) {
  WriteFakeStage(directory_);
  other_.plan = {};
  other_.split = {};
  other_.plan.has_python_stage = true;
  other_.plan.python.bundle = HashBlob(Bytes());
  other_.plan.python.executable = "/usr/bin/python3";
  other_.plan.python.sys_path = {directory_.path()};
  other_.plan.rng = RngMode::kTorch;
  other_.plan.lanes = 1;
  other_.host = wire::ReadHostIdentity();
  TestClient client(*worker_);
  ASSERT_TRUE(client.Attach(other_, {{other_.plan.python.bundle, Bytes()}}).status.ok());
  const auto ask = [&](std::int64_t key) {
    wire::BatchRequest request = RequestOf(other_, {key, 1});
    request.seeds.clear();
    request.lane = LaneId(0);
    request.lane_state = CopyBytes(AsBytes(std::string("s")));
    request.slot_bytes = 4096;
    client.Send(request);
  };
  ask(1);
  EXPECT_TRUE(client.Next<wire::BatchDone>().status.ok()) << "its code is loaded";
  for (int batch = 0; batch < 3; ++batch) ask(-6);  // the first one waits for the file "go"
  EXPECT_THAT(client.UntilPong<wire::BatchDone>(), IsEmpty());
  wire::WorkerHeartbeat beat = Beat();
  EXPECT_EQ(beat.queued_samples, Of(beat, other_.job).queued_samples);
  EXPECT_EQ(beat.queued_samples, 4U) << "two batches wait for the first one";
  directory_.Write("go", "");
  for (int batch = 0; batch < 3; ++batch) {
    EXPECT_TRUE(client.Next<wire::BatchDone>().status.ok());
  }
  EXPECT_EQ(Beat().queued_samples, 0U);
}

TEST_F(GrantsTest, TimeLetsAJobOverItsSourceLimitGoOn) {
  TestClient client(*worker_);
  client.Attach(attach_, blobs_);
  Grant({{.job = attach_.job, .millicores = 1000, .source_bytes_per_second = 1000}});
  const SteadyTime begin = clock_.Now();
  client.Send(Request(AllKeys()));
  std::vector<wire::BatchDone> done;
  // Bounded by real time: the worker's clock goes on while its threads wait for a core.
  const SteadyTime deadline = Clock::Real().Now() + seconds(60);
  while (done.empty() && Clock::Real().Now() < deadline) {
    Advance(std::chrono::milliseconds(500));
    done = client.UntilPong<wire::BatchDone>();
  }
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_TRUE(done[0].status.ok());
  // All but the reads that began without a debt were paid for.
  EXPECT_GE(clock_.Now() - begin, seconds(file_bytes_ / 1000 * 8 / 12));
}

TEST_F(GrantsTest, AJobWhoseLeaseEndedIsAnsweredUntilItDetaches) {
  TestClient client(*worker_);
  client.Attach(attach_, blobs_);
  Grant({{.job = attach_.job, .millicores = 1000}});
  for (int beat = 0; beat < 30; ++beat) {
    Grant({{.job = other_.job, .millicores = 2000}});
    client.Send(Request(AllKeys()));
    EXPECT_TRUE(client.Next<wire::BatchDone>().status.ok());
  }
}

TEST_F(GrantsTest, ALeavingWorkerAnswersWhatIsQueued) {
  const TestArena arena(kArenaBytes), other_arena(kArenaBytes);
  TestClient client(*worker_), second(*worker_);
  client.Attach(attach_, blobs_, &arena);
  second.Attach(other_, blobs_, &other_arena);
  // One of them waits for its source.
  Grant({{.job = attach_.job, .millicores = 1000},
         {.job = other_.job, .millicores = 1000, .source_bytes_per_second = 1000}});
  // Each in a slot of its own.
  std::uint64_t slot = 0;
  const auto ask = [&](TestClient& of, const wire::Attach& attach) {
    wire::BatchRequest request = RequestOf(attach, AllKeys());
    request.slot_bytes = 200'000;
    request.slot_offset = slot++ % 40 * request.slot_bytes;
    of.Send(request);
  };
  for (int batch = 0; batch < 5; ++batch) ask(second, other_);
  EXPECT_THAT(second.UntilPong<wire::BatchDone>(), IsEmpty());
  for (int batch = 0; batch < 30; ++batch) ask(client, attach_);
  worker_->Leave();
  for (int batch = 0; batch < 30; ++batch) {
    EXPECT_TRUE(client.Next<wire::BatchDone>().status.ok());
  }
  // No new session, but those that are here are served on.
  TestClient late(*worker_);
  wire::Attach third = other_;
  third.session = SessionId(79);
  EXPECT_EQ(late.Attach(third, blobs_).status.code(), Code::kUnavailable);
  ask(client, attach_);
  EXPECT_TRUE(client.Next<wire::BatchDone>().status.ok());
  // It ends when nobody is left, or its patience is over: here with five batches in debt.
  client.Send(wire::Detach{attach_.session});
  client.UntilPong<wire::BatchDone>();
  EXPECT_THAT(second.UntilPong<wire::BatchDone>(), IsEmpty());
  Advance(seconds(10));
  worker_->WaitForEnd();
}

TEST_F(GrantsTest, AStuckStageKeepsNobodyElseWaiting) {
  const TemporaryDirectory stage;
  WriteFakeStage(stage);
  wire::Attach python = other_;
  python.host = wire::ReadHostIdentity();
  python.plan = Plan();
  python.split = wire::Split();
  python.plan.has_python_stage = true;
  python.plan.python.bundle = AddBlob({});
  python.plan.python.executable = "/usr/bin/python3";
  python.plan.python.sys_path = {stage.path()};
  python.plan.rng = RngMode::kTorch;
  python.plan.lanes = 4;
  TestClient client(*worker_), slow(*worker_);
  client.Attach(attach_, blobs_);
  ASSERT_TRUE(slow.Attach(python, blobs_).status.ok());
  Grant({{.job = attach_.job, .millicores = 1000}, {.job = python.job, .millicores = 1000}});
  // All lanes run until they are told.
  std::vector<wire::BatchRequest> stuck;
  for (std::int32_t lane = 0; lane < 4; ++lane) {
    stuck.push_back(RequestOf(python, {-6}));
    stuck.back().seeds.clear();
    stuck.back().lane = LaneId(lane);
    stuck.back().lane_state = CopyBytes(AsBytes(std::string("s")));
    slow.Send(stuck.back());
  }
  EXPECT_THAT(slow.UntilPong<wire::BatchDone>(), IsEmpty());
  for (int batch = 0; batch < 20; ++batch) {
    client.Send(Request(AllKeys()));
    ASSERT_TRUE(client.Next<wire::BatchDone>().status.ok());
  }
  EXPECT_THAT(slow.UntilPong<wire::BatchDone>(), IsEmpty());
  stage.Write("go", "");
  for (int lane = 0; lane < 4; ++lane) {
    EXPECT_TRUE(slow.Next<wire::BatchDone>().status.ok());
  }
  EXPECT_EQ(Of(Beat(), python.job).samples, 4U);
}

}  // namespace
}  // namespace headrace::dataworker
