#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "coordinator/placement/placement.h"

namespace headrace::coordinator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

PlacementWorker Linked(std::int64_t id, int millicores, const std::string& host,
                       std::int64_t link = kNoLink, const std::string& rack = "") {
  PlacementWorker worker{WorkerId(id), millicores, host};
  worker.link = link;
  worker.rack = rack;
  return worker;
}
// A job that sends 1 kB/s for each of its millicores.
PlacementJob Sender(std::int64_t id, std::int64_t millicores, const std::string& host = "home") {
  PlacementJob job{JobId(id), millicores, 0, host, {}};
  job.bytes_per_millicore = 1000;
  return job;
}

TEST(PlacementLinks, NoMoreOfAHostThanItsLinkCarries) {
  const std::vector<PlacementWorker> workers = {Linked(1, 8000, "a", 2'000'000),
                                                Linked(2, 8000, "b", 3'000'000)};
  EXPECT_THAT(Place({Sender(1, 8000)}, workers)[0],
              ElementsAre(Pair(WorkerId(1), 2000), Pair(WorkerId(2), 3000)));
}

TEST(PlacementLinks, AllWorkersOfAHostShareItsLink) {
  const std::vector<PlacementWorker> workers = {Linked(1, 1500, "a", 2'000'000),
                                                Linked(2, 1500, "a", 2'000'000)};
  const auto leases = Place({Sender(1, 3000)}, workers);
  EXPECT_THAT(leases[0], ElementsAre(Pair(WorkerId(1), 1500), Pair(WorkerId(2), 500)));
}

TEST(PlacementLinks, TheTrainersLinkAndItsShareOfTheNetworkBind) {
  const std::vector<PlacementWorker> workers = {Linked(1, 8000, "a"), Linked(2, 8000, "b")};
  PlacementJob narrow = Sender(1, 6000, "x"), share = Sender(2, 6000, "y");
  narrow.link = 1'000'000;
  share.most_bytes = 500'000;
  const auto leases = Place({narrow, share}, workers);
  EXPECT_THAT(leases[0], ElementsAre(Pair(WorkerId(1), 1000)));
  EXPECT_THAT(leases[1], ElementsAre(Pair(WorkerId(1), 500)));
}

TEST(PlacementLinks, WhatATenantSaysOfALinkBindsItAlone) {
  const std::vector<PlacementWorker> workers = {Linked(1, 9000, "a")};
  PlacementJob one = Sender(1, 3000), two = Sender(2, 3000), other = Sender(3, 3000);
  one.tenant = two.tenant = "t";
  one.said_link = two.said_link = 4'000'000;
  const auto leases = Place({one, two, other}, workers);
  EXPECT_THAT(leases[0], ElementsAre(Pair(WorkerId(1), 3000)));
  EXPECT_THAT(leases[1], ElementsAre(Pair(WorkerId(1), 1000)));
  EXPECT_THAT(leases[2], ElementsAre(Pair(WorkerId(1), 3000)));
}

TEST(PlacementLinks, TheOwnHostsCoresCrossNothing) {
  std::vector<PlacementWorker> workers = {Linked(1, 4000, "home", 1'000'000),
                                          Linked(2, 4000, "home", 1'000'000)};
  workers[1].local = true;
  PlacementJob job = Sender(1, 8000);
  job.link = 1;
  job.most_bytes = 0;
  EXPECT_THAT(Place({job}, workers)[0],
              ElementsAre(Pair(WorkerId(1), 4000), Pair(WorkerId(2), 4000)));
}

TEST(PlacementLinks, OwnHostThenOwnRackThenTheRest) {
  const std::vector<PlacementWorker> workers = {
      Linked(1, 1500, "far", kNoLink, "east"), Linked(2, 1000, "near", kNoLink, "west"),
      Linked(3, 1000, "home", kNoLink, "west"), Linked(4, 4000, "unknown")};
  PlacementJob job = Sender(1, 1000);
  job.rack = "west";
  EXPECT_THAT(Place({job}, workers)[0], ElementsAre(Pair(WorkerId(3), 1000)));
  job.millicores = 1500;
  EXPECT_THAT(Place({job}, workers)[0],
              ElementsAre(Pair(WorkerId(2), 500), Pair(WorkerId(3), 1000)));
  job.millicores = 2500;
  EXPECT_THAT(Place({job}, workers)[0], ElementsAre(Pair(WorkerId(1), 500), Pair(WorkerId(2), 1000),
                                                    Pair(WorkerId(3), 1000)));
  // Whoever gets a least lease alone has it in its rack, too.
  job.host = "elsewhere";
  job.millicores = kLeastMillicores;
  std::vector<PlacementWorker> taken = {workers[0], workers[1]};
  taken[0].millicores = taken[1].millicores = 0;
  EXPECT_THAT(Place({job}, taken)[0], ElementsAre(Pair(WorkerId(2), kLeastMillicores)));
}

