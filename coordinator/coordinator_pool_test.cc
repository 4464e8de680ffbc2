#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/version.h"
#include "coordinator/coordinator.h"
#include "coordinator/pool/core/fake_reactor.h"
#include "coordinator/scaling/pool_growth.h"
#include "coordinator/step_test_util.h"

// A real coordinator over an elastic pool that the test plays, on a clock that the test moves.
// Checks that the pool gets the requests that PoolGrowth and LeastUsed decide.
namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Has the coordinator's only socket: the test speaks for its peers.
class RouterReactor final : public FakeReactor {
 public:
  Result<std::unique_ptr<net::Socket>> BindRouter(const std::string&,
                                                  net::SocketEvents events) override {
    events_ = std::move(events);
    return std::unique_ptr<net::Socket>(std::make_unique<Router>(sent_));
  }
  void Receive(std::string peer, wire::Body body) {
    net::Incoming message;
    message.body = speakers_[peer](std::move(body));
    message.peer = std::move(peer);
    events_.on_message(std::move(message));
  }
  // The last T that was sent to the peer, or a default one if there was none.
  template <typename T>
  [[nodiscard]] T Last(const std::string& peer) const {
    T last;
    for (const auto& [to, body] : sent_) {
      if (const T* message = std::get_if<T>(&body); message && to == peer) last = *message;
    }
    return last;
  }

 private:
  using Sent = std::vector<std::pair<std::string, wire::Body>>;
  class Router final : public net::Socket {
   public:
    explicit Router(Sent& sent) : sent_(sent) {}
    Status Send(std::string_view peer, const wire::Body& body,
                std::vector<net::PayloadFrame>) override {
      sent_.emplace_back(peer, body);
      return Status::Ok();
    }
    [[nodiscard]] const std::string& endpoint() const override { return endpoint_; }

   private:
    Sent& sent_;
    const std::string endpoint_ = "inproc://control";
  };

  net::SocketEvents events_;
  std::map<std::string, Speaker> speakers_;
  Sent sent_;
};

// The coordinator's requests to its pool, and the pool's answers.
struct PoolLog {
  Status answer;                  // to Grow
  Status later;                   // on_failed says so when the test lets a second pass
  std::vector<SteadyTime> asked;  // to grow, when
  std::vector<WorkerId> drained;
  std::vector<std::string> killed;
};

// Its members are those that Grow was granted, in the order in which their workers register.
class ScriptedPool final : public Pool {
 public:
  ScriptedPool(net::Reactor& reactor, PoolEvents events, PoolLog& log)
      : reactor_(reactor), events_(std::move(events)), log_(log) {}

  [[nodiscard]] std::string_view name() const override { return "scripted"; }
  Status Grow(std::int32_t count) override {
    if (count == 0) return Status::Ok();
    log_.asked.push_back(reactor_.clock().Now());
    if (log_.answer.ok()) members_.resize(members_.size() + static_cast<std::size_t>(count));
    if (log_.answer.ok() && !log_.later.ok()) {
      reactor_.AddOnce(seconds(1), [this, count, why = log_.later] {
        members_.resize(members_.size() - static_cast<std::size_t>(count));
        events_.on_failed(count, why);
      });
    }
    return log_.answer;
  }
  Status Drain(WorkerId worker) override {
    for (PoolMember& member : members_) {
      if (member.worker == worker) member.state = PoolMember::State::kDraining;
    }
    log_.drained.push_back(worker);
    return Status::Ok();
  }
  Status Kill(const std::string& handle, Duration) override {
    log_.killed.push_back(handle);
    return Status::Ok();
  }
  [[nodiscard]] std::vector<PoolMember> List() const override { return members_; }
  void Registered(const wire::WorkerInfo& info) override {
    for (PoolMember& member : members_) {
      if (member.state != PoolMember::State::kStarting) continue;
      member.worker = info.worker;
      member.state = PoolMember::State::kRunning;
      return;
    }
  }
  void Left(WorkerId) override {}
  [[nodiscard]] std::optional<bool> Alive(WorkerId) const override { return std::nullopt; }
  void Stop() override {}

 private:
  net::Reactor& reactor_;
  const PoolEvents events_;
  PoolLog& log_;
  std::vector<PoolMember> members_;
};

