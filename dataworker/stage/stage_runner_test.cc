// The worker's half of Python stages, against a zygote without torch.
#include "dataworker/stage/stage_runner.h"

#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <condition_variable>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dataworker/stage/fake_stage.h"
#include "dataworker/worker/worker_fixture.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StageRunnerTest : public ::testing::Test {
 protected:
  explicit StageRunnerTest(Clock& clock = Clock::Real()) {
    reactor_ = *net::Reactor::Make("test-stage", clock);
    EXPECT_TRUE(reactor_->Start().ok());
    bases_ = std::make_unique<StageBases>(*reactor_);
    WriteFakeStage(directory_);
  }
  ~StageRunnerTest() override {
    OnReactorThread(*reactor_, [this] {
      runner_.reset();
      bases_.reset();
    });
    reactor_->Stop();
  }

  StageRunner::Options Options(RngMode rng, std::int32_t lanes) {
    StageRunner::Options options;
    options.zygote.executable = "/usr/bin/python3";
    options.zygote.stage.sys_path = {directory_.path()};
    options.rng = rng;
    options.lanes = lanes;
    options.threads = 2;
    options.cores = [this] { return cores_; };
    options.may_read = [this] { return may_read_; };
    return options;
  }
  StageRunner::Events Events() {
    StageRunner::Events events;
    events.on_ready = [this](const Status& status) {
      const std::lock_guard lock(mutex_);
      ready_ = status;
      changed_.notify_all();
    };
    events.on_done = [this](StageRunner::Made made) {
      const std::lock_guard lock(mutex_);
      done_.push_back(std::move(made));
      changed_.notify_all();
    };
    events.on_used = [this](const StageRunner::Used& used) {
      cpu_ += used.cpu;
      read_ += used.read_bytes;
    };
    events.on_lost = [](const std::string& how) { return NotFound(how); };
    return events;
  }
  Status Start(RngMode rng, std::int32_t lanes, const std::string& problem = "base forks") {
    const Status started = OnReactorThread(*reactor_, [&]() -> Status {
      HR_TRY(runner_, StageRunner::Start(*reactor_, *bases_, Options(rng, lanes),
                                         BlobFromBytes(CopyBytes(AsBytes(problem))), Events()));
      return {};
    });
    if (!started.ok()) return started;
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(60), [this] { return ready_.has_value(); }));
    return *ready_;
  }
  wire::BatchRequest Request(std::int64_t key, std::int32_t lane, const std::string& state) {
    wire::BatchRequest request;
    request.session = SessionId(3);
    request.iteration = IterationId(1);
    request.batch = BatchId(next_++);
    request.keys = {key};
    request.lane = LaneId(lane);
    request.lane_state = CopyBytes(AsBytes(state));
    request.slot_bytes = 4096;
    return request;
  }
  void Submit(const wire::BatchRequest& request, std::shared_ptr<ArenaMap> arena = nullptr) {
    OnReactorThread(*reactor_, [&] {
      EXPECT_TRUE(runner_->CheckRequest(request).ok());
      runner_->Submit(request, arena, reactor_->clock().Now());
    });
  }
  StageRunner::Made Next() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(60), [this] { return !done_.empty(); }));
    if (done_.empty()) return {};
    StageRunner::Made made = std::move(done_.front());
    done_.pop_front();
    return made;
  }
  StageRunner::Made Ask(const wire::BatchRequest& request) {
    Submit(request);
    return Next();
  }
  static std::string Text(const Bytes& bytes) { return std::string(AsText(bytes)); }
  // The process that made a batch.
  static std::string Pid(const StageRunner::Made& made) {
    const std::string text = Text(made.answer.pickle);
    return text.substr(0, text.find(' '));
  }

  TemporaryDirectory directory_;
  std::unique_ptr<net::Reactor> reactor_;
  std::unique_ptr<StageBases> bases_;
  std::unique_ptr<StageRunner> runner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Status> ready_;
  std::deque<StageRunner::Made> done_;
  std::int64_t next_ = 0;
  // Used on the reactor's thread:
  double cores_ = std::numeric_limits<double>::infinity();
  bool may_read_ = true;
  Duration cpu_{};
  std::uint64_t read_ = 0;
};