TEST(PlacementLinks, AmongEqualsTheOneWhoseLinkCarriesIt) {
  const std::vector<PlacementWorker> workers = {Linked(1, 4000, "a", 500'000),
                                                Linked(2, 4000, "b", 5'000'000)};
  EXPECT_THAT(Place({Sender(1, 3000)}, workers)[0], ElementsAre(Pair(WorkerId(2), 3000)));
}

// Cached samples cost little and are as large: ten links of 21 millicores carry what one does not.
TEST(PlacementLinks, ALinkMayMakeALeaseSmallerThanTheLeast) {
  std::vector<PlacementWorker> workers;
  for (int i = 0; i < 12; ++i) {
    workers.push_back(Linked(i + 1, 4000, "host" + std::to_string(i), 21'999));
  }
  PlacementJob job = Sender(1, 200);
  auto leases = Place({job}, workers);
  EXPECT_THAT(leases[0], SizeIs(10));
  for (const auto& [id, millicores] : leases[0]) EXPECT_LE(millicores, 21);
  for (const auto& [id, millicores] : leases[0]) job.held[id].millicores = millicores;
  EXPECT_EQ(Place({job}, workers), leases) << "and it stays";
  job.lanes_stay = true;
  EXPECT_EQ(Place({job}, workers), leases);
}

// A job of which not a millicore fits a link passes it over, and does not spoil it for others.
TEST(PlacementLinks, WhatALinkCannotCarryLeavesItToOthers) {
  const std::vector<PlacementWorker> workers = {Linked(1, 1000, "a", 900),
                                                Linked(2, 2000, "b", 10'000'000)};
  PlacementJob light = Sender(2, 1000);
  light.bytes_per_millicore = 1;
  const auto leases = Place({Sender(1, 1000), light}, workers);
  EXPECT_THAT(leases[0], ElementsAre(Pair(WorkerId(2), 1000)));
  EXPECT_THAT(leases[1], ElementsAre(Pair(WorkerId(2), 1000))) << "carried whole";
  EXPECT_THAT(Place({Sender(1, 2000), light}, workers)[1], ElementsAre(Pair(WorkerId(1), 900)));
}

// However many links others have filled, the one with room is found.
TEST(PlacementLinks, FullLinksAreOutOfTheWay) {
  std::vector<PlacementWorker> workers;
  for (int i = 0; i < 200; ++i) {
    workers.push_back(Linked(i + 1, 8000, "host" + std::to_string(i), 1'000'000));
  }
  workers.push_back(Linked(201, 500, "wide"));
  PlacementJob first = Sender(1, 200'000);
  first.most_bytes = 200'000'000;
  const auto leases = Place({first, Sender(2, 7000)}, workers);
  EXPECT_THAT(leases[0], SizeIs(200));
  EXPECT_THAT(leases[1], ElementsAre(Pair(WorkerId(201), 500)));
}

TEST(PlacementLinks, NobodyStandsStill) {
  PlacementJob job = Sender(1, 1000);
  job.most_bytes = 0;
  EXPECT_THAT(Place({job}, {Linked(1, 4000, "a", 1)})[0],
              ElementsAre(Pair(WorkerId(1), kLeastMillicores)));
  job.millicores = 0;
  EXPECT_THAT(Place({job}, {Linked(1, 4000, "a", 1)})[0], IsEmpty());
}

// Jobs, hosts with several workers, and links that carry a part of what the cores make.
struct LinkedCluster {
  std::mt19937 rng;
  std::vector<PlacementJob> jobs;
  std::vector<PlacementWorker> workers;

  std::int64_t Draw(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(rng);
  }
  explicit LinkedCluster(unsigned seed) : rng(seed) {
    const std::int64_t hosts = 2 + Draw(6), count = 2 + Draw(10);
    std::vector<std::int64_t> links;
    for (std::int64_t h = 0; h < hosts; ++h) {
      links.push_back(Draw(3) == 0 ? kNoLink : 100'000 + Draw(8'000'000));
    }
    for (std::int64_t w = 0; w < count; ++w) {
      const std::int64_t h = Draw(hosts - 1);
      workers.push_back(Linked(w + 1, static_cast<int>(500 + Draw(7500)), "h" + std::to_string(h),
                               links[static_cast<std::size_t>(h)], "r" + std::to_string(h % 2)));
      workers.back().local = Draw(7) == 0;
    }
    for (std::int64_t j = 0; j < 1 + Draw(7); ++j) {
      const std::int64_t h = Draw(hosts - 1);
      PlacementJob job = Sender(j + 1, kLeastMillicores + Draw(8000), "h" + std::to_string(h));
      job.bytes_per_millicore = Draw(4) == 0 ? 0 : 1 + Draw(3000);
      job.link = links[static_cast<std::size_t>(h)];
      if (Draw(2) == 0) job.most_bytes = Draw(4'000'000);
      job.wanted = job.millicores;
      job.rack = "r" + std::to_string(h % 2);
      job.lanes_stay = Draw(5) == 0;
      job.caches = Draw(1) == 0;
      jobs.push_back(job);
    }
  }
  void Keep(const std::vector<Leases>& leases) {
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      jobs[j].held.clear();
      for (const auto& [id, millicores] : leases[j]) {
        jobs[j].held[id] = {millicores, Draw(3) == 0};
      }
    }
  }
  const PlacementWorker& At(WorkerId id) const {
    return workers[static_cast<std::size_t>(id.value - 1)];
  }
};

TEST(PlacementLinks, SumsStayWithinEachLinkEachWay) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    LinkedCluster cluster(seed);
    for (int round = 0; round < 6; ++round) {
      const auto leases = Place(cluster.jobs, cluster.workers);
      std::map<std::string, std::int64_t> out, in, link;
      for (const PlacementWorker& worker : cluster.workers) link[worker.host] = worker.link;
      for (std::size_t j = 0; j < cluster.jobs.size(); ++j) {
        const PlacementJob& job = cluster.jobs[j];
        std::int64_t sent = 0;
        for (const auto& [id, millicores] : leases[j]) {
          const PlacementWorker& worker = cluster.At(id);
          if (worker.host == job.host || millicores == kLeastMillicores) continue;
          const std::int64_t bytes = millicores * job.bytes_per_millicore;
          sent += bytes;
          out[worker.host] += bytes;
          in[job.host] += bytes;
        }
        EXPECT_LE(sent, job.most_bytes);
        EXPECT_TRUE(sent == 0 || in[job.host] <= job.link);
      }
      for (const auto& [host, bytes] : out) EXPECT_LE(bytes, link[host]) << host;
      cluster.Keep(leases);
      for (PlacementJob& job : cluster.jobs) {
        job.millicores = job.wanted = kLeastMillicores + cluster.Draw(8000);
      }
    }
  }
}

TEST(PlacementLinks, WhatHoldsStays) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    LinkedCluster cluster(seed);
    for (int round = 0; round < 2; ++round) cluster.Keep(Place(cluster.jobs, cluster.workers));
    const auto leases = Place(cluster.jobs, cluster.workers);
    cluster.Keep(leases);
    EXPECT_EQ(Place(cluster.jobs, cluster.workers), leases);
  }
}

