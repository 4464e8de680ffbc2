#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "coordinator/policy/core/index.h"
#include "coordinator/policy/core/policy_test_util.h"

namespace headrace::coordinator {
namespace {

TEST(Utilization, CoresGoWhereTheyFreeMostGpuTime) {
  // Job 1 keeps a GPU busy with 8 cores, job 2 with 2. Of 4 cores job 2 gets 2.
  Snapshot s = Cluster(4);
  AddJobView(s, 800, 0.01);
  AddJobView(s, 200, 0.01);
  const Allocation a = DecideWith("utilization", s);
  EXPECT_NEAR(a.jobs[1].cores, 2, 1e-12);
  EXPECT_NEAR(a.jobs[0].cores, 2, 1e-12);
}

TEST(Utilization, AJobOfMoreGpusCountsForMore) {
  // 8 cores for 8 GPUs against 2 cores for one. Fair shares of 8 cores are 64/9 and 8/9. Half of that is
  // sure. The other 4 go by share * (GPUs a core)^2: 64 * 1 against 8 / 4.
  Snapshot s = Cluster(8);
  AddJobView(s, 200, 0.01).remaining_samples = 200 * 3600;
  AddJobView(s, 800, 0.01, 8).remaining_samples = 800 * 3600;
  const Allocation a = DecideWith("utilization", s);
  EXPECT_NEAR(a.jobs[0].cores, 4.0 / 9 + 4 * 2.0 / 66, 1e-9);
  EXPECT_NEAR(a.jobs[1].cores, 32.0 / 9 + 4 * 64.0 / 66, 1e-9);
}

// What is not known of one job's remaining work is taken from the others, so it is neither first nor last.
TEST(Utilization, UnknownWorkIsTheMeanOfTheOthers) {
  Snapshot s = Cluster(3);
  AddJobView(s, 300, 0.01).remaining_samples = 1e4;
  AddJobView(s, 300, 0.01).remaining_samples = 1e6;
  AddJobView(s, 300, 0.01);
  const Allocation a = DecideWith("utilization", s);
  s.jobs[2].remaining_samples = 1e5;
  const Allocation b = DecideWith("utilization", s);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(a.jobs[i].cores, b.jobs[i].cores, 1e-9);
  EXPECT_GT(a.jobs[0].cores, a.jobs[2].cores);
  EXPECT_GT(a.jobs[2].cores, a.jobs[1].cores);
}

// If only cores are scarce, the cores c maximise sum of (worth^2 * share * (c - floor))^(1/2), which is
// concave (index.h): no exchange of cores between two jobs makes it greater.
TEST(Utilization, NoExchangeIsBetter) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const auto real = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(rng);
    };
    Snapshot s = Cluster(real(1, 20));
    double gpus = 0;
    for (int i = 0; i < 8; ++i) {
      AddJobView(s, real(10, 1000), real(1e-4, 1e-2), 1 << (rng() % 4)).remaining_samples =
          real(1e4, 1e6);
      gpus += s.jobs.back().gpus;
    }
    const Allocation a = DecideWith("utilization", s);
    const auto share = [&](std::size_t i) { return s.supply.cores * s.jobs[i].gpus / gpus; };
    const auto floor = [&](std::size_t i) { return kFloorOfWorth * share(i); };
    const auto need = [&](std::size_t i) {
      return s.jobs[i].terms.ready_rate * s.jobs[i].terms.miss_cost;
    };
    // What another core would add.
    const auto gain = [&](std::size_t i) {
      const JobView& job = s.jobs[i];
      const double worth = job.gpus / (job.remaining_samples * job.terms.miss_cost);
      return worth * std::sqrt(share(i) / (a.jobs[i].cores - floor(i)));
    };
    for (std::size_t i = 0; i < s.jobs.size(); ++i) {
      EXPECT_GE(a.jobs[i].cores, std::min(need(i), floor(i)) * (1 - 1e-9));
      for (std::size_t j = 0; j < s.jobs.size(); ++j) {
        const bool i_can_give = a.jobs[i].cores > floor(i) * (1 + 1e-6);
        const bool j_wants_more = a.jobs[j].cores < need(j) * (1 - 1e-6);
        if (i_can_give && j_wants_more) {
          EXPECT_GE(gain(i), gain(j) * (1 - 1e-6));
        }
      }
    }
  }
}

