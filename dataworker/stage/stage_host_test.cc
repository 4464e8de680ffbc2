// What a worker says to one process of a stage, and what it knows of it; the test is the process.
#include "dataworker/stage/stage_host.h"

#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process/stats.h"
#include "dataworker/stage/stage_request.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::ElementsAre;

class StageHostTest : public ::testing::Test {
 protected:
  StageHostTest() {
    auto pair = FrameSocket::MakePair();
    EXPECT_TRUE(pair.ok());
    process_ = std::make_unique<FrameSocket>(*FrameSocket::Adopt(std::move(pair->second)));
    host_ = std::make_unique<StageHost>(
        7, StageHosts::Lane{.lane = 2},
        StageHosts::Begun{.socket = std::move(pair->first), .pid = ::getpid()});
  }
  static std::unique_ptr<StageJob> Job(std::shared_ptr<ArenaMap> arena, std::uint64_t bytes) {
    auto job = std::make_unique<StageJob>();
    job->request.keys = {1};
    job->request.slot_bytes = bytes;
    job->own_memory = arena == nullptr;
    job->arena = std::move(arena);
    return job;
  }
  static std::shared_ptr<ArenaMap> Arena() {
    UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(file.get(), 4096), 0);
    return *ArenaMap::Map(std::move(file), 4096);
  }
  // Begins the batch, ends it, and says which frames the process got for it.
  std::vector<StageMessage> Said(std::unique_ptr<StageJob> job) {
    const Status begun = host_->Begin(std::move(job), clock_.Now());
    EXPECT_TRUE(begun.ok()) << begun.ToString();
    EXPECT_FALSE(host_->idle());
    std::vector<StageMessage> kinds;
    const Status received =
        process_->Receive([&](StageFrame&& frame) { kinds.push_back(frame.kind); });
    EXPECT_TRUE(received.ok()) << received.ToString();
    last_ = host_->TakeJob();
    EXPECT_TRUE(host_->idle());
    return kinds;
  }

  FakeClock clock_;
  std::unique_ptr<FrameSocket> process_;
  std::unique_ptr<StageHost> host_;
  std::unique_ptr<StageJob> last_;
};

TEST_F(StageHostTest, AnArenaIsGivenWhenItIsAnotherOne) {
  const auto arena = Arena();
  EXPECT_FALSE(host_->begun());
  EXPECT_THAT(Said(Job(arena, 64)), ElementsAre(StageMessage::kArena, StageMessage::kBatch));
  EXPECT_TRUE(host_->begun());
  EXPECT_THAT(Said(Job(arena, 64)), ElementsAre(StageMessage::kBatch));
  EXPECT_THAT(Said(Job(Arena(), 64)), ElementsAre(StageMessage::kArena, StageMessage::kBatch));
}

TEST_F(StageHostTest, MemoryOfItsOwnIsUsedAgainWhenNobodyReadsItAndItIsLargeEnough) {
  EXPECT_THAT(Said(Job(nullptr, 64)), ElementsAre(StageMessage::kArena, StageMessage::kBatch));
  const std::shared_ptr<const void> sent = std::move(last_->arena);  // while it is on its way
  EXPECT_THAT(Said(Job(nullptr, 64)), ElementsAre(StageMessage::kArena, StageMessage::kBatch));
  last_.reset();
  EXPECT_THAT(Said(Job(nullptr, 4096)), ElementsAre(StageMessage::kBatch));
  last_.reset();
  EXPECT_THAT(Said(Job(nullptr, 4097)), ElementsAre(StageMessage::kArena, StageMessage::kBatch));
}

