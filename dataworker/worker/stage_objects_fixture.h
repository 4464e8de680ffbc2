#pragma once

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

#include "dataworker/stage/frame_socket.h"
#include "dataworker/stage/object_ask.h"
#include "dataworker/stage/stage_request.h"
#include "dataworker/worker/test_coordinator.h"
#include "remote/http_fixture.h"

// For tests of what a stage asks its worker for: a lane's process asks by hand.
namespace headrace::dataworker {

struct HeardFrame {
  StageFrame frame;
  std::vector<UniqueFd> passed;
};

// A process's end of a connection to the worker.
class ProcessEnd {
 public:
  explicit ProcessEnd(UniqueFd fd) : fd_(std::move(fd)) {}
  [[nodiscard]] int fd() const { return fd_.get(); }
  void Say(StageMessage kind, const std::vector<ByteSpan>& parts) const {
    const Bytes frame = EncodeStageFrame(kind, parts);
    EXPECT_EQ(::send(fd_.get(), frame.data(), frame.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(frame.size()));
  }
  // The next frame that is no greeting. Of no kind: the worker has hung up.
  [[nodiscard]] HeardFrame Next() const {
    while (true) {
      HeardFrame heard;
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

struct HeardObject {
  Code code = Code::kUnknown;
  Detail detail = Detail::kUnknown;
  std::uint64_t size = 0;
  std::string why, version, content;
};

inline std::pair<UniqueFd, UniqueFd> StreamPair() {
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
    auto [ours, theirs] = StreamPair();
    lane_ = std::make_unique<ProcessEnd>(std::move(theirs));
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
    HeardFrame door = lane_->Next();
    ASSERT_EQ(door.frame.kind, StageMessage::kDoor);
    ASSERT_EQ(door.passed.size(), 1U);
    door_ = std::move(door.passed[0]);
  }
  [[nodiscard]] std::unique_ptr<ProcessEnd> Connect() const {
    auto [ours, theirs] = StreamPair();
    Pass(theirs.get());
    return std::make_unique<ProcessEnd>(std::move(ours));
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
  [[nodiscard]] Bytes QuestionFrame(ObjectAsk ask) const {
    if (ask.store.base.empty()) ask.store.base = Base();
    const std::array<std::uint64_t, 5> numbers{static_cast<std::uint64_t>(ask.what), ask.first,
                                               ask.bytes, ask.store.anonymous ? 1U : 0U, ask.size};
    const std::array<ByteSpan, 9> parts{std::as_bytes(std::span(numbers)),
                                        AsBytes(ask.store.base),
                                        AsBytes(ask.store.endpoint),
                                        AsBytes(ask.store.region),
                                        AsBytes(ask.store.addressing),
                                        AsBytes(ask.name),
                                        AsBytes(ask.version),
                                        AsBytes(ask.delimiter),
                                        AsBytes(ask.token)};
    return EncodeStageFrame(StageMessage::kObject, parts);
  }
  void Ask(const ProcessEnd& end, ObjectAsk ask) const {
    const Bytes frame = QuestionFrame(std::move(ask));
    EXPECT_EQ(::send(end.fd(), frame.data(), frame.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(frame.size()));
  }
  static HeardObject Answer(const ProcessEnd& end) {
    const HeardFrame heard = end.Next();
    EXPECT_EQ(heard.frame.kind, StageMessage::kAnswer);
    if (heard.frame.parts.size() != 4) return {};
    const std::vector<std::uint64_t> numbers = StageNumbers(heard.frame.parts[0]);
    HeardObject told{.code = static_cast<Code>(numbers[0]),
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
  [[nodiscard]] HeardObject Get(const ProcessEnd& end, ObjectAsk ask) const {
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
    Advance(std::chrono::seconds(1));
    (void)coordinator_->Next();
    worker_->AwaitDirectives(coordinator_->sent());
  }

  std::string content_ = [] {
    std::string made(200'000, ' ');
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<char>(MixBits(i));
    return made;
  }();
  std::atomic<int> version_ = 1, heads_ = 0, gets_ = 0;
  remote::FakeHttp server_{[this](const remote::FakeHttp::Query& query) {
    ++(query.method == "HEAD" ? heads_ : gets_);
    if (query.target.ends_with("none")) return remote::FakeHttp::Reply{.status = 404};
    if (query.target.find("list-type=2") != std::string::npos) {
      remote::FakeHttp::Reply reply;
      reply.body = query.target;
      return reply;
    }
    return remote::ReplyWith(query, content_, "\"" + std::to_string(version_) + "\"");
  }};
  std::unique_ptr<TestClient> client_;
  std::unique_ptr<ProcessEnd> lane_;
  UniqueFd door_;
};

}  // namespace headrace::dataworker