TEST_F(StageRunnerTest, ALaneStaysInItsHostUntilItBeginsAnew) {
  ASSERT_TRUE(Start(RngMode::kTorch, 2).ok());
  const auto first = Ask(Request(1, 0, ""));
  ASSERT_TRUE(first.answer.status.ok()) << first.answer.status.ToString();
  EXPECT_EQ(Text(first.answer.lane_state), "+");
  EXPECT_EQ(first.answer.output, "printed");
  EXPECT_EQ(first.answer.error_output, "warned");
  EXPECT_EQ(first.answer.cost.native_images, 9U);
  EXPECT_EQ(first.answer.cost.miss_cpu_ns, 1234567U);
  EXPECT_EQ(first.answer.cost.hit_cpu_ns, 0U);
  EXPECT_GT(first.answer.cost.python_ns, 0U);
  EXPECT_EQ(first.answer.cost.python_ns, first.answer.cost.compute_ns);
  EXPECT_GE(first.answer.cost.wall_ns, first.answer.cost.python_ns + first.answer.cost.queue_ns);
  const auto second = Ask(Request(2, 0, "+"));
  EXPECT_EQ(Pid(second), Pid(first));
  EXPECT_THAT(Text(second.answer.pickle), HasSubstr(" 0 +"));
  const auto other = Ask(Request(3, 1, ""));
  EXPECT_NE(Pid(other), Pid(first));
  const auto anew = Ask(Request(4, 0, ""));
  EXPECT_NE(Pid(anew), Pid(first));
}

TEST_F(StageRunnerTest, AnotherSetOfLanesHasOtherHosts) {
  ASSERT_TRUE(Start(RngMode::kTorch, 2).ok());
  const auto first = Ask(Request(1, 0, ""));
  // Another worker made the first batch of the lane's new set.
  wire::BatchRequest second = Request(2, 0, "+");
  second.lane_set = 1;
  const auto anew = Ask(second);
  EXPECT_NE(Pid(anew), Pid(first));
  wire::BatchRequest third = Request(3, 0, "++");
  third.lane_set = 1;
  EXPECT_EQ(Pid(Ask(third)), Pid(anew));
}