// A job without enough has taken all of its own host, and all that links carry from others.
TEST(PlacementLinks, NothingIsLeftThatALinkCarries) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    LinkedCluster cluster(seed);
    for (PlacementJob& job : cluster.jobs) job.lanes_stay = false;
    const auto leases = Place(cluster.jobs, cluster.workers);
    std::map<WorkerId, std::int64_t> used;
    std::map<std::string, std::int64_t> out, in;
    std::vector<std::int64_t> sent(cluster.jobs.size(), 0);
    for (std::size_t j = 0; j < leases.size(); ++j) {
      for (const auto& [id, millicores] : leases[j]) {
        used[id] += millicores;
        const PlacementWorker& worker = cluster.At(id);
        if (worker.host == cluster.jobs[j].host) continue;
        const std::int64_t bytes = millicores * cluster.jobs[j].bytes_per_millicore;
        sent[j] += bytes;
        out[worker.host] += bytes;
        in[cluster.jobs[j].host] += bytes;
      }
    }
    for (std::size_t j = 0; j < leases.size(); ++j) {
      const PlacementJob& job = cluster.jobs[j];
      std::int64_t sum = 0;
      for (const auto& [id, millicores] : leases[j]) sum += millicores;
      if (job.millicores - sum < kLeastMillicores) continue;
      for (const PlacementWorker& worker : cluster.workers) {
        if (worker.millicores - used[worker.worker] < kLeastMillicores) continue;
        if (!MayUse(job, worker)) continue;
        EXPECT_NE(worker.host, job.host) << "its own host comes first";
        const auto room = [&](std::int64_t all, std::int64_t taken) {
          return all == kNoLink ? kNoLink : all - taken;
        };
        const auto full = [](std::int64_t all, std::int64_t left) {
          return all != kNoLink && left < all / 20 + 1;
        };
        const std::int64_t left_out = room(worker.link, out[worker.host]);
        const std::int64_t left_in = room(job.link, in[job.host]);
        const std::int64_t left = room(job.most_bytes, sent[j]);
        const std::int64_t least = kLeastMillicores * job.bytes_per_millicore;
        EXPECT_TRUE(full(worker.link, left_out) ||
                    (job.bytes_per_millicore > 0 &&
                     ((full(job.link, left_in) && left_in < least) ||
                      (full(job.most_bytes, left) && left < least) ||
                      std::min({left_out, left_in, left}) < job.bytes_per_millicore)))
            << "worker " << worker.worker.value << " for job " << job.job.value;
      }
    }
  }
}

// A wider link is never of less use to a job that is alone.
TEST(PlacementLinks, AWiderLinkCarriesNoLess) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    LinkedCluster cluster(seed);
    cluster.jobs.resize(1);
    const auto sum = [&] {
      const auto leases = Place(cluster.jobs, cluster.workers);
      std::int64_t all = 0;
      for (const auto& [id, millicores] : leases[0]) all += millicores;
      return all;
    };
    const std::int64_t before = sum();
    for (PlacementWorker& worker : cluster.workers) {
      if (worker.link != kNoLink) worker.link *= 2;
    }
    EXPECT_GE(sum(), before - kLeastMillicores);
  }
}

}  // namespace
}  // namespace headrace::coordinator