// The cache goes to the data set that saves most of what is scarce. With a scarce source that is
// rate / size (SiloD), whatever the samples cost to decode.
TEST(Utilization, TheCacheFollowsWhatIsScarce) {
  Snapshot s = Cluster(1000);
  s.supply.cache_bytes = 1e9;
  s.supply.source_rate = 1e7;
  s.datasets = {{1e9, 0}, {4e9, 0}};
  s.jobs.reserve(2);
  JobView& small = AddJobView(s, 100, 0.001);
  small.dataset = 0;
  small.terms.miss_bytes = 1e5;  // 1e7 B/s over 1e9 B
  JobView& large = AddJobView(s, 200, 0.1);
  large.dataset = 1;
  large.terms.miss_bytes = 1e5;  // 2e7 B/s over 4e9 B, and far dearer to decode
  Allocation a = DecideWith("utilization", s);
  // Twice the value a byte: at least 2^6 times as large a part of it.
  EXPECT_GE(a.dataset_bytes[0], 1e9 * 64 / 68);
  // Now cores are scarce, and the source is not.
  s.supply = {kUnlimited, 4, 1e9, kUnlimited};
  a = DecideWith("utilization", s);
  EXPECT_NEAR(a.dataset_bytes[0], 0, 1);
  EXPECT_NEAR(a.dataset_bytes[1], 1e9, 1);
}

// One that is 0.2% better would have 1% more of the cache. What is cached is not moved for that.
TEST(Utilization, BytesDoNotMoveForADataSetThatIsHardlyBetter) {
  Snapshot s = Cluster(1);
  s.supply.cache_bytes = 1e9;
  s.datasets = {{1e9, 5e8}, {1e9, 5e8}};
  s.jobs.reserve(2);
  AddJobView(s, 100, 0.010).dataset = 0;
  AddJobView(s, 100.2, 0.010).dataset = 1;
  Allocation a = DecideWith("utilization", s);
  EXPECT_DOUBLE_EQ(a.dataset_bytes[0], 5e8);
  EXPECT_DOUBLE_EQ(a.dataset_bytes[1], 5e8);
  s.jobs[1].terms.ready_rate = 200;
  a = DecideWith("utilization", s);
  EXPECT_GE(a.dataset_bytes[1], 0.98e9);
}

// A trainer that takes four times as many samples a second makes four times as much of each cached byte.
// The other one came first, and all of its data is cached already.
// It needs a third of a core while the cache answers. That says nothing of how fast its trainer reads.
TEST(Utilization, WhoIsServedFromTheCacheDoesNotLoseItForHavingFewCores) {
  Snapshot s = Cluster(2);
  s.supply.source_rate = 12e6;
  s.supply.cache_bytes = 1e9;
  for (const double cached : {0.9e9, 0.1e9}) {
    Dataset& dataset = s.datasets.emplace_back();
    dataset.bytes = 1e9;
    dataset.cached_bytes = cached;
  }
  JobView& served = AddJobView(s, 900, 0.001);
  served.terms = {900, 0.0003, 0.001, 1e5};
  served.dataset = 0;
  served.effective_hit = 0.95;
  served.most_cores = 0.3;
  JobView& slow = AddJobView(s, 400, 0.001);
  slow.terms = {400, 0.0003, 0.001, 1e5};
  slow.dataset = 1;
  slow.most_cores = 0.5;
  const Allocation allocation = DecideWith("utilization", s);
  EXPECT_GE(allocation.dataset_bytes[0], 0.9e9);
  EXPECT_LE(allocation.dataset_bytes[1], 0.1e9);
}

