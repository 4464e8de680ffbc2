#include "simulate/network.h"

#include <gtest/gtest.h>

#include "simulate/engine.h"
#include "simulate/generate.h"
#include "simulate/simulate_test_util.h"

namespace headrace::simulate {
namespace {

// Hosts of 4 GPUs and 12 cores with a link of 100 MB/s, and one of 12 cores without GPUs.
Cluster WithLinks(int gpus, double extra_cores, double link = 100e6) {
  Cluster cluster;
  cluster.gpus = gpus;
  cluster.cpu_per_gpu = 3;
  cluster.extra_cores = extra_cores;
  cluster.gpus_per_host = 4;
  cluster.link = link;
  return cluster;
}

// 10 samples an iteration, a core-second each, and 1 MB on their way.
Job SendingJob(double iterations, int gpus = 4) {
  Job job = TestJob(0, iterations, 0.25, 10, gpus);
  job.batch = 10;
  job.sent_bytes = 1e6;
  return job;
}

Outcome RunUnder(const Trace& trace, const Cluster& cluster, const std::string& policy) {
  PolicyScheduler scheduler(PolicyNamed(policy));
  auto outcome = Simulate(trace, cluster, CacheMode::kJoint, {}, scheduler);
  EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
  return outcome.ok() ? *std::move(outcome) : Outcome{};
}

TEST(Network, AJobHasItsPartOfItsHostsLinks) {
  const Cluster cluster = WithLinks(8, 12);
  EXPECT_EQ(OwnShare(cluster, 1), (coordinator::NetworkShare{25e6, 3}));
  EXPECT_EQ(OwnShare(cluster, 8), (coordinator::NetworkShare{200e6, 24}));
  EXPECT_EQ(OwnShare(WithLinks(8, 12, coordinator::kUnlimited), 8), coordinator::NetworkShare());
}

TEST(Network, AllShareWhatHostsSend) {
  // Ten jobs of 4 GPUs on hosts of 4 use all their own cores and could take in 1 GB/s. One host sends.
  const coordinator::Terms terms{2000, 0.01, 0.01, 0, 1e6};
  const Cluster cluster = WithLinks(40, 12);
  std::vector<NetworkUser> users(10, {4, terms});
  users[3].terms.ready_rate = 1203;  // it wants 3 MB/s of the network
  const auto shares = NetworkShares(cluster, users);
  EXPECT_EQ(shares[3], OwnShare(cluster, 4)) << "not limited";
  for (const std::size_t i : {0, 5, 9}) EXPECT_NEAR(shares[i].rate, 97e6 / 9, 1);
  // Half of the jobs: the other hosts' cores are idle and send, too.
  users.resize(5);
  for (const auto& share : NetworkShares(cluster, users)) EXPECT_DOUBLE_EQ(share.rate, 100e6);
  // Unless work that stays there takes them.
  users.push_back({20, {}, 0, 0, 60});
  EXPECT_NEAR(NetworkShares(cluster, users)[0].rate, 97e6 / 4, 1);
}

TEST(Network, TheRateIsThatOfTheOwnCoresAndOfTheLink) {
  Trace trace;
  trace.jobs = {SendingJob(1000)};
  // 12 cores make 12 samples/s; 4 MB/s carry 4; the trainer would take 40.
  const Outcome bound = RunUnder(trace, WithLinks(4, 24, 4e6), "utilization");
  EXPECT_NEAR(bound.end_s, 10'000 / 16.0, 5);
  // Without a link all 36 cores count.
  const Outcome wide = RunUnder(trace, WithLinks(4, 24, coordinator::kUnlimited), "utilization");
  EXPECT_NEAR(wide.end_s, 10'000 / 36.0, 5);
}

// Two jobs on two hosts, and one host of 12 cores for both: its link carries 2 samples/s.
TEST(Network, WorkersLinksBindToo) {
  Trace trace;
  trace.jobs = {SendingJob(1000), SendingJob(1000)};
  Cluster cluster = WithLinks(8, 12, 2e6);
  const Outcome outcome = RunUnder(trace, cluster, "utilization");
  for (const JobOutcome& each : outcome.jobs) EXPECT_NEAR(each.finish_s, 10'000 / 13.0, 15);
}

// The first job's link carries two of the 24 cores elsewhere. So the other one has them.
TEST(Network, CoresThatALinkDoesNotCarryGoToOthers) {
  Trace trace;
  trace.jobs = {SendingJob(1000), SendingJob(1000)};
  trace.jobs[1].sent_bytes = 1e3;
  const Outcome outcome = RunUnder(trace, WithLinks(8, 24, 2e6), "utilization");
  for (const JobOutcome& each : outcome.jobs) {
    EXPECT_NEAR(each.finish_s, 10'000 / (each.job == 0 ? 14.0 : 34.0), 15) << each.job;
  }
}

TEST(Network, NoMoreIsSentThanLinksCarry) {
  for (const char* policy : {"fifo", "sjf", "max_min_fair", "utilization"}) {
    SCOPED_TRACE(policy);
    GenerateOptions options;
    options.jobs = 60;
    options.gpus = 32;
    options.vision = 0.8;
    options.speech = 0.1;
    auto trace = Generate(options);
    ASSERT_TRUE(trace.ok());
    const Cluster cluster = WithLinks(32, 96, 20e6);
    const Outcome outcome = RunUnder(*trace, cluster, policy);
    double most = 0;
    for (const TimelinePoint& point : outcome.timeline) {
      EXPECT_LE(point.network_rate,
                cluster.link * (cluster.gpu_hosts() + cluster.worker_hosts()) * (1 + 1e-9));
      // No job takes in more than its hosts' links.
      EXPECT_LE(point.network_rate, cluster.link * point.gpus / 4 * (1 + 1e-9));
      most = std::max(most, point.network_rate);
    }
    EXPECT_GT(most, 20e6) << "or nothing is tested";
    EXPECT_EQ(outcome.jobs.size(), 60U);
  }
}

TEST(Network, AWiderLinkIsNeverSlower) {
  Trace trace;
  trace.jobs = {SendingJob(300), SendingJob(200)};
  double last = coordinator::kUnlimited;
  for (const double link : {1e6, 2e6, 4e6, 8e6, 16e6, 64e6}) {
    const Outcome outcome = RunUnder(trace, WithLinks(8, 48, link), "max_min_fair");
    EXPECT_LE(outcome.end_s, last + 5) << link;
    last = outcome.end_s;
  }
}

}  // namespace
}  // namespace headrace::simulate
