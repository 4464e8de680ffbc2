#include "coordinator/grant_reason.h"

#include "coordinator/cluster_planner_fixture.h"
#include "coordinator/step_elastic_fixture.h"

namespace headrace::coordinator {
namespace {

using ::testing::HasSubstr;

// What the policy said is kept, and told with the names of today.
class GrantReasonTest : public ClusterPlannerTest {
 protected:
  JobId Named(const std::string& name, std::int32_t priority = 0, std::int64_t opened_ms = 0) {
    AddJob add;
    add.name = name;
    add.priority = priority;
    add.opened_ms = opened_ms;
    return Job(add);
  }
  // Two jobs that could use 8 cores each.
  void Measure(JobId a, JobId b) {
    for (int second = 0; second < 3; ++second) {
      Report(a, 80, 0.1);
      Report(b, 80, 0.1);
      EndPeriod();
    }
  }
  wire::GrantReason Why(JobId job) {
    const ClusterPlan plan = Plan();
    for (const JobPlan& each : plan.jobs) {
      Apply(ExplainGrants{{{each.job, each.why}}});
    }
    return ReasonOf(rules_, state_, *state_.FindJob(job));
  }
};

TEST_F(GrantReasonTest, EqualsHaveNoRival) {
  Worker(10);
  const JobId a = Named("a.py"), b = Named("b.py");
  Measure(a, b);
  const wire::GrantReason why = Why(a);
  EXPECT_EQ(why.rule, "utilization");
  EXPECT_FALSE(why.rival.valid());
  EXPECT_NEAR(why.cores, 5, 0.01);
  EXPECT_NEAR(why.wanted_cores, 8, 0.01);
  EXPECT_NEAR(why.fair_cores, 5, 0.01);
  EXPECT_EQ(why.floor, 0.5);
  EXPECT_EQ(
      why.text,
      "5.0 of 8.0 wanted cores: there are no more, and no job has more for its GPUs; 0.5 of its "
      "fair share of 5.0 cores is sure");
  (void)b;
}

TEST_F(GrantReasonTest, WhoHasAllSaysSo) {
  Worker(32);
  const JobId a = Named("a.py"), b = Named("b.py");
  Measure(a, b);
  EXPECT_EQ(Why(b).rule, "enough");
  EXPECT_THAT(Why(b).text, HasSubstr("cores: all that it can use"));
}

TEST_F(GrantReasonTest, NamesWhoComesFirstAndThePolicy) {
  rules_.policy = policies_.Find("fifo");
  Worker(10);
  const JobId first = Named("bert.py"), late = Named("late.py", 0, 7'200'000);
  Measure(first, late);
  const wire::GrantReason why = Why(late);
  // The whole fair share of 5 is sure, and more is there for neither.
  EXPECT_EQ(why.rule, "fifo");
  rules_.floor = 0.2;
  const wire::GrantReason less = Why(late);
  EXPECT_EQ(less.rule, "fifo");
  EXPECT_EQ(less.rival, first);
  EXPECT_GT(less.rival_cores, 7);
  EXPECT_THAT(less.text, HasSubstr("of 8.0 wanted cores: job " + std::to_string(first.value) +
                                   " (bert.py) has "));
  EXPECT_THAT(less.text, HasSubstr(" more because it came first (`fifo`); 0.2 of its fair share of "
                                   "5.0 cores is sure"));
}

TEST_F(GrantReasonTest, NamesAHigherPriority) {
  Worker(10);
  const JobId first = Named("bert.py", 5), other = Named("other.py");
  Measure(first, other);
  const wire::GrantReason why = Why(other);
  EXPECT_EQ(why.rule, "priority");
  EXPECT_EQ(why.rival, first);
  EXPECT_THAT(why.text, HasSubstr("because of a higher priority (5, its own is 0)"));
}

TEST_F(GrantReasonTest, NamesAQuotaAndTheSource) {
  Worker(32);
  rules_.tenants = {{"default"}};
  rules_.tenants[0].quota.cores = 4;
  const JobId a = Named("a.py"), b = Named("b.py");
  Measure(a, b);
  EXPECT_EQ(Why(a).rule, "quota");
  EXPECT_THAT(Why(a).text, HasSubstr("the quota of tenant default is used up"));
  rules_.tenants.clear();
  rules_.source_rate = 1e6;
  for (int second = 0; second < 40; ++second) {
    Report(a, 80, 0.1, 1e5);
    Report(b, 80, 0.1, 1e5);
    EndPeriod();
  }
  EXPECT_EQ(Why(a).rule, "source");
  EXPECT_THAT(Why(a).text, HasSubstr("the bandwidth of the source is used up"));
}

TEST_F(GrantReasonTest, IsSilentBeforeADecision) {
  const JobId a = Named("a.py");
  EXPECT_EQ(ReasonOf(rules_, state_, *state_.FindJob(a)), wire::GrantReason{});
  // There is no worker: what it waits for is its state.
  EXPECT_EQ(Why(a).text, "");
}

TEST_F(GrantReasonTest, TheRulesAreTold) {
  rules_.tenants = {{"a", 2}};
  rules_.tenants[0].quota.cores = 4;
  rules_.floor = 0.25;
  const wire::PolicyRules said = DescribeRules(rules_);
  EXPECT_EQ(said.policy, "utilization");
  EXPECT_EQ(said.source_bytes_per_second, 0);
  EXPECT_EQ(said.floor, 0.25);
  ASSERT_EQ(said.tenants.size(), 1U);
  EXPECT_EQ(said.tenants[0].cores, 4);
  EXPECT_EQ(said.tenants[0].cache_bytes, 0);
}

// From heartbeats to what people see: the state keeps what the last plan said.
TEST_F(ElasticTest, TheReasonAndTheNeedAreTold) {
  cluster_.rules.plan.source_rate = 5e9;
  Workers(1);
  FakeTrainer one = Trainer("token-aaaa", 400, 0.01), other = Trainer("token-bbbb", 400, 0.01);
  const auto of = [&](const FakeTrainer& trainer) {
    const wire::ClusterStatus now =
        DescribeCluster(cluster_.rules, cluster_.state, {}, {cluster_.clock.Now(), 0, 0});
    EXPECT_EQ(now.rules.policy, "utilization");
    EXPECT_EQ(now.rules.source_bytes_per_second, 5e9);
    return *std::ranges::find(now.jobs, trainer.job.job, &wire::JobStatus::job);
  };
  EXPECT_EQ(of(one).need, wire::JobNeed{});
  for (int second = 0; second < 20; ++second) Second({&one, &other});
  const wire::JobStatus shown = of(one);
  EXPECT_NEAR(shown.need.ready_rate, 400, 8);
  EXPECT_NEAR(shown.need.miss_cost, 0.01, 1e-4);
  EXPECT_EQ(shown.why.rule, "utilization");
  EXPECT_NEAR(shown.why.cores, 2, 0.05);
  EXPECT_NEAR(shown.why.wanted_cores, 4, 0.1);
  EXPECT_THAT(shown.why.text, HasSubstr("of 4.0 wanted cores: "));
  // With no other job it has all that it can use.
  wire::CloseJob close;
  close.job = other.job.job;
  cluster_.Send(close);
  for (int second = 0; second < 3; ++second) Second({&one});
  EXPECT_EQ(of(one).why.rule, "enough");
  EXPECT_NEAR(of(one).why.cores, 4, 0.1);
}

}  // namespace
}  // namespace headrace::coordinator
