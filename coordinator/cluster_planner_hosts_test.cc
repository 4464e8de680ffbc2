// What the planner makes of caches on several hosts, and of the form in which samples are cached.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/check.h"
#include "coordinator/cluster_planner.h"
#include "coordinator/dataset_view.h"
#include "coordinator/describe_datasets.h"

namespace headrace::coordinator {
namespace {

constexpr std::int64_t kRows = 1000;
constexpr double kEntry = 600e3;

class PlannerHostsTest : public testing::Test {
 protected:
  PlannerHostsTest() {
    RegisterPolicies(policies_);
    rules_.policy = policies_.Find("utilization");
  }
  void Apply(const Update& update) {
    const Status applied = state_.Apply(update);
    HR_CHECK(applied.ok());
  }
  WorkerId AddPoolWorker(const std::string& host, double cache_bytes, int cores = 4) {
    AddWorker add;
    add.token = "worker-token-" + std::to_string(state_.next_worker().value);
    add.info.worker = state_.next_worker();
    add.info.endpoints = {"tcp://10.0.0.1:7"};
    add.info.cores = cores;
    add.info.host = {host, host, 0, 1};
    add.info.cache_bytes = static_cast<std::uint64_t>(cache_bytes);
    Apply(add);
    Tell(add.info.worker, {});
    return add.info.worker;
  }
  void Tell(WorkerId worker, std::vector<wire::JobUsage> usage) {
    wire::WorkerHeartbeat beat;
    beat.worker = worker;
    beat.usage = std::move(usage);
    Apply(ReportWorker{{}, std::move(beat)});
  }
  JobId AddReader(bool far = false, std::uint64_t bound = wire::kNoCacheBound) {
    AddJob add;
    add.job = state_.next_job();
    add.consumer = state_.next_consumer();
    add.token = "job-token-" + std::to_string(add.job.value);
    add.host = {"home", "home", 0, 1};
    add.cache_bytes = bound;
    Apply(add);
    AddSession session;
    session.job = add.job;
    session.session = SessionId(add.job.value);
    session.plan_name = "ImageFolder(/data/train)";
    session.split.cache_node = 1;
    session.dataset = 77;
    session.rows = kRows;
    session.far = far;
    session.everywhere = everywhere_;
    Apply(session);
    return add.job;
  }
  // A second in which `rate` samples were made at `cost` core-seconds, and half of it was waited for
  // reads of `fetch_s` each if `waits`.
  void Measure(JobId job, double rate, double cost, double fetch_s, bool waits) {
    const auto ns = [](double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); };
    wire::SessionLoad& load = loads_[job];
    load.session = SessionId(job.value);
    load.samples += static_cast<std::uint64_t>(rate);
    load.step_ns += ns(0.5);
    load.stall_ns += ns(0.5);
    (waits ? load.wait_source_ns : load.wait_compute_ns) += ns(0.5);
    load.miss_samples += static_cast<std::uint64_t>(rate);
    load.misses += static_cast<std::uint64_t>(rate);
    load.miss_cpu_ns += ns(rate * cost);
    load.source_ns += ns(rate * fetch_s);
    load.source_bytes += static_cast<std::uint64_t>(rate * 100e3);
    Apply(SeeConsumer{job, {}, {load}, true});
  }
  ClusterPlan Plan() {
    Apply(EndPeriod{});
    ClusterPlan plan = MakePlan(rules_, state_);
    for (const JobPlan& each : plan.jobs) {
      std::vector<WorkerId> workers;
      for (const auto& [id, grant] : each.grants) {
        if (grant.millicores > 0) workers.push_back(id);
      }
      Apply(SetLeases{each.job, state_.FindJob(each.job)->generation + 1, workers});
      Apply(SetGrants{each.job, each.grants, each.reason});
    }
    return plan;
  }
  // Until advice can be given.
  void MeasurePeriods(JobId job, double rate, double cost) {
    for (std::size_t period = 0; period <= RecentPeriods::kLeast; ++period) {
      Measure(job, rate, cost, 0, false);
      Plan();
    }
  }
  // Of `all` bytes on each of two workers, with slack, since owners are drawn.
  static double HalfOf(double all, double entry) {
    return all / 2 + 3 * std::sqrt(all / 2 * entry);
  }
  const DatasetView& View() {
    views_ = ViewDatasets(state_);
    return views_.at(77);
  }

