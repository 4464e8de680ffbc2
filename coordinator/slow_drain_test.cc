// Slow workers: whose word drains one, and whose does not.
#include "coordinator/slow_drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/step_test_util.h"

namespace headrace::coordinator {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Every job leases every worker. Each of them says something every two seconds.
class SlowDrainTest : public testing::Test {
 protected:
  static constexpr Duration kBeat = seconds(2);

  SlowDrainTest() { cluster_.rules.plan.lease_all = true; }

  WorkerId AddWorker(bool local = false) {
    const int number = ++names_;
    wire::RegisterWorker m;
    m.token = "worker-token-" + std::to_string(number);
    m.info.endpoints = {"tcp://10.0.0.1:7000"};
    m.info.host = {"node" + std::to_string(number), "boot", 1000, 6};
    if (local) m.info.host = kHostOfPrograms;
    m.info.cores = 4;
    m.info.local = local;
    const auto registered = cluster_.Ask<wire::WorkerRegistered>(m);
    EXPECT_TRUE(registered.status.ok()) << registered.status.ToString();
    workers_.push_back(registered.worker);
    return registered.worker;
  }
  JobId AddJob(const std::string& tenant = "", const std::string& group = "") {
    wire::OpenJob open;
    open.token = "job-token-" + std::to_string(++names_);
    open.host = kHostOfPrograms;
    open.tenant = tenant;
    open.group = group;
    const auto opened = cluster_.Ask<wire::JobOpened>(open);
    jobs_[opened.job] = opened.consumer;
    return opened.job;
  }
  void Close(JobId job) {
    cluster_.Send(wire::CloseJob{job});
    jobs_.erase(job);
  }
  void CallSlow(const std::vector<JobId>& jobs, WorkerId worker) {
    for (const JobId job : jobs) slow_[job].insert(worker);
  }

  // One round of heartbeats. A job gives work to each worker that it leases and does not call slow,
  // unless it is idle.
  void Beat() {
    cluster_.Advance(kBeat);
    for (const WorkerId id : workers_) {
      const Worker* worker = cluster_.state.FindWorker(id);
      if (worker == nullptr) continue;
      wire::WorkerHeartbeat beat;
      beat.worker = id;
      for (const auto& [job, consumer] : jobs_) {
        const bool uses = worker->jobs.contains(job) && !slow_[job].contains(id) &&
                          !unfit_[job].contains(id) && !idle_.contains(job);
        beat.usage.push_back({.job = job, .samples = made_[{job, id}] += uses});
      }
      cluster_.Send(beat);
    }
    for (const auto& [job, consumer] : jobs_) {
      wire::ConsumerHeartbeat beat{1, job, consumer, {}, {}};
      for (const WorkerId id : slow_[job]) beat.unfit.push_back({id, "rests: late", true});
      for (const WorkerId id : unfit_[job]) beat.unfit.push_back({id, "has not the file"});
      cluster_.Send(beat);
    }
    cluster_.Tick();
    for (const Update& update : cluster_.last.updates) {
      const auto* drain = std::get_if<DrainWorker>(&update);
      if (drain != nullptr) drained_.emplace_back(drain->worker, cluster_.clock.Now());
    }
  }
  void BeatFor(Duration time) {
    for (Duration past{}; past < time; past += kBeat) Beat();
  }
  [[nodiscard]] bool IsDrained(WorkerId worker) const {
    return std::ranges::any_of(drained_, [&](const auto& each) { return each.first == worker; });
  }
  // A drained worker ends.
  void Leave(WorkerId worker) {
    cluster_.Send(wire::LeaveWorker{worker});
    std::erase(workers_, worker);
  }
  wire::WorkerStatus Shown(WorkerId worker) {
    for (const wire::WorkerStatus& each : cluster_.Status().workers) {
      if (each.info.worker == worker) return each;
    }
    return {};
  }

