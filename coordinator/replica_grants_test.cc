// Which jobs' workers keep copies of what others own.
#include "coordinator/replica_grants.h"

#include <string>
#include <utility>
#include <vector>

#include "coordinator/cluster_planner_fixture.h"
#include "coordinator/describe_datasets.h"

namespace headrace::coordinator {
namespace {

constexpr double kReplicaEntry = 200e3;
constexpr std::uint64_t kMuchRoom = 4'000'000'000;

// Two workers on two hosts, and a job that reads 1000 samples of a store, all of which are cached.
class ReplicaGrantsTest : public ClusterPlannerTest {
 protected:
  ReplicaGrantsTest() { rules_.lease_all = true; }
  WorkerId AddHost(const std::string& host, std::uint64_t cache_bytes = kMuchRoom) {
    AddWorker add;
    add.token = "worker-token-" + host;
    add.info.worker = state_.next_worker();
    add.info.endpoints = {"tcp://10.0.0.1:7"};
    add.info.cores = 8;
    add.info.host = {host, host, 0, 1};
    add.info.cache_bytes = cache_bytes;
    Apply(add);
    Report(add.info.worker, {});
    return add.info.worker;
  }
  JobId AddReader(std::uint64_t dataset, const std::string& name, AddJob add = {}) {
    if (add.cache_bytes == 0) add.cache_bytes = wire::kNoCacheBound;
    const JobId job = Job(std::move(add));
    AddSession session;
    session.job = job;
    session.session = SessionId(job.value);
    session.plan_name = name;
    session.split.cache_node = 1;
    session.dataset = dataset;
    session.rows = 1000;
    session.far = session.everywhere = true;
    Apply(session);
    return job;
  }
  // A second of the job, of whose samples the part `hit` was cached. Each takes `cost` core-seconds; of
  // those that are made `made`.
  void Reads(JobId job, double rate, double hit, double cost = 1e-3, double made = 20e-3) {
    wire::SessionLoad& load = loads_[job];
    load.session = SessionId(job.value);
    load.samples += static_cast<std::uint64_t>(rate);
    load.step_ns += 500'000'000;
    load.stall_ns += 500'000'000;
    load.wait_compute_ns = load.stall_ns;
    load.hit_samples += static_cast<std::uint64_t>(rate * hit);
    load.hit_cpu_ns += static_cast<std::uint64_t>(rate * hit * cost * 1e9);
    load.miss_samples += static_cast<std::uint64_t>(rate * (1 - hit));
    load.misses += static_cast<std::uint64_t>(rate * (1 - hit));
    load.miss_cpu_ns += static_cast<std::uint64_t>(rate * (1 - hit) * made * 1e9);
    load.source_ns += static_cast<std::uint64_t>(rate * (1 - hit) * 50e-3 * 1e9);
    load.source_bytes += static_cast<std::uint64_t>(rate * (1 - hit) * 40e3);
    Apply(SeeConsumer{job, {}, {load}, true});
  }
  // What each worker has of the jobs: half of all.
  void Hold(const std::vector<JobId>& jobs, std::uint64_t replicas = 0) {
    for (const WorkerId worker : {a_, b_}) {
      std::vector<wire::JobUsage> usage;
      for (const JobId job : jobs) {
        usage.push_back({.job = job,
                         .cache_bytes = static_cast<std::uint64_t>(500 * kReplicaEntry),
                         .cache_entries = 500,
                         .replica_bytes = replicas,
                         .replica_entries = replicas / 200'000,
                         .replica_hits = 3});
      }
      Report(worker, usage);
    }
  }
  // Whether all grants of the job say so, or none. Some: -1.
  static int Keeps(const ClusterPlan& plan, JobId job) {
    int yes = 0, all = 0;
    for (const JobPlan& each : plan.jobs) {
      if (each.job != job) continue;
      for (const auto& [id, grant] : each.grants) {
        ++all;
        yes += grant.replicas ? 1 : 0;
      }
    }
    return yes == 0 ? 0 : yes == all ? 1 : -1;
  }
  int Decides(JobId job) {
    EndPeriod();
    return Keeps(Plan(), job);
  }
  const WorkerId a_ = AddHost("a"), b_ = AddHost("b");
};

TEST_F(ReplicaGrantsTest, WhereAWholeDataSetIsReadFastAndQuestionsCost) {
  const JobId job = AddReader(77, "train");
  Plan();
  Hold({job});
  EXPECT_EQ(Decides(job), 0) << "nothing is measured";
  Reads(job, 5000, 1);
  EXPECT_EQ(Decides(job), 1);
  rules_.replicas = false;
  EXPECT_EQ(Keeps(MakePlan(rules_, state_), job), 0) << "the operator does not want it";
}

TEST_F(ReplicaGrantsTest, NotWhileMuchIsMissed) {
  const JobId job = AddReader(77, "train");
  Plan();
  Hold({job});
  const std::vector<std::pair<double, int>> periods = {
      {0.7, 0}, {0.85, 0}, {0.95, 1}, {0.85, 1}, {0.7, 0}};
  for (const auto& [hit, keeps] : periods) {
    Reads(job, 5000, hit, 1e-3, 2e-3);
    EXPECT_EQ(Decides(job), keeps) << hit;
  }
}

TEST_F(ReplicaGrantsTest, NotWhereItIsReadSlowly) {
  const JobId job = AddReader(77, "train");
  Plan();
  Hold({job});
  for (int period = 0; period < 4; ++period) {
    Reads(job, 100, 1);
    EXPECT_EQ(Decides(job), 0);
  }
}

TEST_F(ReplicaGrantsTest, NotWhereSamplesTakeMuchMoreThanQuestions) {
  const JobId job = AddReader(77, "train");
  Plan();
  Hold({job});
  for (int period = 0; period < 4; ++period) {
    Reads(job, 1000, 1, 50e-3);
    EXPECT_EQ(Decides(job), 0);
  }
}

// Another data set has no room for all that it has: none is left for copies.
TEST_F(ReplicaGrantsTest, NotWhereADataSetLacksRoom) {
  const JobId job = AddReader(77, "train");
  Plan();
  Hold({job});
  for (int period = 0; period < 4; ++period) {
    Reads(job, 5000, 1);
    EndPeriod();
  }
  ASSERT_EQ(Keeps(Plan(), job), 1);
  const JobId large = AddReader(88, "large");
  AddSession more;
  more.job = large;
  more.session = SessionId(900);
  more.plan_name = "large";
  more.split.cache_node = 1;
  more.dataset = 89;
  more.rows = 1'000'000;
  more.far = more.everywhere = true;
  Apply(more);
  Reads(job, 5000, 1);
  EXPECT_EQ(Decides(job), 0);
}

TEST_F(ReplicaGrantsTest, NotBeyondABound) {
  const JobId job = AddReader(77, "train", {.cache_bytes = 2'000'000'000});
  Plan();
  Hold({job});
  for (int period = 0; period < 4; ++period) {
    Reads(job, 5000, 1);
    EXPECT_EQ(Decides(job), 0) << "a program's own";
  }
  const JobId other = AddReader(78, "bounded");
  rules_.dataset_bytes = {{"bounded", 1e9}};
  for (int period = 0; period < 4; ++period) {
    Reads(other, 5000, 1);
    EXPECT_EQ(Decides(other), 0) << "of its data set";
  }
}

// The rate that begins it is not the one that ends it.
TEST_F(ReplicaGrantsTest, TheyStayWhileQuestionsWouldCostHalfOfThat) {
  const JobId job = AddReader(77, "train");
  Plan();
  Hold({job});
  for (int period = 0; period < 4; ++period) {
    Reads(job, 5000, 1);
    EndPeriod();
  }
  ASSERT_EQ(Keeps(Plan(), job), 1);
  // 200 samples/s of which half are asked for, at 0.36 ms each: 0.036 cores.
  for (int period = 0; period < 3; ++period) {
    Reads(job, 200, 1);
    EXPECT_EQ(Decides(job), 1);
  }
  Reads(job, 100, 1);
  EXPECT_EQ(Decides(job), 0);
}

TEST_F(ReplicaGrantsTest, CopiesAreShownAndCountAsNothingElse) {
  const JobId job = AddReader(77, "train");
  Plan();
  Hold({job});
  const wire::DatasetStatus before = DescribeDatasets(state_, ViewDatasets(state_)).at(0);
  Hold({job}, 20'000'000);
  const wire::DatasetStatus shown = DescribeDatasets(state_, ViewDatasets(state_)).at(0);
  EXPECT_EQ(shown.replica_bytes, 40'000'000U);
  EXPECT_EQ(shown.replica_entries, 200U);
  EXPECT_EQ(shown.replica_hits, 6U);
  EXPECT_EQ(shown.bytes, before.bytes);
  EXPECT_EQ(shown.parts, before.parts);
  EXPECT_EQ(shown.hit_when_full, before.hit_when_full);
}

}  // namespace
}  // namespace headrace::coordinator
