// The workers are played by sockets of this process that answer nothing.
#include "trainer_client/session/worker_set.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/version.h"
#include "gtest/gtest.h"
#include "trainer_client/session/worker_set_fixture.h"

namespace headrace::client {
namespace {

using std::chrono::seconds;

class ComparingSetTest : public WorkerSetTest {
 protected:
  ComparingSetTest() : WorkerSetTest(true) {}
};

TEST_F(WorkerSetTest, AWorkerKeepsItsIdWhenTheCoordinatorKnowsItByAnother) {
  Run([](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a"), Worker(2, "b")}, AtSecond(0));
    EXPECT_EQ(workers.links().size(), 2U);
    workers.SetLeases({Worker(2, "a"), Worker(1, "b")}, AtSecond(1));
    EXPECT_EQ(workers.links().size(), 2U);
    EXPECT_EQ(workers.Outside(WorkerId(1)), WorkerId(2));
    EXPECT_EQ(workers.HostOf(WorkerId(1)), "a");
  });
}

// The job has another number there, too, and the worker wants the pass of that number.
TEST_F(WorkerSetTest, ALinkHasThePassOfTheLastLease) {
  Run([](WorkerSet& workers) {
    wire::WorkerInfo info = Worker(1, "a");
    info.pass = "of job 5";
    workers.SetLeases({info}, AtSecond(0));
    EXPECT_EQ(workers.Find(WorkerId(1))->worker().pass, "of job 5");
    info.worker = WorkerId(8);
    info.pass = "of job 6";
    workers.SetLeases({info}, AtSecond(1));
    EXPECT_EQ(workers.Find(WorkerId(1))->worker().pass, "of job 6");
  });
}

TEST_F(WorkerSetTest, AWorkerThatIsStillLinkedKeepsItsIdWhenItIsLeasedAgain) {
  Run([](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a")}, AtSecond(0));
    workers.SetLeases({}, AtSecond(1));
    workers.SetLeases({Worker(9, "a")}, AtSecond(2));
    EXPECT_EQ(workers.links().size(), 1U);
    EXPECT_TRUE(workers.leased(WorkerId(1)));
    EXPECT_EQ(workers.Outside(WorkerId(1)), WorkerId(9));
  });
}

TEST_F(WorkerSetTest, AnotherProcessGetsAnotherId) {
  Run([](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a")}, AtSecond(0));
    workers.SetLeases({Worker(1, "b")}, AtSecond(1));
    ASSERT_EQ(workers.links().size(), 2U) << "the first one may owe answers";
    EXPECT_FALSE(workers.leased(WorkerId(1)));
    EXPECT_TRUE(workers.leased(WorkerId(2)));
    EXPECT_EQ(workers.Outside(WorkerId(2)), WorkerId(1));
    EXPECT_EQ(workers.HostOf(WorkerId(2)), "b");
  });
}

TEST_F(WorkerSetTest, AWorkerThatIsLeasedNoMoreStaysUntilItOwesNothing) {
  Run([](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a"), Worker(2, "b")}, AtSecond(0));
    workers.SetLeases({Worker(2, "b")}, AtSecond(1));
    EXPECT_TRUE(Removed(workers, true).empty());
    EXPECT_EQ(Removed(workers, false), std::vector<WorkerId>{WorkerId(1)});
    EXPECT_EQ(workers.Find(WorkerId(1)), nullptr);
    EXPECT_NE(workers.Find(WorkerId(2)), nullptr);
  });
}

TEST_F(WorkerSetTest, AWorkerThatIsNotReachedIsSuspectedAndTriedAgainLater) {
  Run([](WorkerSet& workers) {
    workers.SetLeases({Unreachable(5, "a")}, AtSecond(0));
    EXPECT_TRUE(workers.links().empty());
    std::vector<WorkerId> suspects;
    workers.AddSuspects(suspects);
    EXPECT_EQ(suspects, std::vector<WorkerId>{WorkerId(5)});
    std::vector<wire::UnfitWorker> unfit;
    workers.AddUnfit({}, {}, unfit);
    ASSERT_EQ(unfit.size(), 1U);
    EXPECT_EQ(unfit[0].worker, WorkerId(5));
    EXPECT_EQ(unfit[0].reason, workers.last_refusal().message());
    EXPECT_EQ(workers.last_refusal().code(), Code::kUnavailable);
    EXPECT_TRUE(workers.AllRefuse().ok()) << "it has not said that the plan can't run there";
  });
}

TEST_F(WorkerSetTest, RefusedWorkersAreToldWithTheirReasonWhileTheyAreLeased) {
  Run([](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a"), Worker(2, "b")}, AtSecond(0));
    workers.Withdraw(WorkerId(2), Unsupported("it was wrong"), false);
    std::vector<wire::UnfitWorker> unfit;
    workers.AddUnfit({}, {}, unfit);
    workers.AddUnfit({{WorkerId(1), "other files"}, {WorkerId(7), "not leased"}}, {}, unfit);
    EXPECT_EQ(unfit, (std::vector<wire::UnfitWorker>{{WorkerId(2), "it was wrong"},
                                                     {WorkerId(2), "it was wrong"},
                                                     {WorkerId(1), "other files"}}));
    unfit.clear();
    workers.AddUnfit({}, {{WorkerId(1), "rests: late"}, {WorkerId(7), "not leased"}}, unfit);
    EXPECT_EQ(unfit.back(), (wire::UnfitWorker{WorkerId(1), "rests: late", true}));
    workers.SetLeases({Worker(1, "a")}, AtSecond(1));
    unfit.clear();
    workers.AddUnfit({}, {}, unfit);
    EXPECT_TRUE(unfit.empty());
  });
}

TEST_F(WorkerSetTest, AWithdrawnProcessIsTakenByNoId) {
  Run([this](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a")}, AtSecond(0));
    workers.Withdraw(WorkerId(1), Unsupported("it was wrong"), true);
    EXPECT_EQ(gone_, std::vector<WorkerId>{WorkerId(1)});
    EXPECT_EQ(Removed(workers, false), std::vector<WorkerId>{WorkerId(1)});
    EXPECT_NE(workers.AllRefuse().message().find("it was wrong"), std::string::npos);
    workers.SetLeases({}, AtSecond(1));
    workers.SetLeases({Worker(7, "a"), Worker(8, "b")}, AtSecond(2));
    EXPECT_EQ(workers.Find(WorkerId(7)), nullptr);
    EXPECT_NE(workers.Find(WorkerId(8)), nullptr);
    EXPECT_TRUE(workers.AllRefuse().ok());
  });
}

TEST_F(WorkerSetTest, ARefusedProcessMayComeAgainWithAnotherLease) {
  Run([](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a")}, AtSecond(0));
    workers.Withdraw(WorkerId(1), Unsupported("not now"), false);
    (void)Removed(workers, false);
    workers.Tick(AtSecond(100));
    EXPECT_TRUE(workers.links().empty()) << "while it is leased it is not asked again";
    workers.SetLeases({}, AtSecond(101));
    workers.SetLeases({Worker(1, "a")}, AtSecond(102));
    EXPECT_NE(workers.Find(WorkerId(1)), nullptr);
  });
}

// The code of its plan runs in processes of this host alone.
class CodeSetTest : public WorkerSetTest {
 protected:
  CodeSetTest() {
    context_.plan.has_python_stage = true;
    context_.gives_lanes = true;
  }
  // Of this host. Its socket for memory isn't there.
  wire::WorkerInfo Local() {
    wire::WorkerInfo worker = Worker(1, "a");
    worker.host = context_.host;
    worker.arena_path = "/nowhere/w1.arena";
    worker.version = kVersion;
    return worker;
  }
};

TEST_F(CodeSetTest, AWorkerThatWasKilledIsNotOneThatSharesNoMemory) {
  Run([this](WorkerSet& workers) {
    workers.SetLeases({Local()}, AtSecond(0));
    EXPECT_TRUE(workers.AllRefuse().ok()) << workers.AllRefuse().ToString();
    EXPECT_TRUE(workers.AllReady().empty());
    std::vector<WorkerId> suspects;
    workers.AddSuspects(suspects);
    EXPECT_EQ(suspects, std::vector<WorkerId>{WorkerId(1)});
  });
}

// Who answers may have been started at the address of one that was killed.
TEST_F(CodeSetTest, AWorkerThatAnswersAndGivesNoMemoryIsTriedAgain) {
  std::unique_ptr<net::Socket> socket;
  Run([&](WorkerSet& workers) {
    net::SocketEvents events;
    events.on_message = [&](net::Incoming&& incoming) {
      const auto* ping = std::get_if<wire::Ping>(&incoming.body);
      ASSERT_NE(ping, nullptr) << "it is asked for nothing else";
      EXPECT_TRUE(socket->Send(incoming.peer, wire::Pong{ping->sequence}).ok());
    };
    socket = *reactor_->BindRouter("inproc://a", std::move(events));
    workers.SetLeases({Local()}, AtSecond(0));
  });
  for (bool gone = false; !gone;) {  // the answer comes through the reactor
    Run([&](WorkerSet&) { gone = !gone_.empty(); });
  }
  Run([&](WorkerSet& workers) {
    EXPECT_TRUE(workers.AllRefuse().ok()) << workers.AllRefuse().ToString();
    EXPECT_EQ(Removed(workers, false), std::vector<WorkerId>{WorkerId(1)});
    workers.Tick(reactor_->clock().Now() + 2 * WorkerSet::kRelinkAfter);
    EXPECT_NE(workers.Find(WorkerId(1)), nullptr);
    workers.Clear();
    socket.reset();
  });
}

// It would wait for the lanes for ever. But it may only stand still: it is not refused for good.
TEST_F(CodeSetTest, AWorkerThatTakesNoLanesIsLeftAndTriedAgain) {
  wire::WorkerInfo worker = Local();
  worker.arena_path = testing::TempDir() + "headrace" + std::to_string(::getpid()) + ".arena";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  worker.arena_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));  // nobody accepts
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  Run([&](WorkerSet& workers) {
    std::vector<LaneProcesses::Lane> lanes(1000);  // more than a socket's buffer takes
    context_.lanes.Replace(std::move(lanes));
    workers.SetLeases({worker}, AtSecond(0));
    const WorkerLink* link = workers.Find(WorkerId(1));
    ASSERT_NE(link, nullptr);
    EXPECT_EQ(link->state(), WorkerLink::State::kSuspected);
    EXPECT_TRUE(workers.AllRefuse().ok()) << workers.AllRefuse().ToString();
  });
  listener.reset();
  ::unlink(worker.arena_path.c_str());
  for (bool gone = false; !gone;) {  // the kernel's word comes through the reactor
    Run([&](WorkerSet&) { gone = !gone_.empty(); });
  }
  Run([&](WorkerSet& workers) {
    EXPECT_EQ(Removed(workers, false), std::vector<WorkerId>{WorkerId(1)});
    workers.Tick(reactor_->clock().Now() + 2 * WorkerSet::kRelinkAfter);
    EXPECT_NE(workers.Find(WorkerId(1)), nullptr);
  });
}

TEST_F(WorkerSetTest, WithoutComparisonsEachWorkerServes) {
  Run([](WorkerSet& workers) { EXPECT_TRUE(workers.Serves(WorkerId(1))); });
}

TEST_F(ComparingSetTest, WithoutAReferenceAWorkerElsewhereCannotServe) {
  Run([](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a")}, AtSecond(0));
    EXPECT_FALSE(workers.Serves(WorkerId(1)));
    EXPECT_FALSE(workers.had_reference());
    EXPECT_NE(workers.AllRefuse().message().find("has to be compared"), std::string::npos);
  });
}

}  // namespace
}  // namespace headrace::client
