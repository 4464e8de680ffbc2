// The workers are played by sockets of this process that answer nothing.
#include "trainer_client/session/worker_set.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "net/test_util.h"
#include "trainer_client/session/no_worker_alarm.h"

namespace headrace::client {
namespace {

using net::testing::RunOn;
using std::chrono::seconds;

SteadyTime At(int s) { return SteadyTime(seconds(s)); }

wire::WorkerInfo Worker(int id, const std::string& host) {
  wire::WorkerInfo worker;
  worker.worker = WorkerId(id);
  worker.host = {.hostname = host, .boot_id = host};
  worker.endpoints = {"inproc://" + host};
  return worker;
}
// No address of it can be reached.
wire::WorkerInfo Unreachable(int id, const std::string& host) {
  wire::WorkerInfo worker = Worker(id, host);
  worker.endpoints.clear();
  return worker;
}

class WorkerSetTest : public testing::Test {
 protected:
  explicit WorkerSetTest(bool compares = false) : reactor_(*net::Reactor::Make("test")) {
    context_.session = SessionId(1);
    context_.host = {.hostname = "here", .boot_id = "here"};
    context_.arena = *Arena::Make(std::uint64_t{1} << 20);
    workers_ = std::make_unique<WorkerSet>(
        *reactor_, context_, compares,
        WorkerSet::Events{.on_state =
                              [this](WorkerId worker, WorkerLink::State state) {
                                if (state == WorkerLink::State::kGone) gone_.push_back(worker);
                              },
                          .on_message = [](auto...) {},
                          .on_loaded = [] {}});
    EXPECT_TRUE(reactor_->Start().ok());
  }
  ~WorkerSetTest() override {
    RunOn(*reactor_, [this] { workers_.reset(); });
    reactor_->Stop();
  }
  // Runs on the reactor, as all of the set does.
  template <typename Task>
  void Run(Task task) {
    RunOn(*reactor_, [&] { task(*workers_); });
  }
  static std::vector<WorkerId> Removed(WorkerSet& workers, bool owes) {
    std::vector<WorkerId> removed;
    workers.RemoveEnded(
        false, [&](WorkerId) { return owes; }, [&](WorkerId worker) { removed.push_back(worker); });
    return removed;
  }