  const wire::HostIdentity kHostOfPrograms{"node0", "boot", 1000, 5};
  Cluster cluster_;
  SlowRules& rules_ = cluster_.rules.slow;
  int names_ = 0;
  std::vector<WorkerId> workers_;
  std::map<JobId, ConsumerId> jobs_;
  std::map<JobId, std::set<WorkerId>> slow_, unfit_;
  std::set<JobId> idle_;
  std::map<std::pair<JobId, WorkerId>, std::uint64_t> made_;
  std::vector<std::pair<WorkerId, SteadyTime>> drained_;
};

TEST_F(SlowDrainTest, TwoProgramsThatAgreeForLongDrainIt) {
  const WorkerId slow = AddWorker(), other = AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(rules_.agreed - seconds(4));
  EXPECT_FALSE(IsDrained(slow));
  EXPECT_EQ(Shown(slow).state, "ready");
  EXPECT_THAT(Shown(slow).reason, HasSubstr("slow for 2 programs; for job 1 it rests: late"));
  EXPECT_EQ(Shown(slow).slow_for, (std::vector<JobId>{one, two}));
  EXPECT_EQ(cluster_.Status().slow_workers, 1U);
  BeatFor(seconds(10));
  ASSERT_TRUE(IsDrained(slow));
  EXPECT_EQ(Shown(slow).state, "draining");
  EXPECT_THAT(Shown(slow).reason, HasSubstr("slow for 2 programs"));
  EXPECT_EQ(Shown(slow).slow_for, (std::vector<JobId>{one, two})) << "jobs show tells it";
  EXPECT_EQ(cluster_.state.FindJob(one)->leases, std::set<WorkerId>{other});
  EXPECT_TRUE(cluster_.Heartbeat(slow).drain) << "the worker is told";
  EXPECT_EQ(cluster_.Status().slow_workers_drained, 1U);
  EXPECT_EQ(cluster_.Status().slow_workers, 0U);
}

TEST_F(SlowDrainTest, TheWarningSaysWhyOnce) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  std::vector<std::string> warnings;
  for (int i = 0; i < 200; ++i) {
    Beat();
    warnings.insert(warnings.end(), cluster_.last.warnings.begin(), cluster_.last.warnings.end());
  }
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("worker 1 on node1 is drained: slow for 2 programs"));
}

TEST_F(SlowDrainTest, BothMustHaveSaidItForLong) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one}, slow);
  BeatFor(rules_.agreed);
  CallSlow({two}, slow);
  BeatFor(rules_.agreed - seconds(4));
  EXPECT_FALSE(IsDrained(slow));
  BeatFor(seconds(10));
  EXPECT_TRUE(IsDrained(slow));
}

TEST_F(SlowDrainTest, OneProgramAloneHasToSayItForLonger) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId job = AddJob();
  BeatFor(seconds(10));
  CallSlow({job}, slow);
  BeatFor(rules_.alone - seconds(4));
  EXPECT_FALSE(IsDrained(slow));
  BeatFor(seconds(10));
  EXPECT_TRUE(IsDrained(slow));
}

TEST_F(SlowDrainTest, RanksOfOneProgramAreOneVoice) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob("", "train"), two = AddJob("", "train");
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(rules_.alone - seconds(10));
  EXPECT_FALSE(IsDrained(slow));
}

TEST_F(SlowDrainTest, AWordThatWasTakenBackBeginsAnew) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(rules_.agreed - seconds(10));
  slow_[two].clear();
  Beat();
  CallSlow({two}, slow);
  BeatFor(rules_.agreed - seconds(10));
  EXPECT_FALSE(IsDrained(slow));
}

TEST_F(SlowDrainTest, WhatWasSaidBeforeTheCoordinatorStoodStillDoesNotAddUp) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(seconds(10));
  ASSERT_TRUE(cluster_.state.Apply(RestartClocks{cluster_.clock.Now() + rules_.agreed}).ok());
  cluster_.Advance(rules_.agreed);
  BeatFor(rules_.agreed - seconds(10));
  EXPECT_FALSE(IsDrained(slow));
}

