// What the code of a Python stage asks its worker for, by headrace.fs.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/version.h"
#include "dataworker/stage/object_door.h"
#include "dataworker/worker/stage_objects_fixture.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using remote::FakeHttp;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using What = ObjectAsk::What;

TEST_F(WorkerObjectsTest, SizesRangesAndWholeObjectsAreThoseOfTheStore) {
  attach_.cache_bytes = 0;
  ASSERT_NO_FATAL_FAILURE(Serve());
  const auto end = Connect();
  const HeardObject look = Get(*end, {.what = What::kLook, .name = Base() + "a"});
  EXPECT_EQ(look.code, Code::kOk) << look.why;
  EXPECT_EQ(look.size, content_.size());
  EXPECT_EQ(look.version, "\"1\"");
  for (const std::uint64_t bytes :
       {std::uint64_t{10}, std::uint64_t{150'000}}) {  // in the frame, in memory
    const HeardObject part =
        Get(*end, {.what = What::kRange, .first = 999, .bytes = bytes, .name = Base() + "a"});
    EXPECT_EQ(part.content, content_.substr(999, bytes));
    EXPECT_EQ(part.size, content_.size());
  }
  EXPECT_EQ(Get(*end, {.what = What::kWhole, .bytes = 1 << 20, .name = Base() + "a"}).content,
            content_);
  EXPECT_EQ(Get(*end, {.what = What::kWhole, .bytes = 1000, .name = Base() + "a"}).code,
            Code::kUnsupported);
  const HeardObject none = Get(*end, {.what = What::kLook, .name = Base() + "none"});
  EXPECT_EQ(none.code, Code::kNotFound);
  EXPECT_EQ(none.detail, Detail::kNoFile);
}

TEST_F(WorkerObjectsTest, WhatAWorkerMayNotReadItReadsForNoStage) {
  ASSERT_NO_FATAL_FAILURE(Serve({server_.url() + "/data/mine", "s3://bucket/mine"}));
  const auto end = Connect();
  EXPECT_EQ(Get(*end, {.what = What::kLook, .name = Base() + "mine/a"}).code, Code::kOk);
  const int asked = heads_ + gets_;
  const remote::StoreSpec bucket{.base = "s3://bucket/", .endpoint = server_.url()};
  for (const ObjectAsk& ask :
       std::vector<ObjectAsk>{{.what = What::kLook, .name = Base() + "a"},
                              {.what = What::kRange, .bytes = 5, .name = Base() + "mines"},
                              {.what = What::kWhole, .bytes = 5, .name = Base() + "a"},
                              {.what = What::kLook, .store = bucket, .name = "s3://bucket/other"},
                              {.what = What::kList, .store = bucket, .name = "s3://bucket/"},
                              {.what = What::kList, .store = bucket, .name = "s3://bucket/mine"}}) {
    const HeardObject told = Get(*end, ask);
    EXPECT_EQ(told.code, Code::kUnavailable) << ask.name;
    EXPECT_EQ(told.detail, Detail::kNotAllowed) << ask.name;
    EXPECT_THAT(told.why, HasSubstr("may read"));
  }
  EXPECT_EQ(Get(*end, {.what = What::kLook, .name = Base() + "mine/../a"}).code,
            Code::kInvalidArgument);
  EXPECT_EQ(heads_ + gets_, asked);
}

TEST_F(WorkerObjectsTest, AnEndpointThatTheOperatorDoesNotNameIsNotReached) {
  FakeHttp other([](const FakeHttp::Query&) { return FakeHttp::Reply{}; });
  ASSERT_NO_FATAL_FAILURE(Serve());
  const auto end = Connect();
  const HeardObject told =
      Get(*end,
          {.what = What::kLook, .store = {.base = other.url() + "/"}, .name = other.url() + "/a"});
  EXPECT_EQ(told.detail, Detail::kNotAllowed) << told.why;
}

TEST_F(WorkerObjectsTest, ListsAskForNamesAlone) {
  ASSERT_NO_FATAL_FAILURE(Serve());
  const auto end = Connect();
  const HeardObject told =
      Get(*end, {.what = What::kList,
                 .store = {.base = "s3://bucket/", .endpoint = server_.url(), .anonymous = true},
                 .name = "s3://bucket/a&acl=1/",
                 .delimiter = "/",
                 .token = "t"});
  EXPECT_THAT(told.content,
              HasSubstr("?continuation-token=t&delimiter=%2F&encoding-type=url&list-type=2"
                        "&prefix=a%26acl%3D1%2F"));
}

TEST_F(WorkerObjectsTest, WhatWasReadIsInTheCacheByItsVersion) {
  ASSERT_NO_FATAL_FAILURE(Serve());
  const auto end = Connect();
  ObjectAsk large{.what = What::kRange,
                  .first = 7,
                  .bytes = 100'000,
                  .name = Base() + "a",
                  .version = "\"1\"",
                  .size = content_.size()};
  ObjectAsk small = large;
  small.bytes = 100;
  for (const ObjectAsk& ask : {large, small}) {
    EXPECT_EQ(Get(*end, ask).content, content_.substr(7, ask.bytes));
  }
  AwaitEntries(2);
  const int asked = gets_;
  for (const ObjectAsk& ask : {large, small}) {
    const HeardObject again = Get(*end, ask);
    EXPECT_EQ(again.content, content_.substr(7, ask.bytes));
    EXPECT_EQ(again.size, content_.size());
    EXPECT_EQ(again.version, "\"1\"");
  }
  EXPECT_EQ(gets_, asked);
  EXPECT_EQ(heads_, 0);
  // Of another version nothing is there, and what the store has now is told.
  version_ = 2;
  large.version = "\"0\"";
  EXPECT_EQ(Get(*end, large).version, "\"2\"");
  EXPECT_GT(gets_, asked);
}

TEST_F(WorkerObjectsTest, WithoutAVersionTheStoreIsAskedForItAndNothingStaleIsGiven) {
  ASSERT_NO_FATAL_FAILURE(Serve());
  const auto end = Connect();
  const ObjectAsk ask{.what = What::kWhole, .bytes = 1 << 20, .name = Base() + "a"};
  EXPECT_EQ(Get(*end, ask).content, content_);
  AwaitEntries(1);
  const int asked = gets_, looked = heads_;
  EXPECT_EQ(Get(*end, ask).content, content_);
  EXPECT_EQ(gets_, asked);
  EXPECT_EQ(heads_, looked + 1);
  content_[0] = static_cast<char>(~content_[0]);
  version_ = 2;
  const HeardObject changed = Get(*end, ask);
  EXPECT_EQ(changed.content, content_);
  EXPECT_EQ(changed.version, "\"2\"");
}

TEST_F(WorkerObjectsTest, TheJobsLimitHoldsForThem) {
  attach_.cache_bytes = 0;
  ASSERT_NO_FATAL_FAILURE(Serve());
  constexpr std::uint64_t kRate = 100'000;
  Grant(kRate);
  const auto end = Connect();
  // The clock stands: all that comes is what is saved.
  Ask(*end, {.what = What::kWhole, .bytes = 1 << 20, .name = Base() + "a"});
  while (worker_->open_rows() == 0) std::this_thread::yield();
  int tenths = 0;
  pollfd answered{.fd = end->fd(), .events = POLLIN, .revents = 0};
  while (true) {  // the greeting comes at once
    if (::poll(&answered, 1, 10) > 0) {
      std::array<std::byte, 16> head{};
      const ssize_t n = ::recv(end->fd(), head.data(), head.size(), MSG_PEEK);
      ASSERT_GT(n, 8);
      if (static_cast<StageMessage>(static_cast<unsigned char>(head[4])) == StageMessage::kAnswer) {
        break;
      }
      std::vector<std::byte> greeting(static_cast<std::size_t>(
          EncodeStageFrame(StageMessage::kHello, std::array{AsBytes(kVersion)}).size()));
      ASSERT_EQ(::recv(end->fd(), greeting.data(), greeting.size(), MSG_WAITALL),
                static_cast<ssize_t>(greeting.size()));
      continue;
    }
    Advance(milliseconds(100));
    ++tenths;
    ASSERT_LT(tenths, 600);
  }
  EXPECT_EQ(Answer(*end).content, content_);
  EXPECT_GE(tenths, static_cast<int>(10 * content_.size() / kRate) - 3);
}

TEST_F(WorkerObjectsTest, WhatALaneReadsByItselfIsTheJobs) {
  ASSERT_NO_FATAL_FAILURE(Serve());
  const auto end = Connect();
  EXPECT_EQ(Get(*end, {.what = What::kPaid, .bytes = 12'345}).code, Code::kOk);
  Grant(0);
  Advance(seconds(1));
  std::uint64_t read = 0;
  for (const wire::JobUsage& usage : coordinator_->Next().usage) {
    if (usage.job == attach_.job) read = usage.source_bytes;
  }
  EXPECT_GE(read, 12'345U);
}

TEST_F(WorkerObjectsTest, ProcessesThatSayWhatTheyShouldNotAreHungUpOnAndOthersServed) {
  ASSERT_NO_FATAL_FAILURE(Serve());
  const auto good = Connect();
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  Pass(pipe[0]);  // not a socket
  const UniqueFd reading(pipe[0]), writing(pipe[1]);
  const auto hung_up = [](const ProcessEnd& end) {
    return end.Next().frame.kind == StageMessage{};
  };
  auto end = Connect();
  end->Say(StageMessage::kTaken, {});
  EXPECT_TRUE(hung_up(*end));
  end = Connect();
  Ask(*end, {.what = static_cast<What>(static_cast<int>(What::kDecode) + 1), .name = Base() + "a"});
  EXPECT_TRUE(hung_up(*end));
  end = Connect();
  Ask(*end, {.what = What::kRange, .bytes = ObjectAsk::kMostBytes + 1, .name = Base() + "a"});
  EXPECT_TRUE(hung_up(*end));
  end = Connect();
  // A frame that would be longer than a question, of which only the beginning comes.
  const Bytes long_name(std::size_t{1} << 20);
  const Bytes frame = EncodeStageFrame(StageMessage::kObject, std::array{ByteSpan(long_name)});
  ASSERT_EQ(::send(end->fd(), frame.data(), 1000, MSG_NOSIGNAL), 1000);
  EXPECT_TRUE(hung_up(*end));
  end = Connect();
  Bytes two = QuestionFrame({.what = What::kLook, .name = Base() + "a"});
  const Bytes once = two;
  two.insert(two.end(), once.begin(), once.end());
  ASSERT_EQ(::send(end->fd(), two.data(), two.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(two.size()));
  EXPECT_TRUE(hung_up(*end)) << "it asked again before it was answered";
  EXPECT_EQ(Get(*good, {.what = What::kLook, .name = Base() + "a"}).code, Code::kOk);
}

TEST_F(WorkerObjectsTest, ProcessesThatAskNothingMakeRoomForThoseThatDo) {
  ASSERT_NO_FATAL_FAILURE(Serve());
  std::vector<std::unique_ptr<ProcessEnd>> ends;
  for (std::size_t i = 0; i <= ObjectDoor::kMostConnections; ++i) {
    ends.push_back(Connect());
    EXPECT_EQ(Get(*ends.back(), {.what = What::kLook, .name = Base() + "a"}).code, Code::kOk);
  }
  EXPECT_EQ(ends[0]->Next().frame.kind, StageMessage{});
}

// Memory that is not taken keeps its place in the window of reads; when its process has gone, it is free.
TEST_F(WorkerObjectsTest, AnAnswerThatNobodyTakesIsGivenBackWithItsProcess) {
  attach_.cache_bytes = 0;
  ASSERT_NO_FATAL_FAILURE(Serve());
  auto end = Connect();
  Ask(*end, {.what = What::kWhole, .bytes = 1 << 20, .name = Base() + "a"});
  EXPECT_EQ(end->Next().passed.size(), 1U);
  // Another answer: by then the thread that wrote the first one has let go of it.
  EXPECT_EQ(Get(*Connect(), {.what = What::kRange, .bytes = 100'000, .name = Base() + "a"}).size,
            content_.size());
  while (worker_->open_rows() > 1) std::this_thread::yield();
  EXPECT_EQ(worker_->open_rows(), 1U);
  end.reset();
  while (worker_->open_rows() > 0) std::this_thread::yield();
}

}  // namespace
}  // namespace headrace::dataworker