TEST(Utilization, ACacheGoesToTheFasterTrainerThoughTheOtherWasFirst) {
  Snapshot s = Cluster(4);
  s.supply.cache_bytes = 402e6;
  s.supply.source_rate = 12e6;
  s.datasets = {{385e6, 358e6}, {385e6, 35e6}};
  s.jobs.reserve(2);
  for (const double rate : {264.0, 1030.0}) {
    JobView& job = AddJobView(s, rate, 0.00093);
    job.terms.hit_cost = 0.0002;
    job.terms.miss_bytes = 106e3;
    job.dataset = rate > 500 ? 1 : 0;
    job.effective_hit = rate > 500 ? 0.07 : 0.98;
    job.most_cores = rate > 500 ? 1.5 : 0.3;
  }
  const Allocation a = DecideWith("utilization", s);
  EXPECT_NEAR(a.dataset_bytes[1], 385e6, 2e6);
  EXPECT_NEAR(a.dataset_bytes[0], 17e6, 2e6);
}

// One of two jobs will need no source once its data is cached; it must read the data for that.
TEST(Utilization, TheSourceServesThoseWhoWillNotNeedIt) {
  Snapshot s = Cluster(1000);
  s.supply.cache_bytes = 1e9;
  s.supply.source_rate = 1e7;
  s.datasets = {{1e9, 0}};
  s.jobs.reserve(2);
  AddJobView(s, 200, 0.001).dataset = 0;
  AddJobView(s, 100, 0.001);
  for (JobView& job : s.jobs) {
    job.terms.miss_bytes = 1e5;
    job.remaining_samples = 3600 * job.terms.ready_rate;
  }
  // The other job makes more of a byte today, but keeps only its floor: half of an equal share of 1e7
  // bytes/s.
  const Allocation a = DecideWith("utilization", s);
  EXPECT_NEAR(a.jobs[0].rate, 75, 0.5);
  EXPECT_NEAR(a.jobs[1].rate, 25, 0.5);
  // Without room for its data it is the dearer one.
  s.supply.cache_bytes = 1e8;
  EXPECT_LT(DecideWith("utilization", s).jobs[0].rate, 40);
}

// Once all of it is cached, neither needs the source. Until then the job with more hits comes
// first: jobs that share their data stay together, and each reads what the others have not.
TEST(Utilization, OfJobsThatShareTheirDataTheOneAheadIsServedFirst) {
  Snapshot s = Cluster(1000);
  s.supply.cache_bytes = 1e9;
  s.supply.source_rate = 1e7;
  s.datasets = {{1e9, 5e8}};
  for (const double hit : {0.2, 0.6}) {
    JobView& job = AddJobView(s, 200, 0.001);
    job.dataset = 0;
    job.terms.miss_bytes = 1e5;
    job.effective_hit = hit;
    job.remaining_samples = 1e6;
  }
  const Allocation a = DecideWith("utilization", s);
  // Half of a share for sure: 2.5e6 bytes/s each, of 0.8 and 0.4 * 1e5 bytes a sample. The others go by
  // 2 for the share's samples * 2^2 for the price: the one that is ahead has four fifths of the bytes.
  EXPECT_NEAR(a.jobs[0].rate, 2.5e6 / 8e4 + 0.2 * 5e6 / 8e4, 0.01);
  EXPECT_NEAR(a.jobs[1].rate, 2.5e6 / 4e4 + 0.8 * 5e6 / 4e4, 0.01);
}

// A quota that shrinks counts at once, one that grows when the next epoch reads it.
TEST(Utilization, CoresFollowWhatTheCacheHoldsNow) {
  Snapshot s = Cluster(10);
  s.supply.cache_bytes = 1e9;
  s.datasets = {{1e9, 5e8}};
  JobView& job = AddJobView(s, 100, 0.01);
  job.dataset = 0;
  job.effective_hit = 0.5;
  EXPECT_NEAR(DecideWith("utilization", s).jobs[0].cores, 0.5 * (1 + kHeadroom), 1e-12);
  s.supply.cache_bytes = 2.5e8;
  EXPECT_NEAR(DecideWith("utilization", s).jobs[0].cores, 0.75 * (1 + kHeadroom), 1e-12);
}

}  // namespace
}  // namespace headrace::coordinator
