#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "coordinator/step_elastic_fixture.h"

namespace headrace::coordinator {
namespace {

using std::chrono::seconds;

TEST_F(ElasticTest, FollowsARampWithinTwoPeriods) {
  Workers(4);
  FakeTrainer trainer = Trainer("token-aaaa", 200, 0.01);
  for (int i = 0; i < 30; ++i) Second({&trainer});
  EXPECT_NEAR(Cores(trainer), 2.2, 0.05);
  trainer.rate *= 4;
  Second({&trainer});
  Second({&trainer});
  Second({&trainer});
  EXPECT_LT(trainer.last_wait, 0.05);
  EXPECT_NEAR(Cores(trainer), 8.8, 0.2);
  trainer.rate /= 4;
  for (int i = 0; i < 25; ++i) Second({&trainer});
  EXPECT_NEAR(Cores(trainer), 2.2, 0.05);
  EXPECT_LT(trainer.last_wait, 0.01);
}

class ElasticNoiseTest : public ElasticTest, public testing::WithParamInterface<unsigned> {};

TEST_P(ElasticNoiseTest, ChangesNoLeaseInFiveMinutes) {
  Workers(3);
  FakeTrainer a = Trainer("token-aaaa", 300, 0.01), b = Trainer("token-bbbb", 100, 0.02);
  a.noise = b.noise = 0.15;
  a.rng.seed(GetParam());
  b.rng.seed(GetParam() + 1000);
  for (int i = 0; i < 60; ++i) Second({&a, &b});
  lease_changes_ = grant_changes_ = 0;
  for (int i = 0; i < 300; ++i) Second({&a, &b});
  EXPECT_EQ(lease_changes_, 0);
  EXPECT_LE(grant_changes_, 4);  // noise looks like a step once in hours
}

INSTANTIATE_TEST_SUITE_P(Seeds, ElasticNoiseTest, testing::Range(0U, 20U));

TEST_F(ElasticTest, ALocalWorkerComesFirstAndThePoolTakesTheRest) {
  // Four cores beside the trainer, which needs eight, and a pool of four on another host.
  wire::RegisterWorker m;
  m.token = "worker-token-local";
  m.info.endpoints = {"ipc:///run/headrace/w1.data"};
  m.info.host = {"node1", "boot1", 1000, 9};
  m.info.cores = 4;
  m.info.version = cluster_.version;
  m.info.local = true;
  const WorkerId local = cluster_.Ask<wire::WorkerRegistered>(m).worker;
  m.token = "worker-token-pool";
  m.info.endpoints = {"tcp://10.0.0.2:7000"};
  m.info.host = {"node2", "boot2", 1000, 9};
  m.info.local = false;
  const WorkerId pool = cluster_.Ask<wire::WorkerRegistered>(m).worker;
  workers_ = {local, pool};
  FakeTrainer trainer = Trainer("token-aaaa", 700, 0.01);
  for (int i = 0; i < 30; ++i) Second({&trainer});
  const auto& grants = cluster_.state.FindJob(trainer.job.job)->grants;
  EXPECT_EQ(grants.at(local).millicores, 4000U);
  EXPECT_NEAR(grants.at(pool).millicores, 3700, 100);
  EXPECT_NEAR(*cluster_.last.demand_cores, 3, 0.1);  // the pool's size follows what is left for it
  trainer.rate = 300;
  for (int i = 0; i < 30; ++i) Second({&trainer});
  EXPECT_NEAR(grants.at(local).millicores, 3300, 50);
  EXPECT_FALSE(grants.contains(pool));
  EXPECT_DOUBLE_EQ(*cluster_.last.demand_cores, 0);
}

class ElasticLanesTest : public ElasticTest, public testing::WithParamInterface<unsigned> {};

TEST_P(ElasticLanesTest, KeepTheirWorkersWhateverTheDemandDoes) {
  std::mt19937 rng(GetParam());
  const auto pick = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(rng);
  };
  Workers(5);
  FakeTrainer lanes = Trainer("token-aaaa", 600, 0.01, true);
  FakeTrainer others = Trainer("token-bbbb", 600, 0.01);
  lanes.noise = others.noise = 0.3;
  lanes.rng.seed(GetParam());
  bool given_back = false;
  for (int second = 0; second < 150; ++second) {
    if (second % 25 == 0) {
      lanes.rate = pick(10, 1500);
      others.rate = second % 50 == 0 ? pick(800, 1500) : pick(10, 100);
    }
    const std::set<WorkerId> held = Leases(lanes), of_others = Leases(others);
    Second({&lanes, &others});
    ASSERT_TRUE(std::ranges::includes(Leases(lanes), held)) << "second " << second;
    given_back = given_back || !std::ranges::includes(Leases(others), of_others);
  }
  EXPECT_TRUE(given_back);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ElasticLanesTest, testing::Range(0U, 200U));

TEST_F(ElasticTest, AJobWithLanesGivesItsCoresBackOnTheWorkersThatItKeeps) {
  Workers(4);
  for (const bool lanes : {true, false}) {
    FakeTrainer trainer = Trainer("token-of-" + std::to_string(lanes), 1200, 0.01, lanes);
    for (int i = 0; i < 30; ++i) Second({&trainer});
    EXPECT_EQ(Leases(trainer).size(), 4U);
    trainer.rate = 100;
    for (int i = 0; i < 30; ++i) Second({&trainer});
    EXPECT_NEAR(Cores(trainer), 1.1, 0.05);
    EXPECT_EQ(Leases(trainer).size(), lanes ? 4U : 1U);
    cluster_.Send(wire::CloseJob{trainer.job.job});
  }
}

TEST_F(ElasticTest, LanesGoElsewhereFromAWorkerThatLeaves) {
  Workers(3);
  FakeTrainer trainer = Trainer("token-aaaa", 600, 0.01, true);
  for (int i = 0; i < 30; ++i) Second({&trainer});
  const WorkerId leaves = *Leases(trainer).begin();
  cluster_.Take(Drain{leaves});
  EXPECT_FALSE(Leases(trainer).contains(leaves));
  Second({&trainer});
  EXPECT_NEAR(Cores(trainer), 6.6, 0.1);
}

TEST_F(ElasticTest, LanesStayWhenTheCoordinatorHasBegunAnew) {
  Workers(4);
  FakeTrainer trainer = Trainer("token-aaaa", 1200, 0.01, true);
  for (int i = 0; i < 30; ++i) Second({&trainer});
  trainer.rate = 100;
  for (int i = 0; i < 30; ++i) Second({&trainer});
  const std::set<WorkerId> held = Leases(trainer);
  State replayed;
  for (const Update& update : cluster_.state.Snapshot()) HR_CHECK(replayed.Apply(update).ok());
  HR_CHECK(replayed.Apply(RestartClocks{cluster_.clock.Now()}).ok());
  cluster_.state = replayed;
  for (int i = 0; i < 30; ++i) {
    Second({&trainer});
    ASSERT_TRUE(std::ranges::includes(Leases(trainer), held));
  }
}

TEST_F(ElasticTest, TwoJobsGetTheDivisionThatKeepsMostGpusBusy) {
  // 4 cores: the light one needs 1, the hungry one 8.
  Workers(1);
  FakeTrainer light = Trainer("token-aaaa", 100, 0.01), hungry = Trainer("token-bbbb", 800, 0.01);
  for (int i = 0; i < 30; ++i) Second({&light, &hungry});
  EXPECT_NEAR(Cores(light), 1, 0.02);
  EXPECT_NEAR(Cores(hungry), 3, 0.02);
  EXPECT_LT(light.last_wait, 0.02);
}

TEST_F(ElasticTest, AWorkersDirectiveHasTheGrantsOfItsJobs) {
  Workers(1);
  FakeTrainer trainer = Trainer("token-aaaa", 200, 0.01);
  for (int i = 0; i < 5; ++i) Second({&trainer});
  const wire::WorkerDirective directive = cluster_.Heartbeat(workers_[0]);
  ASSERT_EQ(directive.grants.size(), 1u);
  EXPECT_EQ(directive.grants[0].job, trainer.job.job);
  EXPECT_NEAR(directive.grants[0].millicores, 2200, 20);
  EXPECT_EQ(directive.grants[0].source_bytes_per_second, 0u);
}

TEST_F(ElasticTest, ASilentTrainerKeepsWhatItHas) {
  Workers(2);
  FakeTrainer trainer = Trainer("token-aaaa", 200, 0.01);
  for (int i = 0; i < 30; ++i) Second({&trainer});
  const double before = Cores(trainer);
  for (int i = 0; i < 8; ++i) Second({});
  EXPECT_EQ(Cores(trainer), before);
}

TEST_F(ElasticTest, TheStatusSaysWhatIsKnown) {
  Workers(1);
  FakeTrainer trainer = Trainer("token-aaaa", 800, 0.01);
  for (int i = 0; i < 10; ++i) Second({&trainer});
  const wire::JobStatus job = cluster_.Status().jobs.at(0);
  EXPECT_EQ(job.granted_millicores, 4000u);
  EXPECT_NEAR(job.demand_millicores, 8000, 80);
  EXPECT_NEAR(job.samples_per_second_when_ready, 800, 8);
  EXPECT_NEAR(job.wait_share, 0.5, 0.01);
  EXPECT_EQ(
      job.advice,
      "waits 50%: 50% decode; 6 MB more of cache, which its workers lack (--cache, "
      "--cache-tier), would cut it to 0% (2.0 times as fast) from the next epoch on, or 4 more "
      "cores to 0%");
  // There is no advice for a job that is gone.
  for (int i = 0; i < 15; ++i) Second({});
  EXPECT_EQ(cluster_.Status().jobs.at(0).state, "lost");
  EXPECT_EQ(cluster_.Status().jobs.at(0).advice, "");
}

}  // namespace
}  // namespace headrace::coordinator