// It goes on without a word of the worker's, and a request is no file that is made and read.
TEST_F(StageHostTest, ABusyProcessHasItsNextBatchInItsSocket) {
  const auto arena = Arena();
  EXPECT_FALSE(host_->takes_next());
  for (const std::int64_t key : {1, 2}) {
    auto job = Job(arena, 64);
    job->request.keys = {key};
    ASSERT_TRUE(host_->Begin(std::move(job), clock_.Now()).ok());
    EXPECT_EQ(host_->takes_next(), key == 1);
  }
  std::vector<Bytes> requests;
  ASSERT_TRUE(process_
                  ->Receive([&](StageFrame&& frame) {
                    if (frame.kind == StageMessage::kBatch) requests.push_back(frame.parts.at(1));
                  })
                  .ok());
  EXPECT_THAT(requests, ElementsAre(StageRequestBytes(host_->job()->request, 0),
                                    StageRequestBytes(host_->next()->request, 0)));
  clock_.Advance(std::chrono::seconds(3));
  EXPECT_EQ(host_->TakeJob(clock_.Now())->request.keys.at(0), 1);
  EXPECT_EQ(host_->job()->request.keys.at(0), 2);
  EXPECT_EQ(host_->job()->started, clock_.Now());
  EXPECT_TRUE(host_->takes_next());
  EXPECT_EQ(host_->TakeJob(clock_.Now())->request.keys.at(0), 2);
  EXPECT_TRUE(host_->idle());
}

TEST_F(StageHostTest, ALargeRequestIsAFile) {
  auto job = Job(Arena(), 64);
  job->request.keys.assign(5000, 1);
  ASSERT_TRUE(host_->Begin(std::move(job), clock_.Now()).ok());
  std::size_t parts = 0;
  ASSERT_TRUE(process_->Receive([&](StageFrame&& frame) { parts = frame.parts.size(); }).ok());
  EXPECT_EQ(parts, 1U);
  EXPECT_TRUE(process_->TakePassed().valid());
}

TEST_F(StageHostTest, AProcessThatIsGoneLeavesTheJobWithItsHost) {
  process_.reset();
  const Status status = host_->Begin(Job(Arena(), 64), clock_.Now());
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_FALSE(host_->begun());
  EXPECT_NE(host_->TakeJob(), nullptr);
  EXPECT_EQ(host_->job(), nullptr);
}

TEST_F(StageHostTest, OneThatHungUpIsNotIdle) {
  host_->HangUp();
  EXPECT_FALSE(host_->idle());
}

TEST_F(StageHostTest, WhatItUsesIsCountedFromTheBeginOfItsBatch) {
  clock_.Advance(std::chrono::seconds(5));
  constexpr std::uint64_t kBefore = 50'000'000;
  while (ProcessCpuNanos(::getpid()) < kBefore) {
  }
  ASSERT_TRUE(host_->Begin(Job(Arena(), 64), clock_.Now()).ok());
  clock_.Advance(std::chrono::seconds(2));
  const StageGate::Running running = host_->Running(clock_.Now());
  EXPECT_EQ(running.wall, std::chrono::seconds(2));
  EXPECT_LT(running.cpu, Duration(kBefore));  // of this process, since then alone
  // A process whose pid is not known yet has used nothing.
  host_->SetPid(0);
  EXPECT_EQ(host_->Running(clock_.Now()).cpu, Duration(0));
}

TEST_F(StageHostTest, WhatItReadsIsCountedFromItsLastBatchOnWithoutTheRequest) {
  (void)Said(Job(Arena(), 64));
  ASSERT_TRUE(host_->Begin(Job(Arena(), 64), clock_.Now()).ok());
  (void)host_->TakeReadBytes();
  (void)host_->TakeJob();
  {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    std::string bytes(100'000, '\0');
    ASSERT_TRUE(file.read(bytes.data(), 100'000));
  }
  ASSERT_TRUE(host_->Begin(Job(Arena(), 64), clock_.Now()).ok());
  const std::uint64_t read = host_->TakeReadBytes();
  EXPECT_GE(read, 90'000U);
  EXPECT_LE(read, 200'000U);
  // The system does not say any more.
  host_->SetPid(0);
  EXPECT_EQ(host_->TakeReadBytes(), 0U);
  // It does again: what was counted is not counted twice.
  host_->SetPid(::getpid());
  EXPECT_LE(host_->TakeReadBytes(), 50'000U);
}

}  // namespace
}  // namespace headrace::dataworker
