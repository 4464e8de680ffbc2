#include "coordinator/placement/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace headrace::coordinator {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::vector<PlacementWorker> Workers(std::vector<std::pair<int, std::string>> each) {
  std::vector<PlacementWorker> workers;
  for (const auto& [millicores, host] : each) {
    workers.push_back({WorkerId(static_cast<std::int64_t>(workers.size()) + 1), millicores, host});
  }
  return workers;
}

TEST(Placement, OwnHostFirstThenThePool) {
  const auto workers = Workers({{4000, "pool"}, {2000, "home"}, {4000, "pool"}});
  const auto leases = Place({{JobId(1), 5000, 0, "home", {}}}, workers);
  // 2 cores at home; from the pool, the smallest that covers the other 3.
  EXPECT_THAT(leases[0], ElementsAre(Pair(WorkerId(1), 3000), Pair(WorkerId(2), 2000)));
}

TEST(Placement, AWorkerThatOtherHostsDoNotReachServesItsOwn) {
  auto workers = Workers({{4000, "a"}, {2000, "b"}});
  workers[0].home_only = true;
  workers[0].uid = 7;  // of another user
  const std::vector<PlacementJob> jobs = {
      {JobId(1), 3000, 0, "a", {}},
      {JobId(2), 3000, 0, "b", {{WorkerId(1), {1000, true}}}},
      {JobId(3), 1000, 0, "c", {{WorkerId(1), {1000, true}}}, 0, 0, true},
  };
  const auto leases = Place(jobs, workers);
  EXPECT_THAT(leases[0], ElementsAre(Pair(WorkerId(1), 3000)));
  EXPECT_THAT(leases[1], ElementsAre(Pair(WorkerId(2), 2000)));
  EXPECT_THAT(leases[2], ElementsAre(Pair(WorkerId(2), kLeastMillicores)));
}

TEST(Placement, AGuestLeavesTheCoresOfAnothersHost) {
  const auto workers = Workers({{2000, "a"}, {2000, "pool"}});
  const std::vector<PlacementJob> jobs = {
      {JobId(1), 2000, 0, "b", {{WorkerId(1), {2000, false}}}},
      {JobId(2), 1500, 0, "a", {}},
  };
  const auto leases = Place(jobs, workers);
  EXPECT_THAT(leases[1], ElementsAre(Pair(WorkerId(1), 1500)));
  EXPECT_THAT(leases[0], ElementsAre(Pair(WorkerId(1), 500), Pair(WorkerId(2), 1500)));
}

TEST(Placement, ShrinkingGivesUpTheSmallLeases) {
  const auto workers = Workers({{2000, "x"}, {2000, "x"}, {2000, "x"}});
  const std::vector<PlacementJob> jobs = {
      {JobId(1),
       2500,
       0,
       "home",
       {{WorkerId(1), {700, false}}, {WorkerId(2), {2000, false}}, {WorkerId(3), {1000, false}}}}};
  EXPECT_THAT(Place(jobs, workers)[0],
              ElementsAre(Pair(WorkerId(2), 2000), Pair(WorkerId(3), 500)));
}

TEST(Placement, ACacheKeepsALeastLease) {
  const auto workers = Workers({{2000, "x"}, {2000, "x"}});
  const std::vector<PlacementJob> jobs = {
      {JobId(1), 500, 0, "home", {{WorkerId(1), {900, true}}, {WorkerId(2), {800, true}}}}};
  EXPECT_THAT(Place(jobs, workers)[0],
              ElementsAre(Pair(WorkerId(1), 500), Pair(WorkerId(2), kLeastMillicores)));
}

PlacementJob WithLanes(std::int32_t millicores, std::map<WorkerId, HeldLease> held,
                       const std::string& host = "home") {
  PlacementJob job{JobId(1), millicores, 0, host, std::move(held)};
  job.lanes_stay = true;
  return job;
}