class CoordinatorPoolTest : public testing::Test {
 protected:
  void SetUp() override {
    CoordinatorOptions options;
    options.worker_beats = options.job_beats = 1'000'000;  // no peer is lost by its silence here
    options.most_workers = 8;
    options.make_pool = [this](net::Reactor& reactor, const PoolOptions&, PoolEvents events) {
      return Result<std::unique_ptr<Pool>>(
          std::make_unique<ScriptedPool>(reactor, std::move(events), pool_));
    };
    auto made = Coordinator::Make(reactor_, options);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    coordinator_ = std::move(made).value();
  }

  // A job without measurements: it wants one core, which is one member of the pool.
  wire::JobOpened OpenJob(const std::string& peer) {
    wire::OpenJob open;
    open.token = "token-of-" + peer;
    open.host = {"trainer", "boot", 1000, 5};
    open.version = kVersion;
    reactor_.Receive(peer, open);
    const auto opened = reactor_.Last<wire::JobOpened>(peer);
    EXPECT_TRUE(opened.status.ok()) << opened.status.ToString();
    return opened;
  }
  WorkerId Register(const std::string& peer) {
    wire::RegisterWorker m;
    m.token = "token-of-" + peer;
    m.info.endpoints = {"tcp://" + peer + ":7071"};
    m.info.host = {peer, "boot", 1000, 6};
    m.info.cores = 1;
    m.info.version = kVersion;
    reactor_.Receive(peer, m);
    const auto registered = reactor_.Last<wire::WorkerRegistered>(peer);
    EXPECT_TRUE(registered.status.ok()) << registered.status.ToString();
    return registered.worker;
  }
  // Returns what `what` writes to stderr.
  template <typename F>
  static std::string LogOf(F what) {
    testing::internal::CaptureStderr();
    what();
    return testing::internal::GetCapturedStderr();
  }

  RouterReactor reactor_;
  PoolLog pool_;
  std::unique_ptr<Coordinator> coordinator_;
};

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(CoordinatorPoolTest, APoolThatCannotGrowIsAskedLessAndLessAndComplainedAboutOnce) {
  pool_.answer = Unavailable("no node is free");
  const std::string said = LogOf([&] {
    OpenJob("train");
    reactor_.Advance(seconds(600));
  });
  EXPECT_EQ(Count(said, "no node is free"), 1U) << said;
  ASSERT_GT(pool_.asked.size(), 10U);
  Duration pause = PoolGrowth::kFirstPause;
  for (std::size_t i = 1; i < pool_.asked.size(); ++i) {
    const Duration waited = pool_.asked[i] - pool_.asked[i - 1];
    EXPECT_GE(waited, pause) << "attempt " << i;
    EXPECT_LE(waited, pause + seconds(1)) << "attempt " << i << ": a control period at most";
    pause = std::min(pause * 2, PoolGrowth::kLongestPause);
  }
}

// Acts like a batch system: it accepts the request, and says later that it has no room.
TEST_F(CoordinatorPoolTest, MembersThatWillNotComeAreAskedForLessAndLessToo) {
  pool_.later = ResourceExhausted("no node is free");
  const std::string said = LogOf([&] {
    OpenJob("train");
    reactor_.Advance(seconds(600));
  });
  EXPECT_EQ(Count(said, "no node is free"), 1U) << said;
  EXPECT_GT(pool_.asked.size(), 10U);
  EXPECT_LT(pool_.asked.size(), 20U);
  pool_.later = Status::Ok();
  reactor_.Advance(seconds(61));
  Register("node");  // which forgets cause and pauses, if it stays
  reactor_.Advance(PoolGrowth::kHealthyAfter);
  const std::size_t asked = pool_.asked.size();
  pool_.later = ResourceExhausted("no node is free");
  const std::string again = LogOf([&] {
    OpenJob("another");
    reactor_.Advance(std::chrono::milliseconds(1500));
  });
  EXPECT_THAT(pool_.asked, SizeIs(asked + 1)) << "at once";
  EXPECT_EQ(Count(again, "no node is free"), 1U) << again;
}