TEST_F(SlowDrainTest, WhatALostJobSaidDoesNotAddUp) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(rules_.agreed - seconds(10));
  ASSERT_TRUE(cluster_.state.Apply(MarkJobLost{two}).ok());
  BeatFor(rules_.agreed - seconds(10));
  EXPECT_FALSE(IsDrained(slow)) << "it is back, and says it anew";
}

TEST_F(SlowDrainTest, AWorkerWithWhichAJobIsContentStays) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob(), two = AddJob(), content = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(minutes(40));
  EXPECT_FALSE(IsDrained(slow));
  // One that has only the lease says nothing by it.
  idle_.insert(content);
  BeatFor(minutes(1));
  EXPECT_TRUE(IsDrained(slow));
}

TEST_F(SlowDrainTest, TheLastFitWorkerOfAJobStays) {
  const WorkerId slow = AddWorker(), other = AddWorker();
  const JobId one = AddJob(), two = AddJob(), third = AddJob();
  idle_.insert(third);
  unfit_[third] = {other};
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(minutes(40));
  EXPECT_FALSE(IsDrained(slow));
  AddWorker();
  BeatFor(seconds(10));
  EXPECT_TRUE(IsDrained(slow));
}

TEST_F(SlowDrainTest, AJobWithNothingToCompareWithHasNoSay) {
  const WorkerId slow = AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(minutes(40));
  EXPECT_FALSE(IsDrained(slow));
  EXPECT_EQ(Shown(slow).reason, "");
}

TEST_F(SlowDrainTest, WhoCallsMostOfItsWorkersSlowHasNoSay) {
  const WorkerId slow = AddWorker(), too = AddWorker();
  for (int i = 0; i < 20; ++i) AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  // Their other leases are idle but for one: behind them is one bad network.
  for (const JobId job : {one, two}) {
    CallSlow({job}, too);
    unfit_[job] = {workers_.begin() + 3, workers_.end()};
  }
  BeatFor(minutes(40));
  EXPECT_FALSE(IsDrained(slow));
  EXPECT_EQ(Shown(slow).reason, "");
}

TEST_F(SlowDrainTest, WhereManyAreSlowNobodyIsDrained) {
  const WorkerId slow = AddWorker(), too = AddWorker();
  for (int i = 0; i < 7; ++i) AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  CallSlow({one, two}, too);
  BeatFor(minutes(40));
  EXPECT_THAT(drained_, IsEmpty()) << "2 of 9 are more than a fifth";
  AddWorker();
  BeatFor(seconds(10));
  EXPECT_EQ(drained_.size(), 1U);
}

TEST_F(SlowDrainTest, OneAtATimeAndNotSoonAfterEachOther) {
  const WorkerId slow = AddWorker(), too = AddWorker();
  for (int i = 0; i < 8; ++i) AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  CallSlow({one, two}, too);
  BeatFor(rules_.agreed + rules_.pause + minutes(5));
  ASSERT_EQ(drained_.size(), 1U) << "the first one has not ended";
  Leave(drained_[0].first);
  AddWorker();
  BeatFor(seconds(10));
  ASSERT_EQ(drained_.size(), 2U);
  EXPECT_GE(drained_[1].second - drained_[0].second, rules_.pause);
  Leave(drained_[1].first);
  const WorkerId third = AddWorker();
  AddWorker();
  CallSlow({one, two}, third);
  BeatFor(rules_.pause - seconds(10));
  EXPECT_EQ(drained_.size(), 2U);
  BeatFor(seconds(20));
  EXPECT_EQ(drained_.size(), 3U);
}

TEST_F(SlowDrainTest, OneTenantsWordTakesAWorkerFromNobodyElse) {
  const WorkerId slow = AddWorker();
  for (int i = 0; i < 3; ++i) AddWorker();
  const JobId one = AddJob("liars"), two = AddJob("liars"), other = AddJob("others");
  idle_.insert(other);
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(minutes(40));
  EXPECT_FALSE(IsDrained(slow)) << "the others may want it later";
  idle_.clear();
  CallSlow({other}, slow);
  BeatFor(rules_.agreed + seconds(10));
  EXPECT_TRUE(IsDrained(slow));
}