TEST_F(StageRunnerTest, WhatUserCodeReadsFromFilesIsTheBatchs) {
  directory_.Write("sample", std::string(100'000, 'x'));
  ASSERT_TRUE(Start(RngMode::kTorch, 1).ok());
  EXPECT_EQ(Ask(Request(1, 0, "")).answer.cost.source_bytes, 0U);
  for (int batch = 0; batch < 2; ++batch) {
    EXPECT_EQ(Ask(Request(-10, 0, "s")).answer.cost.source_bytes, 100'000U);
  }
  // What the request says of its lane is not read from a source.
  EXPECT_EQ(Ask(Request(1, 0, std::string(1 << 20, 's'))).answer.cost.source_bytes, 0U);
  EXPECT_EQ(OnReactorThread(*reactor_, [this] { return read_; }), 200'000U);
}

// A worker that starts while a lane ends has never had its process.
TEST_F(StageRunnerTest, ABatchOfALaneThatHasEndedIsRefused) {
  OnReactorThread(*reactor_, [this] {
    runner_ = *StageRunner::StartGiven(*reactor_, Options(RngMode::kTorch, 1), Events());
  });
  Submit(Request(1, 0, "s"));  // waits for its lane
  std::array<int, 2> fds{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
  UniqueFd(fds[1]).reset();
  OnReactorThread(*reactor_, [&] {
    EXPECT_TRUE(runner_->GiveLane({.lane = 0, .set = 0}, UniqueFd(fds[0]), 7).ok());
  });
  const wire::BatchDone answer = Next().answer;
  EXPECT_EQ(answer.status.code(), Code::kUnavailable);
  EXPECT_THAT(answer.status.message(), HasSubstr("has ended"));
}

TEST_F(StageRunnerTest, TheEndOfALaneIsAnAnswer) {
  ASSERT_TRUE(Start(RngMode::kTorch, 1).ok());
  const auto made = Ask(Request(1, 0, ""));
  EXPECT_EQ(made.answer.samples, 1);
  EXPECT_FALSE(made.answer.lane_ended);
  const auto end = Ask(Request(-8, 0, "+"));
  EXPECT_TRUE(end.answer.status.ok());
  EXPECT_TRUE(end.answer.lane_ended);
  EXPECT_EQ(end.answer.samples, 0);
  EXPECT_TRUE(end.answer.pickle.empty() && end.answer.python_error.empty());
  EXPECT_EQ(Text(end.answer.lane_state), "++");
}

TEST_F(StageRunnerTest, BatchesGoIntoTheArenaOrIntoMemoryOfTheirOwn) {
  ASSERT_TRUE(Start(RngMode::kTorch, 1).ok());
  const auto own = Ask(Request(1, 0, ""));
  ASSERT_EQ(own.memory.size(), 3U);
  EXPECT_EQ(own.memory[2], std::byte{3});

  const TestArena memory(1 << 16);
  auto arena = ArenaMap::Map(UniqueFd(::dup(memory.fd())), memory.memory().size());
  wire::BatchRequest request = Request(1, 0, "+");
  request.slot_offset = 8192;
  Submit(request, *arena);
  const auto shared = Next();
  EXPECT_EQ(shared.hold, nullptr);
  EXPECT_EQ(shared.answer.used_bytes, 3U);
  EXPECT_EQ(memory.memory()[8194], std::byte{3});
  EXPECT_EQ(memory.memory()[8195], std::byte{0});
}

TEST_F(StageRunnerTest, OutcomesBecomeAnswers) {
  ASSERT_TRUE(Start(RngMode::kTorch, 1).ok());
  const auto raised = Ask(Request(-2, 0, "s"));
  EXPECT_TRUE(raised.answer.status.ok());
  EXPECT_EQ(Text(raised.answer.python_error), "pickled error");
  const auto small = Ask(Request(-3, 0, "s"));
  EXPECT_EQ(small.answer.status.code(), Code::kResourceExhausted);
  EXPECT_EQ(small.answer.needed_bytes, 5000U);
  EXPECT_EQ(raised.answer.state_change, "");
  EXPECT_EQ(Ask(Request(-12, 0, "s")).answer.state_change, "x was 0 and is 1");
  // What runs user code is not trusted with offsets.
  EXPECT_EQ(Ask(Request(-4, 0, "s")).answer.status.code(), Code::kUnavailable);
}

TEST_F(StageRunnerTest, ACrashFailsItsBatchAloneAndTheLaneGoesOn) {
  ASSERT_TRUE(Start(RngMode::kTorch, 2).ok());
  Submit(Request(-1, 0, "s"));
  Submit(Request(5, 0, "s"));
  const auto crashed = Next();
  EXPECT_EQ(crashed.answer.status.code(), Code::kUnavailable);
  EXPECT_THAT(crashed.answer.status.message(), HasSubstr("DataLoader worker (pid "));
  EXPECT_TRUE(Next().answer.status.ok());
}

TEST_F(StageRunnerTest, SeededSamplesMayGoToAnyHost) {
  ASSERT_TRUE(Start(RngMode::kSample, 1).ok());
  for (int i = 0; i < 20; ++i) {
    wire::BatchRequest request = Request(i, 0, "");
    request.seeds = {9};
    Submit(request);
  }
  std::set<std::string> pids;
  for (int i = 0; i < 20; ++i) pids.insert(Pid(Next()));
  EXPECT_LE(pids.size(), 2U);
}

TEST_F(StageRunnerTest, CancelledBatchesAreAnswered) {
  ASSERT_TRUE(Start(RngMode::kTorch, 1).ok());
  for (int i = 0; i < 10; ++i) Submit(Request(i, 0, "s"));
  OnReactorThread(*reactor_, [this] { runner_->Cancel(IterationId(2)); });
  for (int i = 0; i < 10; ++i) {
    const Status status = Next().answer.status;
    EXPECT_TRUE(status.ok() || status.code() == Code::kCancelled) << status.ToString();
  }
  EXPECT_EQ(OnReactorThread(*reactor_, [this] { return runner_->outstanding(); }), 0U);
}

TEST_F(StageRunnerTest, LanesTakeTurnsOnTheCoresThatOthersLeaveThem) {
  cores_ = 0.01;
  ASSERT_TRUE(Start(RngMode::kTorch, 3).ok());
  Submit(Request(-6, 0, "s"));  // until told
  Submit(Request(1, 1, "s"));
  Submit(Request(2, 2, "s"));
  EXPECT_EQ(OnReactorThread(*reactor_, [this] { return runner_->queued_samples(); }), 2);
  directory_.Write("go", "");
  for (int lane = 0; lane < 3; ++lane) {
    const auto made = Next();
    EXPECT_TRUE(made.answer.status.ok());
    EXPECT_EQ(made.answer.batch, BatchId(lane));  // as they were asked
  }
  EXPECT_GT(OnReactorThread(*reactor_, [this] { return cpu_; }), Duration(0));
}

TEST_F(StageRunnerTest, LanesThatWaitLeaveOthersTheirTurn) {
  cores_ = 1;
  ASSERT_TRUE(Start(RngMode::kTorch, 2).ok());
  Submit(Request(-6, 0, "s"));  // until told, and not busy
  Submit(Request(1, 1, "s"));
  EXPECT_EQ(Next().answer.batch, BatchId(1));
  directory_.Write("go", "");
  EXPECT_EQ(Next().answer.batch, BatchId(0));
}

struct HasFakeClock {
  FakeClock clock_;
};
class StageDebtTest : protected HasFakeClock, public StageRunnerTest {
 protected:
  StageDebtTest() : StageRunnerTest(clock_) {}
};

TEST_F(StageDebtTest, ABatchThatTookMoreThanTheShareIsPaidForBeforeTheNextOneBegins) {
  ASSERT_TRUE(Start(RngMode::kTorch, 2).ok());
  const auto advance = [&](Duration by) {
    OnReactorThread(*reactor_, [&] { clock_.Advance(by); });
    return OnReactorThread(*reactor_, [&] { return runner_->queued_samples() > 0; });
  };
  cores_ = 0.25;
  wire::BatchRequest computes = Request(-11, 0, "s");
  computes.keys.push_back(200);  // ms
  ASSERT_TRUE(Ask(computes).answer.status.ok());
  Submit(Request(1, 1, "s"));  // another lane
  EXPECT_TRUE(advance(std::chrono::milliseconds(790)));
  EXPECT_FALSE(advance(std::chrono::seconds(100)));
  EXPECT_TRUE(Next().answer.status.ok());
  // Nobody else wants the cores: nothing is held against it.
  computes.batch = BatchId(next_++);
  ASSERT_TRUE(Ask(computes).answer.status.ok());
  cores_ = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(Ask(Request(1, 1, "s")).answer.status.ok());
}

TEST_F(StageRunnerTest, WhatIsHeldBackGoesOnByItself) {
  may_read_ = false;
  ASSERT_TRUE(Start(RngMode::kTorch, 2).ok());
  Submit(Request(1, 0, "s"));
  Submit(Request(2, 1, "s"));
  EXPECT_EQ(OnReactorThread(*reactor_, [this] { return runner_->queued_samples(); }), 2);
  OnReactorThread(*reactor_, [this] { runner_->Cancel(IterationId(1)); });  // means others
  OnReactorThread(*reactor_, [this] { may_read_ = true; });
  EXPECT_TRUE(Next().answer.status.ok());
  EXPECT_TRUE(Next().answer.status.ok());
}

TEST_F(StageRunnerTest, TellsWhichKeysWaitForALane) {
  may_read_ = false;
  ASSERT_TRUE(Start(RngMode::kTorch, 2).ok());
  wire::BatchRequest more = Request(1, 0, "s");
  more.keys = {1, 7, 8};
  Submit(more);
  Submit(Request(2, 1, "s"));
  wire::BatchRequest named = Request(3, 0, "s");
  named.index = CopyBytes(AsBytes("names that the sampler gave"));
  Submit(named);
  Submit(Request(4, 0, "s"));
  const auto waiting = [&](std::int64_t lane) {
    return OnReactorThread(*reactor_, [&] { return runner_->WaitingKeys(LaneId(lane)); });
  };
  EXPECT_THAT(waiting(0), ElementsAre(1, 7, 8, 4));
  EXPECT_THAT(waiting(1), ElementsAre(2));
  EXPECT_THAT(waiting(2), ElementsAre());
  OnReactorThread(*reactor_, [this] { runner_->Cancel(IterationId(2)); });
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Next().answer.status.code(), Code::kCancelled);
  EXPECT_THAT(waiting(0), ElementsAre());
}

TEST_F(StageRunnerTest, CodeThatCannotBeLoadedIsUnsupportedWithTheReason) {
  const Status status = Start(RngMode::kTorch, 1, "No module named 'them'");
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("No module named 'them'"));
  EXPECT_EQ(Ask(Request(1, 0, "")).answer.status.code(), Code::kUnsupported);
}

TEST_F(StageRunnerTest, ALostZygoteIsToldWithItsCauseAndFailsWhatWaits) {
  ASSERT_TRUE(Start(RngMode::kTorch, 1).ok());
  ASSERT_TRUE(Ask(Request(1, 0, "")).answer.status.ok());
  Submit(Request(-5, 0, "+"));
  Submit(Request(2, 0, "+"));
  for (int i = 0; i < 3; ++i) {
    const Status status = i < 2 ? Next().answer.status : Ask(Request(3, 0, "+")).answer.status;
    EXPECT_EQ(status.code(), Code::kNotFound);
    EXPECT_THAT(status.message(), HasSubstr("killed by signal: Killed"));
  }
  EXPECT_EQ(OnReactorThread(*reactor_, [this] { return runner_->host_pids().size(); }), 0U);
  EXPECT_EQ(OnReactorThread(*reactor_, [this] { return runner_->zygote_pid(); }), 0);
}

}  // namespace
}  // namespace headrace::dataworker