TEST_F(CoordinatorPoolTest, AnotherCauseIsSaidAndASuccessForgetsCauseAndPauses) {
  const auto minutes_go_by = [&] { reactor_.Advance(seconds(120)); };
  pool_.answer = Unavailable("no node is free");
  OpenJob("train");
  pool_.answer = ResourceExhausted("the quota is used up");
  EXPECT_EQ(Count(LogOf(minutes_go_by), "the quota is used up"), 1U);
  pool_.answer = Status::Ok();
  EXPECT_THAT(LogOf(minutes_go_by), IsEmpty());
  Register("node");
  const std::size_t asked = pool_.asked.size();
  minutes_go_by();
  EXPECT_THAT(pool_.asked, SizeIs(asked)) << "it has what the job wants";

  pool_.answer = ResourceExhausted("the quota is used up");
  EXPECT_EQ(Count(LogOf([&] { OpenJob("another"); }), "the quota is used up"), 1U);
  EXPECT_THAT(pool_.asked, SizeIs(asked + 1)) << "at once";
}

TEST_F(CoordinatorPoolTest, WhoAsksForTheStatusIsToldOfThePool) {
  OpenJob("train");
  Register("node");
  pool_.answer = Unavailable("no answer").WithDetail(Detail::kUnreachable);
  OpenJob("another");
  reactor_.Receive("admin", wire::StatusQuery{.request = 1});
  const auto told = reactor_.Last<wire::ClusterStatus>("admin").pools;
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].kind, "scripted");
  EXPECT_EQ(told[0].running, 1U);
  EXPECT_EQ(told[0].cores, 1);
  EXPECT_EQ(told[0].trouble, pool_.answer);
  EXPECT_TRUE(told[0].trouble_stands);
  EXPECT_EQ(coordinator_->Describe().pools, told) << "the page has the same";
}

// Three members and three jobs that keep four fifths of a core busy each; one of the jobs ends.
// That job decides which member is then used least: the oldest, the youngest or the other.
class CoordinatorDrainTest : public CoordinatorPoolTest, public testing::WithParamInterface<int> {
 protected:
  struct Trainer {
    std::string peer;
    wire::JobOpened job;
    wire::SessionLoad load;
  };

  void OpenTrainer(const std::string& peer) {
    Trainer trainer{peer, OpenJob(peer), {}};
    trainer.load.session = SessionId(1);
    reactor_.Receive(peer, wire::OpenSession{1, trainer.job.job, SessionId(1), SmallPlan()});
    ASSERT_TRUE(reactor_.Last<wire::SessionOpened>(peer).status.ok());
    trainers_.push_back(std::move(trainer));
  }
  // Each trainer takes 80 samples a second, of 10 ms of a core, and never waits.
  void Seconds(int count) {
    for (; count > 0; --count) {
      for (Trainer& trainer : trainers_) {
        trainer.load.samples += 80;
        trainer.load.miss_samples += 80;
        trainer.load.miss_cpu_ns += 800'000'000;
        trainer.load.step_ns += 1'000'000'000;
        reactor_.Receive(
            trainer.peer,
            wire::ConsumerHeartbeat{1, trainer.job.job, trainer.job.consumer, {trainer.load}, {}});
      }
      reactor_.Advance(seconds(1));
    }
  }

  std::vector<Trainer> trainers_;
};

TEST_P(CoordinatorDrainTest, TheLeastUsedMemberGoes) {
  for (const std::string peer : {"train0", "train1", "train2"}) OpenTrainer(peer);
  std::map<WorkerId, std::string> members;
  for (const std::string peer : {"node0", "node1", "node2"}) members[Register(peer)] = peer;
  Seconds(30);
  const auto ends = trainers_.begin() + GetParam();
  reactor_.Receive(ends->peer, wire::CloseJob{ends->job.job});
  trainers_.erase(ends);
  Seconds(55);
  EXPECT_THAT(pool_.drained, IsEmpty()) << "it may be wanted again";
  std::map<std::uint32_t, WorkerId> by_use;  // millicores of the last grants
  for (const auto& [id, peer] : members) {
    std::uint32_t use = 0;
    for (const auto& grant : reactor_.Last<wire::WorkerDirective>(peer).grants) {
      use += grant.millicores;
    }
    by_use[use] = id;
  }
  ASSERT_THAT(by_use, SizeIs(3)) << "no two are used alike";
  Seconds(10);
  const WorkerId spared = by_use.begin()->second;
  EXPECT_THAT(pool_.drained, ElementsAre(spared));
  for (const auto& [id, peer] : members) {
    EXPECT_EQ(reactor_.Last<wire::WorkerDirective>(peer).drain, id == spared) << peer;
  }
}

INSTANTIATE_TEST_SUITE_P(Ends, CoordinatorDrainTest, testing::Range(0, 3));

}  // namespace
}  // namespace headrace::coordinator