TEST_F(SlowDrainTest, WhereOneTenantIsAloneItsWordIsEnough) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob("a"), two = AddJob("a"), other = AddJob("b");
  idle_.insert(other);
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(minutes(10));
  ASSERT_FALSE(IsDrained(slow));
  Close(other);
  BeatFor(seconds(10));
  EXPECT_TRUE(IsDrained(slow));
}

TEST_F(SlowDrainTest, AProgramsOwnWorkerStays) {
  const WorkerId local = AddWorker(true);
  AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  ASSERT_TRUE(cluster_.state.FindJob(one)->leases.contains(local));
  CallSlow({one, two}, local);
  BeatFor(minutes(40));
  EXPECT_FALSE(IsDrained(local));
}

TEST_F(SlowDrainTest, TheReasonSurvivesARestart) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(rules_.agreed + seconds(10));
  ASSERT_TRUE(IsDrained(slow));
  State again;
  for (const Update& update : cluster_.state.Snapshot()) ASSERT_TRUE(again.Apply(update).ok());
  EXPECT_EQ(again.FindWorker(slow)->drain_reason, cluster_.state.FindWorker(slow)->drain_reason);
  EXPECT_NE(again.FindWorker(slow)->drain_reason, "");
}

// Programs of liars call any worker slow, at any time. Honest programs of two other tenants call those
// slow that are. Whatever happens: no worker that an honest program uses is drained while it is
// content with it; no program loses its last worker; drains keep their distance.
class Liars : public SlowDrainTest {
 public:
  void TestBody() override {}
  // Returns how many were drained.
  std::size_t Run(unsigned seed) {
    std::mt19937 rng(seed);
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
    rules_ = {.agreed = seconds(20), .alone = seconds(60), .pause = seconds(30)};
    for (int i = 0; i < 6; ++i) AddWorker();
    const std::set<WorkerId> truly_slow = {workers_[pick(6)]};
    const std::vector<JobId> honest = {AddJob("a"), AddJob("b")};
    std::vector<JobId> liars = {AddJob("c"), AddJob("c"), AddJob("c", "g"), AddJob("c", "g")};
    BeatFor(seconds(10));
    for (int step = 0; step < 150 && !HasFailure(); ++step) {
      for (const JobId job : liars) {
        if (pick(40) == 0 && !idle_.erase(job)) idle_.insert(job);
        if (pick(12) != 0) continue;
        const WorkerId victim = workers_[pick(workers_.size())];
        if (pick(3) == 0) slow_[job].clear();
        if (!slow_[job].erase(victim)) slow_[job].insert(victim);
      }
      for (const JobId job : honest) {
        if (pick(20) != 0) continue;
        for (const WorkerId id : truly_slow) slow_[job].insert(id);
      }
      if (pick(30) == 0 && !idle_.erase(honest[0])) idle_.insert(honest[0]);
      const std::size_t before = drained_.size();
      Beat();
      if (drained_.size() == before) continue;
      const auto [worker, when] = drained_.back();
      EXPECT_TRUE(truly_slow.contains(worker)) << "worker " << worker.value << " by a lie";
      if (before > 0) {
        EXPECT_GE(when - drained_[before - 1].second, rules_.pause);
      }
      for (const auto& [job, consumer] : jobs_) {
        EXPECT_FALSE(cluster_.state.FindJob(job)->leases.empty()) << "job " << job.value;
      }
      Leave(worker);
    }
    return drained_.size();
  }
};

TEST(SlowDrainProperty, ALieCostsTheLiarAlone) {
  std::size_t drains = 0;
  for (unsigned seed = 0; seed < 60 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    drains += Liars().Run(seed);
  }
  EXPECT_GT(drains, 10U) << "the slow one goes nevertheless";
}

}  // namespace
}  // namespace headrace::coordinator