TEST(Placement, LanesKeepTheirWorkersAtASmallerShareOfEach) {
  const auto workers = Workers({{2000, "x"}, {2000, "x"}, {2000, "x"}});
  EXPECT_THAT(
      Place({WithLanes(1050, {{WorkerId(1), {650}}, {WorkerId(2), {1850}}, {WorkerId(3), {650}}})},
            workers)[0],
      ElementsAre(Pair(WorkerId(1), 230), Pair(WorkerId(2), 590), Pair(WorkerId(3), 230)));
  // Less than the least lease for each.
  EXPECT_THAT(
      Place({WithLanes(50, {{WorkerId(1), {650}}, {WorkerId(3), {650}}})}, workers)[0],
      ElementsAre(Pair(WorkerId(1), kLeastMillicores), Pair(WorkerId(3), kLeastMillicores)));
}

TEST(Placement, LanesOnAnothersHostStay) {
  const auto workers = Workers({{2000, "a"}, {2000, "pool"}});
  const PlacementJob owner{JobId(2), 1500, 0, "a", {}};
  const auto leases = Place({WithLanes(2000, {{WorkerId(1), {2000}}}, "b"), owner}, workers);
  EXPECT_THAT(leases[0], ElementsAre(Pair(WorkerId(1), 2000)));
  EXPECT_THAT(leases[1], ElementsAre(Pair(WorkerId(2), 1500)));
}

TEST(Placement, LanesGoWithTheirWorkerAlone) {
  const auto workers = Workers({{2000, "x"}, {2000, "x"}});
  EXPECT_THAT(Place({WithLanes(1500, {{WorkerId(2), {700}}, {WorkerId(9), {800}}})}, workers)[0],
              ElementsAre(Pair(WorkerId(2), 1500)));
  EXPECT_TRUE(Place({WithLanes(0, {{WorkerId(2), {700}}})}, workers)[0].empty());
}

TEST(Placement, LanesStayWhereTheSharesAreForgotten) {
  const auto workers = Workers({{2000, "x"}, {2000, "x"}, {4000, "x"}});
  EXPECT_THAT(Place({WithLanes(1000, {{WorkerId(1), {}}, {WorkerId(2), {}}})}, workers)[0],
              ElementsAre(Pair(WorkerId(1), 500), Pair(WorkerId(2), 500)));
}

TEST(Placement, NobodyIsWithoutALease) {
  const auto workers = Workers({{1000, "x"}});
  const std::vector<PlacementJob> jobs = {{JobId(1), 1000, 0, "h", {}},
                                          {JobId(2), 300, 0, "h", {}}};
  const auto leases = Place(jobs, workers);
  EXPECT_THAT(leases[0], ElementsAre(Pair(WorkerId(1), 1000)));
  EXPECT_THAT(leases[1], ElementsAre(Pair(WorkerId(1), kLeastMillicores)));
}

TEST(Placement, AJobWithoutAGrantHoldsNothing) {
  const auto workers = Workers({{1000, "x"}});
  EXPECT_TRUE(Place({{JobId(1), 0, 0, "x", {{WorkerId(1), {500, true}}}}}, workers)[0].empty());
}

TEST(Placement, AsFewWorkersAsTheJobAllows) {
  const auto workers = Workers({{1000, "x"}, {1000, "x"}, {1000, "x"}});
  EXPECT_EQ(Place({{JobId(1), 3000, 2, "h", {}}}, workers)[0].size(), 2u);
}

TEST(Placement, ALocalWorkerServesItsOwnHostAndUserAlone) {
  std::vector<PlacementWorker> workers = Workers({{4000, "a"}, {1000, "pool"}});
  workers[0].local = true;
  workers[0].uid = 7;
  std::vector<PlacementJob> jobs = {{JobId(1), 3000, 0, "b", {}}, {JobId(2), 3000, 0, "a", {}}};
  jobs[0].held[WorkerId(1)] = {3000, true};
  auto leases = Place(jobs, workers);
  EXPECT_THAT(leases[0], ElementsAre(Pair(WorkerId(2), 1000)));
  EXPECT_THAT(leases[1], ElementsAre(Pair(WorkerId(2), kLeastMillicores)));  // another user
  jobs[1].uid = 7;
  leases = Place(jobs, workers);
  EXPECT_THAT(leases[0], ElementsAre(Pair(WorkerId(2), 1000)));
  EXPECT_THAT(leases[1], ElementsAre(Pair(WorkerId(1), 3000)));
  EXPECT_TRUE(Place({jobs[0]}, {workers[0]})[0].empty());
}

