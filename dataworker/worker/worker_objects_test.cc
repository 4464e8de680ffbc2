// What the code of a Python stage asks its worker for, by headrace.fs: a lane's process asks by hand.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/version.h"
#include "dataworker/stage/frame_socket.h"
#include "dataworker/stage/object_ask.h"
#include "dataworker/stage/object_door.h"
#include "dataworker/stage/stage_request.h"
#include "dataworker/worker/test_coordinator.h"
#include "gmock/gmock.h"
#include "remote/http_fixture.h"

namespace headrace::dataworker {
namespace {

using remote::FakeHttp;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using What = ObjectAsk::What;

struct Heard {
  StageFrame frame;
  std::vector<UniqueFd> passed;
};

// A process's end of a connection to the worker.
class End {
 public:
  explicit End(UniqueFd fd) : fd_(std::move(fd)) {}
  [[nodiscard]] int fd() const { return fd_.get(); }
  void Say(StageMessage kind, const std::vector<ByteSpan>& parts) const {
    const Bytes frame = EncodeStageFrame(kind, parts);
    EXPECT_EQ(::send(fd_.get(), frame.data(), frame.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(frame.size()));
  }
  // The next frame that is no greeting. Of no kind: the worker has hung up.
  [[nodiscard]] Heard Next() const {
    while (true) {
      Heard heard;
      const Bytes head = Exactly(12, heard.passed);
      if (head.empty()) return heard;
      std::array<std::uint32_t, 2> numbers{};
      std::memcpy(numbers.data(), head.data() + 4, sizeof(numbers));
      heard.frame.kind = static_cast<StageMessage>(numbers[0]);
      const std::vector<std::uint64_t> sizes =
          StageNumbers(Exactly(8 * std::size_t{numbers[1]}, heard.passed));
      for (const std::uint64_t size : sizes) {
        heard.frame.parts.push_back(Exactly(size, heard.passed));
      }
      if (heard.frame.kind != StageMessage::kHello) return heard;
    }
  }

 private:
  [[nodiscard]] Bytes Exactly(std::size_t bytes, std::vector<UniqueFd>& passed) const {
    Bytes data(bytes);
    for (std::size_t at = 0; at < bytes;) {
      iovec part{.iov_base = data.data() + at, .iov_len = bytes - at};
      alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
      msghdr header{};
      header.msg_iov = &part;
      header.msg_iovlen = 1;
      header.msg_control = control.data();
      header.msg_controllen = control.size();
      const ssize_t n = ::recvmsg(fd_.get(), &header, MSG_CMSG_CLOEXEC);
      if (n <= 0) return {};
      at += static_cast<std::size_t>(n);
      for (cmsghdr* one = CMSG_FIRSTHDR(&header); one != nullptr; one = CMSG_NXTHDR(&header, one)) {
        const std::size_t count = (one->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
          int fd = -1;
          std::memcpy(&fd, CMSG_DATA(one) + i * sizeof(int), sizeof(fd));
          passed.emplace_back(fd);
        }
      }
    }
    return data;
  }

  UniqueFd fd_;
};

struct Told {
  Code code = Code::kUnknown;
  Detail detail = Detail::kUnknown;
  std::uint64_t size = 0;
  std::string why, version, content;
};

std::pair<UniqueFd, UniqueFd> Pair() {
  std::array<int, 2> fds{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

class WorkerObjectsTest : public CoordinatedWorkerTest {
 protected:
  void SetUp() override {
    WorkerTest::SetUp();
    attach_.plan = {};
    attach_.split = {};
    attach_.plan.has_python_stage = true;
    attach_.plan.rng = RngMode::kTorch;
    attach_.plan.lanes = 1;
    attach_.lanes_given = true;
    attach_.cache_bytes = std::uint64_t{64} << 20;
  }
  // A worker, and a lane of a session whose first batch is being made.
  void Serve(std::vector<std::string> roots = {}) {
    WorkerOptions options;
    options.cache_bytes = std::uint64_t{64} << 20;
    options.allowed_roots = std::move(roots);
    options.allowed_endpoints = {server_.url()};
    Begin(options);
    client_ = std::make_unique<TestClient>(*worker_);
    const TestArena arena(kArenaBytes);
    ASSERT_TRUE(client_->Attach(attach_, {}, &arena).status.ok());
    auto [ours, theirs] = Pair();
    lane_ = std::make_unique<End>(std::move(theirs));
    client_->PassDescriptor({.kind = net::DescriptorMessage::Kind::kLane,
                             .session = attach_.session,
                             .lane = 0,
                             .lane_set = 1,
                             .pid = ::getpid()},
                            ours.get());
    wire::BatchRequest request;
    request.session = attach_.session;
    request.iteration = IterationId(1);
    request.batch = BatchId(1);
    request.attempt = 1;
    request.keys = {1};
    request.lane = LaneId(0);
    request.lane_set = 1;
    request.slot_bytes = 4096;
    client_->Send(request);
    Heard door = lane_->Next();
    ASSERT_EQ(door.frame.kind, StageMessage::kDoor);
    ASSERT_EQ(door.passed.size(), 1U);
    door_ = std::move(door.passed[0]);
  }
  [[nodiscard]] std::unique_ptr<End> Connect() const {
    auto [ours, theirs] = Pair();
    Pass(theirs.get());
    return std::make_unique<End>(std::move(ours));
  }
  void Pass(int fd) const {
    char byte = 0;
    iovec part{.iov_base = &byte, .iov_len = 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
    EXPECT_EQ(::sendmsg(door_.get(), &header, MSG_NOSIGNAL), 1);
  }
  [[nodiscard]] std::string Base() const { return server_.url() + "/data/"; }
  void Ask(const End& end, ObjectAsk ask) const {
    if (ask.store.base.empty()) ask.store.base = Base();
    const std::array<std::uint64_t, 5> numbers{static_cast<std::uint64_t>(ask.what), ask.first,
                                               ask.bytes, ask.store.anonymous ? 1U : 0U, ask.size};
    end.Say(StageMessage::kObject,
            {std::as_bytes(std::span(numbers)), AsBytes(ask.store.base),
             AsBytes(ask.store.endpoint), AsBytes(ask.store.region), AsBytes(ask.store.addressing),
             AsBytes(ask.name), AsBytes(ask.version), AsBytes(ask.delimiter), AsBytes(ask.token)});
  }
  static Told Answer(const End& end) {
    const Heard heard = end.Next();
    EXPECT_EQ(heard.frame.kind, StageMessage::kAnswer);
    if (heard.frame.parts.size() != 4) return {};
    const std::vector<std::uint64_t> numbers = StageNumbers(heard.frame.parts[0]);
    Told told{.code = static_cast<Code>(numbers[0]),
              .detail = static_cast<Detail>(numbers[1]),
              .size = numbers[2],
              .why = std::string(AsText(heard.frame.parts[1])),
              .version = std::string(AsText(heard.frame.parts[2])),
              .content = std::string(AsText(heard.frame.parts[3]))};
    if (numbers[3] > 0) {
      EXPECT_EQ(heard.passed.size(), 1U);
      told.content.resize(numbers[3]);
      EXPECT_EQ(::pread(heard.passed[0].get(), told.content.data(), numbers[3], 0),
                static_cast<ssize_t>(numbers[3]));
      end.Say(StageMessage::kTaken, {});
    }
    return told;
  }
  [[nodiscard]] Told Get(const End& end, ObjectAsk ask) const {
    Ask(end, std::move(ask));
    return Answer(end);
  }
  // Content is kept after the answer.
  void AwaitEntries(std::uint64_t count) const {
    while (worker_->cache().entries < count) std::this_thread::yield();
  }
  void Grant(std::uint64_t source_bytes_per_second) {
    wire::WorkerDirective directive;
    directive.jobs = {attach_.job};
    directive.grants = {{.job = attach_.job,
                         .millicores = 1000,
                         .cache_bytes = attach_.cache_bytes,
                         .source_bytes_per_second = source_bytes_per_second}};
    coordinator_->Say(directive);
    Advance(seconds(1));
    (void)coordinator_->Next();
    worker_->AwaitDirectives(coordinator_->sent());
  }

  std::string content_ = [] {
    std::string made(200'000, ' ');
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<char>(MixBits(i));
    return made;
  }();
  std::atomic<int> version_ = 1, heads_ = 0, gets_ = 0;
  FakeHttp server_{[this](const FakeHttp::Query& query) {
    ++(query.method == "HEAD" ? heads_ : gets_);
    if (query.target.ends_with("none")) return FakeHttp::Reply{.status = 404};
    if (query.target.find("list-type=2") != std::string::npos) {
      FakeHttp::Reply reply;
      reply.body = query.target;
      return reply;
    }
    return remote::ReplyWith(query, content_, "\"" + std::to_string(version_) + "\"");
  }};
  std::unique_ptr<TestClient> client_;
  std::unique_ptr<End> lane_;
  UniqueFd door_;
};

TEST_F(WorkerObjectsTest, SizesRangesAndWholeObjectsAreThoseOfTheStore) {
  attach_.cache_bytes = 0;
  ASSERT_NO_FATAL_FAILURE(Serve());
  const auto end = Connect();
  const Told look = Get(*end, {.what = What::kLook, .name = Base() + "a"});
  EXPECT_EQ(look.code, Code::kOk) << look.why;
  EXPECT_EQ(look.size, content_.size());
  EXPECT_EQ(look.version, "\"1\"");
  for (const std::uint64_t bytes :
       {std::uint64_t{10}, std::uint64_t{150'000}}) {  // in the frame, in memory
    const Told part =
        Get(*end, {.what = What::kRange, .first = 999, .bytes = bytes, .name = Base() + "a"});
    EXPECT_EQ(part.content, content_.substr(999, bytes));
    EXPECT_EQ(part.size, content_.size());
  }
  EXPECT_EQ(Get(*end, {.what = What::kWhole, .bytes = 1 << 20, .name = Base() + "a"}).content,
            content_);
  EXPECT_EQ(Get(*end, {.what = What::kWhole, .bytes = 1000, .name = Base() + "a"}).code,
            Code::kUnsupported);
  const Told none = Get(*end, {.what = What::kLook, .name = Base() + "none"});
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
    const Told told = Get(*end, ask);
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
  const Told told =
      Get(*end,
          {.what = What::kLook, .store = {.base = other.url() + "/"}, .name = other.url() + "/a"});
  EXPECT_EQ(told.detail, Detail::kNotAllowed) << told.why;
}

TEST_F(WorkerObjectsTest, ListsAskForNamesAlone) {
  ASSERT_NO_FATAL_FAILURE(Serve());
  const auto end = Connect();
  const Told told =
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
    const Told again = Get(*end, ask);
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
  const Told changed = Get(*end, ask);
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
  Heard heard;
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
  const auto hung_up = [](const End& end) { return end.Next().frame.kind == StageMessage{}; };
  auto end = Connect();
  end->Say(StageMessage::kTaken, {});
  EXPECT_TRUE(hung_up(*end));
  end = Connect();
  Ask(*end, {.what = static_cast<What>(9), .name = Base() + "a"});
  EXPECT_TRUE(hung_up(*end));
  end = Connect();
  Ask(*end, {.what = What::kRange, .bytes = ObjectAsk::kMostBytes + 1, .name = Base() + "a"});
  EXPECT_TRUE(hung_up(*end));
  end = Connect();
  const Bytes long_name(std::size_t{1} << 17);
  end->Say(StageMessage::kObject, {long_name});
  EXPECT_TRUE(hung_up(*end));
  EXPECT_EQ(Get(*good, {.what = What::kLook, .name = Base() + "a"}).code, Code::kOk);
}

TEST_F(WorkerObjectsTest, ProcessesThatAskNothingMakeRoomForThoseThatDo) {
  ASSERT_NO_FATAL_FAILURE(Serve());
  std::vector<std::unique_ptr<End>> ends;
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
  EXPECT_EQ(worker_->open_rows(), 1U);
  end.reset();
  while (worker_->open_rows() > 0) std::this_thread::yield();
}

}  // namespace
}  // namespace headrace::dataworker