  std::shared_ptr<net::Reactor> reactor_;
  LinkContext context_;
  std::unique_ptr<WorkerSet> workers_;
  std::vector<WorkerId> gone_;
};

class ComparingSetTest : public WorkerSetTest {
 protected:
  ComparingSetTest() : WorkerSetTest(true) {}
};

TEST_F(WorkerSetTest, AWorkerKeepsItsIdWhenTheCoordinatorKnowsItByAnother) {
  Run([](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a"), Worker(2, "b")}, At(0));
    EXPECT_EQ(workers.links().size(), 2U);
    workers.SetLeases({Worker(2, "a"), Worker(1, "b")}, At(1));
    EXPECT_EQ(workers.links().size(), 2U);
    EXPECT_EQ(workers.Outside(WorkerId(1)), WorkerId(2));
    EXPECT_EQ(workers.HostOf(WorkerId(1)), "a");
  });
}

TEST_F(WorkerSetTest, AWorkerThatIsStillLinkedKeepsItsIdWhenItIsLeasedAgain) {
  Run([](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a")}, At(0));
    workers.SetLeases({}, At(1));
    workers.SetLeases({Worker(9, "a")}, At(2));
    EXPECT_EQ(workers.links().size(), 1U);
    EXPECT_TRUE(workers.leased(WorkerId(1)));
    EXPECT_EQ(workers.Outside(WorkerId(1)), WorkerId(9));
  });
}

TEST_F(WorkerSetTest, AnotherProcessGetsAnotherId) {
  Run([](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a")}, At(0));
    workers.SetLeases({Worker(1, "b")}, At(1));
    ASSERT_EQ(workers.links().size(), 2U) << "the first one may owe answers";
    EXPECT_FALSE(workers.leased(WorkerId(1)));
    EXPECT_TRUE(workers.leased(WorkerId(2)));
    EXPECT_EQ(workers.Outside(WorkerId(2)), WorkerId(1));
    EXPECT_EQ(workers.HostOf(WorkerId(2)), "b");
  });
}

TEST_F(WorkerSetTest, AWorkerThatIsLeasedNoMoreStaysUntilItOwesNothing) {
  Run([](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a"), Worker(2, "b")}, At(0));
    workers.SetLeases({Worker(2, "b")}, At(1));
    EXPECT_TRUE(Removed(workers, true).empty());
    EXPECT_EQ(Removed(workers, false), std::vector<WorkerId>{WorkerId(1)});
    EXPECT_EQ(workers.Find(WorkerId(1)), nullptr);
    EXPECT_NE(workers.Find(WorkerId(2)), nullptr);
  });
}

TEST_F(WorkerSetTest, AWorkerThatIsNotReachedIsSuspectedAndTriedAgainLater) {
  Run([](WorkerSet& workers) {
    workers.SetLeases({Unreachable(5, "a")}, At(0));
    EXPECT_TRUE(workers.links().empty());
    std::vector<WorkerId> suspects;
    workers.AddSuspects(suspects);
    EXPECT_EQ(suspects, std::vector<WorkerId>{WorkerId(5)});
    EXPECT_EQ(workers.last_refusal().code(), Code::kUnavailable);
    EXPECT_TRUE(workers.AllRefuse().ok()) << "it has not said that the plan can't run there";
  });
}

TEST_F(WorkerSetTest, AWithdrawnProcessIsTakenByNoId) {
  Run([this](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a")}, At(0));
    workers.Withdraw(WorkerId(1), Unsupported("it was wrong"), true);
    EXPECT_EQ(gone_, std::vector<WorkerId>{WorkerId(1)});
    EXPECT_EQ(Removed(workers, false), std::vector<WorkerId>{WorkerId(1)});
    EXPECT_NE(workers.AllRefuse().message().find("it was wrong"), std::string::npos);
    workers.SetLeases({}, At(1));
    workers.SetLeases({Worker(7, "a"), Worker(8, "b")}, At(2));
    EXPECT_EQ(workers.Find(WorkerId(7)), nullptr);
    EXPECT_NE(workers.Find(WorkerId(8)), nullptr);
    EXPECT_TRUE(workers.AllRefuse().ok());
  });
}

TEST_F(WorkerSetTest, ARefusedProcessMayComeAgainWithAnotherLease) {
  Run([](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a")}, At(0));
    workers.Withdraw(WorkerId(1), Unsupported("not now"), false);
    (void)Removed(workers, false);
    workers.Tick(At(100));
    EXPECT_TRUE(workers.links().empty()) << "while it is leased it is not asked again";
    workers.SetLeases({}, At(101));
    workers.SetLeases({Worker(1, "a")}, At(102));
    EXPECT_NE(workers.Find(WorkerId(1)), nullptr);
  });
}

TEST_F(WorkerSetTest, WithoutComparisonsEachWorkerServes) {
  Run([](WorkerSet& workers) { EXPECT_TRUE(workers.Serves(WorkerId(1))); });
}

TEST_F(ComparingSetTest, WithoutAReferenceAWorkerElsewhereCannotServe) {
  Run([](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a")}, At(0));
    EXPECT_FALSE(workers.Serves(WorkerId(1)));
    EXPECT_FALSE(workers.had_reference());
    EXPECT_NE(workers.AllRefuse().message().find("has to be compared"), std::string::npos);
  });
}

TEST_F(ComparingSetTest, AReferenceMayComeForAWhile) {
  NoWorkerAlarm alarm({.timeout = seconds(60), .reference_patience = seconds(5)});
  alarm.Start(At(0));
  Run([&](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a")}, At(0));
    EXPECT_TRUE(alarm.Check(workers, 0, At(4)).ok());
    EXPECT_EQ(alarm.Check(workers, 0, At(5)).code(), Code::kUnsupported);
    EXPECT_TRUE(alarm.Check(workers, 1, At(6)).ok());
  });
}

TEST_F(WorkerSetTest, WithoutAWorkerForTooLongTheTrainerIsTold) {
  NoWorkerAlarm alarm({.timeout = seconds(10), .remedy = "start one"});
  alarm.Start(At(0));
  Run([&](WorkerSet& workers) {
    EXPECT_TRUE(alarm.Check(workers, 0, At(9)).ok());
    const Status none = alarm.Check(workers, 0, At(10));
    EXPECT_EQ(none.message(), "no data worker serves this job; start one");
    EXPECT_TRUE(alarm.Check(workers, 1, At(20)).ok());
    EXPECT_TRUE(alarm.Check(workers, 0, At(29)).ok()) << "there was one until 20";
    workers.SetLeases({Unreachable(5, "a")}, At(29));
    const std::string unreached = alarm.Check(workers, 0, At(30)).message();
    EXPECT_TRUE(unreached.starts_with("no data worker of this job can be reached (")) << unreached;
    EXPECT_TRUE(unreached.ends_with("; start one")) << unreached;
  });
}

}  // namespace
}  // namespace headrace::client