TEST(Placement, WhatIsLeftOfALocalWorkerIsItsHostsOwn) {
  // The policy gave most of the cores to the first job, which can't use those on the other's host.
  std::vector<PlacementWorker> workers = Workers({{2000, "a"}, {2000, "b"}, {1000, "pool"}});
  workers[0].local = workers[1].local = true;
  std::vector<PlacementJob> jobs = {{JobId(1), 4500, 0, "a", {}}, {JobId(2), 500, 0, "b", {}}};
  jobs[0].wanted = 6000;
  jobs[1].wanted = 1700;
  const auto leases = Place(jobs, workers);
  EXPECT_THAT(leases[0], ElementsAre(Pair(WorkerId(1), 2000), Pair(WorkerId(3), 1000)));
  EXPECT_THAT(leases[1], ElementsAre(Pair(WorkerId(2), 1700)));
}

TEST(Placement, AJobMayHoldAVeryLargeCluster) {
  // 4 workers of 1,000,000 cores: more millicores than 32 bits can count.
  const auto workers = Workers(
      {{1'000'000'000, "x"}, {1'000'000'000, "x"}, {1'000'000'000, "x"}, {1'000'000'000, "x"}});
  const auto leases = Place({{JobId(1), std::int64_t{3'500'000'000}, 0, "h", {}}}, workers);
  std::int64_t sum = 0;
  for (const auto& [id, millicores] : leases[0]) sum += millicores;
  EXPECT_EQ(sum, 3'500'000'000);
}

class Cluster {
 public:
  explicit Cluster(unsigned seed) : rng_(seed) {
    for (int i = 0, n = 1 + Pick(12); i < n; ++i) {
      workers.push_back({WorkerId(i + 1), 500 * (1 + Pick(8)), "host" + std::to_string(Pick(4))});
      workers.back().local = Pick(4) == 0;
      workers.back().uid = static_cast<std::uint32_t>(Pick(2));
    }
    for (int i = 0, n = 1 + Pick(8); i < n; ++i) {
      jobs.push_back({JobId(i + 1),
                      Pick(5) == 0 ? 0 : Pick(6000),
                      Pick(4) == 0 ? 1 + Pick(3) : 0,
                      "host" + std::to_string(Pick(5)),
                      {}});
      jobs.back().wanted = jobs.back().millicores * Pick(4) / 2;
      jobs.back().uid = static_cast<std::uint32_t>(Pick(2));
      jobs.back().lanes_stay = Pick(3) == 0;
    }
  }
  // True if no worker may serve it.
  [[nodiscard]] bool Unreachable(const PlacementJob& job) const {
    return std::ranges::all_of(workers, [&](const PlacementWorker& worker) {
      return worker.local && (worker.host != job.host || worker.uid != job.uid);
    });
  }
  int Pick(int n) { return static_cast<int>(rng_() % static_cast<unsigned>(n)); }
  void Hold(const std::vector<Leases>& leases) {
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      jobs[j].held.clear();
      for (const auto& [id, millicores] : leases[j]) jobs[j].held[id] = {millicores, Pick(3) == 0};
    }
  }
  std::vector<PlacementJob> jobs;
  std::vector<PlacementWorker> workers;

 private:
  std::mt19937 rng_;
};

TEST(Placement, KeepsEveryLimitAndPlacesAllItCan) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Cluster cluster(seed);
    for (int round = 0; round < 3; ++round) {
      const auto leases = Place(cluster.jobs, cluster.workers);
      std::map<WorkerId, std::int32_t> used;
      std::map<WorkerId, int> least;
      std::int64_t missing = 0, free = 0;
      for (std::size_t j = 0; j < cluster.jobs.size(); ++j) {
        const PlacementJob& job = cluster.jobs[j];
        std::int64_t sum = 0;
        std::int64_t local = 0;
        for (const auto& [id, millicores] : leases[j]) {
          EXPECT_GT(millicores, 0);
          const PlacementWorker& on = cluster.workers[static_cast<std::size_t>(id.value) - 1];
          if (on.local) {
            EXPECT_EQ(on.host, job.host);
            EXPECT_EQ(on.uid, job.uid);
            local += millicores;
          }
          sum += millicores;
          used[id] += millicores;
          if (millicores == kLeastMillicores) ++least[id];
        }
        if (job.millicores == 0) {
          EXPECT_TRUE(leases[j].empty());
          continue;
        }
        EXPECT_TRUE(!leases[j].empty() || cluster.Unreachable(job));
        EXPECT_LE(sum - local, job.millicores + kLeastMillicores * 12);
        EXPECT_LE(sum, std::max(job.millicores, job.wanted) + kLeastMillicores * 12);
        if (job.most_workers > 0) {
          EXPECT_LE(leases[j].size(), static_cast<std::size_t>(job.most_workers));
        } else {
          missing += std::max<std::int64_t>(0, job.millicores - sum - kLeastMillicores);
        }
      }
      for (const PlacementWorker& worker : cluster.workers) {
        EXPECT_LE(used[worker.worker], worker.millicores + kLeastMillicores * least[worker.worker]);
        if (!worker.local) free += std::max(0, worker.millicores - used[worker.worker]);
      }
      // A job lacks something only if nothing is free (a lease is never tiny).
      if (missing > 0) {
        EXPECT_LT(free, kLeastMillicores * static_cast<std::int64_t>(cluster.workers.size()));
      }
      cluster.Hold(leases);
    }
  }
}

TEST(Placement, LanesStayWhateverIsGranted) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Cluster cluster(seed);
    for (PlacementJob& job : cluster.jobs) job.most_workers = 0;
    for (int round = 0; round < 10; ++round) {
      const auto leases = Place(cluster.jobs, cluster.workers);
      for (std::size_t j = 0; j < cluster.jobs.size(); ++j) {
        if (!cluster.jobs[j].lanes_stay || cluster.jobs[j].millicores == 0) continue;
        for (const auto& [id, held] : cluster.jobs[j].held) EXPECT_TRUE(leases[j].contains(id));
      }
      cluster.Hold(leases);
      for (PlacementJob& job : cluster.jobs) job.millicores = cluster.Pick(6000);
    }
  }
}