  bool everywhere_ = false;  // the names of its samples hold on all hosts
  PolicyRegistry policies_;
  PlanRules rules_;
  State state_;
  std::map<JobId, wire::SessionLoad> loads_;
  std::map<std::uint64_t, DatasetView> views_;
};

TEST_F(PlannerHostsTest, EachHostIsGrantedItsOwnCopyWhereThereIsRoom) {
  rules_.lease_all = true;
  const WorkerId a = AddPoolWorker("a", 2e9), b = AddPoolWorker("b", 2e9);
  AddReader();
  Plan();
  const ClusterPlan plan = Plan();  // where its batches are made is known now
  const double all = kRows * kEntry * 1.05;
  EXPECT_NEAR(static_cast<double>(plan.jobs[0].grants.at(a).cache_bytes), all, 1);
  EXPECT_NEAR(static_cast<double>(plan.jobs[0].grants.at(b).cache_bytes), all, 1);
  EXPECT_NEAR(DescribeDatasets(state_, ViewDatasets(state_))[0].hit_when_full, 1, 1e-6);
}

TEST_F(PlannerHostsTest, WorkersOfOneHostAreGrantedOneCopyTogether) {
  rules_.lease_all = true;
  const WorkerId a = AddPoolWorker("a", 2e9), b = AddPoolWorker("a", 2e9);
  AddReader();
  Plan();
  const ClusterPlan plan = Plan();
  const double half = HalfOf(kRows * kEntry * 1.05, kEntry);
  EXPECT_NEAR(static_cast<double>(plan.jobs[0].grants.at(a).cache_bytes), half, 1);
  EXPECT_NEAR(static_cast<double>(plan.jobs[0].grants.at(b).cache_bytes), half, 1);
}

// Objects in stores, which take a while to read.
TEST_F(PlannerHostsTest, HostsAreGrantedOneCopyTogetherWhereNamesHoldEverywhere) {
  rules_.lease_all = everywhere_ = true;
  const WorkerId a = AddPoolWorker("a", 2e9), b = AddPoolWorker("b", 2e9);
  const JobId job = AddReader(true);
  Plan();
  Measure(job, 100, 5e-3, 50e-3, false);
  for (const WorkerId worker : {a, b}) {
    Tell(worker, {{.job = job, .cache_bytes = 50'000'000, .cache_entries = 100}});
  }
  ClusterPlan plan = Plan();
  const double half = HalfOf(View().bytes, View().size.bytes());
  const auto bytes = [&](WorkerId worker) {
    return static_cast<double>(plan.jobs[0].grants.at(worker).cache_bytes);
  };
  EXPECT_TRUE(plan.jobs[0].grants.at(a).wide);
  EXPECT_NEAR(bytes(a), half, 1);
  EXPECT_NEAR(bytes(b), half, 1);
  EXPECT_EQ(View().places.hosts().size(), 1U);
  EXPECT_NEAR(DescribeDatasets(state_, ViewDatasets(state_))[0].hit_when_full, 1, 1e-6);
}

TEST_F(PlannerHostsTest, EachHostHasItsOwnWhereItTakesLongerToAskAnother) {
  rules_.lease_all = everywhere_ = true;
  const WorkerId a = AddPoolWorker("a", 2e9);
  AddPoolWorker("b", 2e9);
  const JobId job = AddReader(true);
  EXPECT_TRUE(Plan().jobs[0].grants.at(a).wide) << "nothing is measured";
  Measure(job, 100, 0.1e-3, 0.05e-3, false);
  EXPECT_FALSE(Plan().jobs[0].grants.at(a).wide);
  EXPECT_EQ(View().places.hosts().size(), 2U);
}

// Where they are too small to be shared, each worker needs a copy of its own.
TEST_F(PlannerHostsTest, SmallSamplesAreGrantedToEachWorker) {
  rules_.lease_all = true;
  const WorkerId a = AddPoolWorker("a", 2e9), b = AddPoolWorker("a", 2e9);
  const JobId job = AddReader();
  wire::JobUsage held;
  held.job = job;
  held.cache_bytes = 10 * 5000;
  held.cache_entries = 10;
  Tell(a, {held});
  Plan();
  const ClusterPlan plan = Plan();
  EXPECT_NEAR(static_cast<double>(plan.jobs[0].grants.at(a).cache_bytes), kRows * 5000 * 1.05, 1);
  EXPECT_NEAR(static_cast<double>(plan.jobs[0].grants.at(b).cache_bytes), kRows * 5000 * 1.05, 1);
}

// Two hosts have half of the data each. A sum of bytes would say that all is cached.
TEST_F(PlannerHostsTest, AnEstimateCountsWhatEachHostHits) {
  rules_.lease_all = true;
  const double half = kRows * kEntry * 1.05 / 2;
  AddPoolWorker("a", half);
  AddPoolWorker("b", half);
  AddReader();
  Plan();
  Plan();
  const wire::DatasetStatus status = DescribeDatasets(state_, ViewDatasets(state_))[0];
  EXPECT_NEAR(status.hit_when_full, 0.5, 0.01);
  EXPECT_EQ(status.parts.size(), 2U);
  EXPECT_EQ(status.name, "ImageFolder(/data/train)");
  EXPECT_EQ(status.form, "decoded");
  EXPECT_EQ(status.phase, "filling");
}

// Memory is taken in chunks: of a few entries they are nearly empty.
TEST_F(PlannerHostsTest, WhatIsCachedOfADataSetIsItsEntriesWithoutTheRoomAroundThem) {
  rules_.lease_all = true;
  const WorkerId a = AddPoolWorker("a", 2e9);
  wire::JobUsage held;
  held.job = AddReader();
  held.cache_bytes = 1 << 24;
  held.cache_entries = 10;
  held.cache_entry_bytes = 10 * 300'000;
  Tell(a, {held});
  Plan();
  const wire::DatasetStatus status = DescribeDatasets(state_, ViewDatasets(state_))[0];
  ASSERT_EQ(status.parts.size(), 1U);
  EXPECT_EQ(status.parts[0].bytes, 10U * 300'000);
  EXPECT_EQ(status.bytes, static_cast<std::uint64_t>(kRows * 300'000 * 1.05));
}

TEST_F(PlannerHostsTest, ACachedJobGrowsOnItsHostFirst) {
  const WorkerId first = AddPoolWorker("a", 2e9, 2);
  const WorkerId small = AddPoolWorker("b", 2e9, 1), large = AddPoolWorker("a", 2e9, 8);
  const JobId job = AddReader();
  Apply(SetLeases{job, 1, {first}});
  wire::JobGrant grant;
  grant.job = job;
  grant.millicores = 2000;
  Apply(SetGrants{job, {{first, grant}}, ""});
  Measure(job, 100, 0.0135, 0, false);  // 2.97 cores
  const ClusterPlan plan = Plan();
  EXPECT_GT(plan.jobs[0].grants.at(large).millicores, 0U);
  EXPECT_FALSE(plan.jobs[0].grants.contains(small)) << "although it would be the closest fit";
}

// 50 ms to read 100 kB, 5 ms to decode them to 500 kB, and room for a fifth of the pixels.
class PlannerFormTest : public PlannerHostsTest {
 protected:
  static constexpr double kRoom = kRows * 100e3;
  bool Encoded(JobId job) {
    const Job& known = *state_.FindJob(job);
    return !known.grants.empty() && known.grants.begin()->second.cache_encoded;
  }
};

TEST_F(PlannerFormTest, ASlowSourceAndLittleRoomKeepEncodedBytes) {
  const WorkerId worker = AddPoolWorker("a", kRoom);
  const JobId job = AddReader(true);
  Plan();
  EXPECT_FALSE(Encoded(job)) << "nothing is measured";
  Measure(job, 100, 5e-3, 50e-3, true);
  ClusterPlan plan = Plan();
  EXPECT_TRUE(plan.jobs[0].grants.at(worker).cache_encoded);
  EXPECT_EQ(plan.jobs[0].grants.at(worker).cache_bytes, 0U) << "what is there goes first";
  Measure(job, 100, 5e-3, 50e-3, true);
  plan = Plan();
  EXPECT_TRUE(plan.jobs[0].grants.at(worker).cache_encoded);
  EXPECT_NEAR(static_cast<double>(plan.jobs[0].grants.at(worker).cache_bytes), kRoom, 1);
  // It holds when the trainer no longer waits for the source.
  for (int period = 0; period < 30; ++period) {
    Measure(job, 100, 5e-3, 50e-3, false);
    Plan();
    ASSERT_TRUE(Encoded(job));
    ASSERT_GT(state_.FindJob(job)->grants.at(worker).cache_bytes, 0U);
  }
  EXPECT_EQ(DescribeDatasets(state_, ViewDatasets(state_))[0].form, "encoded");
}

TEST_F(PlannerFormTest, JobsThatShareADataSetChooseAlike) {
  AddPoolWorker("a", kRoom);
  const JobId slow = AddReader(true), other = AddReader(true);
  for (int period = 0; period < 5; ++period) {
    Measure(slow, 100, 5e-3, 50e-3, true);
    Measure(other, 10, 5e-3, 50e-3, false);  // it waits for no source itself
    Plan();
  }
  EXPECT_TRUE(Encoded(slow));
  EXPECT_TRUE(Encoded(other));
}

TEST_F(PlannerFormTest, PixelsAreKeptWhereTheyFitOrTheSourceIsFastOrNear) {
  struct Case {
    const char* why;
    double room, fetch_s;
    bool far, waits;
  };
  for (const Case& each : {Case{"room for all pixels", 20 * kRoom, 50e-3, true, true},
                           Case{"a fast source", kRoom, 0.1e-3, true, true},
                           Case{"local files", kRoom, 50e-3, false, true},
                           Case{"it waits for cores", kRoom, 50e-3, true, false}}) {
    SCOPED_TRACE(each.why);
    state_ = State();
    loads_.clear();
    AddPoolWorker("a", each.room);
    const JobId job = AddReader(each.far);
    for (int period = 0; period < 5; ++period) {
      Measure(job, 100, 5e-3, each.fetch_s, each.waits);
      Plan();
      ASSERT_FALSE(Encoded(job));
    }
  }
}

// The finding of a review: a worker had 760 MB of empty cache, the job waited for decoding, and was
// advised to take more cores alone.
// Any host finds what any other keeps.
TEST_F(PlannerHostsTest, AJobWhoseHostsShareGrowsWhereItFits) {
  everywhere_ = true;
  const WorkerId first = AddPoolWorker("a", 2e9, 2);
  const WorkerId small = AddPoolWorker("b", 2e9, 1), large = AddPoolWorker("a", 2e9, 8);
  const JobId job = AddReader(true);
  Apply(SetLeases{job, 1, {first}});
  wire::JobGrant grant;
  grant.job = job;
  grant.millicores = 2000;
  Apply(SetGrants{job, {{first, grant}}, ""});
  Measure(job, 100, 0.0135, 50e-3, false);  // 2.97 cores
  const ClusterPlan plan = Plan();
  EXPECT_GT(plan.jobs[0].grants.at(small).millicores, 0U);
  EXPECT_EQ(plan.jobs[0].grants.at(large).millicores, 0U) << "it keeps samples and no more";
}

TEST_F(PlannerHostsTest, AJobWithoutABoundIsGrantedTheEmptyCache) {
  const WorkerId worker = AddPoolWorker("a", 760e6, 1);
  const JobId job = AddReader();
  Measure(job, 100, 0.05, 0, false);
  const ClusterPlan plan = Plan();
  EXPECT_NEAR(static_cast<double>(plan.jobs[0].grants.at(worker).cache_bytes), 525e6, 1)
      << "all of its data at five times 100 kB, with slack";
  const CacheOffer offer = CacheOfferOf(rules_, state_, *state_.FindJob(job), ViewDatasets(state_));
  EXPECT_DOUBLE_EQ(offer.granted, 525e6);
  EXPECT_NEAR(offer.free, 235e6, 1);
  EXPECT_FALSE(offer.own_bound);
}

TEST_F(PlannerHostsTest, AJobThatWantsNoCacheIsToldOfTheEmptyOne) {
  AddPoolWorker("a", 760e6, 1);
  const JobId job = AddReader(false, 0);
  MeasurePeriods(job, 100, 0.05);
  const Job& known = *state_.FindJob(job);
  const std::string advice = Advice(known.meter, known.granted_cores(),
                                    CacheOfferOf(rules_, state_, known, ViewDatasets(state_)));
  EXPECT_NE(advice.find("525 MB more of cache, which its workers have and its own --cache keeps it "
                        "from, would cut it to"),
            std::string::npos)
      << advice;
  EXPECT_LT(advice.find("of cache"), advice.find("more cores")) << advice;
}

// What keeps a job from an empty cache is named.
TEST_F(PlannerHostsTest, AJobThatItsTenantKeepsFromAnEmptyCacheIsToldSo) {
  AddPoolWorker("a", 760e6, 1);
  const JobId job = AddReader();
  rules_.tenants = {{"default", 1, Resources::Unlimited()}};
  rules_.tenants[0].quota.cache_bytes = 100e6;
  MeasurePeriods(job, 100, 0.05);
  const Job& known = *state_.FindJob(job);
  const auto advice = [&] {
    return Advice(known.meter, known.granted_cores(),
                  CacheOfferOf(rules_, state_, known, ViewDatasets(state_)));
  };
  EXPECT_NE(
      advice().find("425 MB more of cache, which its workers have and the cache quota of tenant "
                    "default keeps it from, would cut it to"),
      std::string::npos)
      << advice();
  rules_.tenants[0].quota.cache_bytes = 1e9;
  EXPECT_EQ(advice().find("keeps it from"), std::string::npos) << advice();
  const Job* const one = &known;
  rules_.dataset_bytes = {{CachedSession({&one, 1})->plan_name, 100e6}};
  EXPECT_NE(advice().find("the bound of its data set keeps it from"), std::string::npos)
      << advice();
}

}  // namespace
}  // namespace headrace::coordinator