TEST(Placement, WhatHoldsStays) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Cluster cluster(seed);
    auto leases = Place(cluster.jobs, cluster.workers);
    cluster.Hold(leases);
    leases = Place(cluster.jobs, cluster.workers);
    cluster.Hold(leases);
    EXPECT_EQ(Place(cluster.jobs, cluster.workers), leases);
  }
}

// A coordinator that has just begun knows which jobs are where, but not with how much.
TEST(Placement, WhoHoldsStaysWhereTheSharesAreForgotten) {
  int held = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Cluster cluster(seed);
    for (int round = 0; round < 5; ++round) {
      cluster.Hold(Place(cluster.jobs, cluster.workers));
      for (PlacementJob& job : cluster.jobs) job.millicores = job.wanted = cluster.Pick(6000);
    }
    cluster.Hold(Place(cluster.jobs, cluster.workers));
    for (PlacementJob& job : cluster.jobs) {
      for (auto& [id, lease] : job.held) lease = {0, false};
    }
    const auto leases = Place(cluster.jobs, cluster.workers);
    for (std::size_t j = 0; j < cluster.jobs.size(); ++j) {
      if (cluster.jobs[j].millicores == 0 || cluster.jobs[j].most_workers > 0) continue;
      for (const auto& [id, lease] : cluster.jobs[j].held) {
        EXPECT_TRUE(leases[j].contains(id));
        ++held;
      }
    }
  }
  EXPECT_GT(held, 3000);
}

}  // namespace
}  // namespace headrace::coordinator
