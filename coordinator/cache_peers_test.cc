#include "coordinator/cache_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/pass/pass.h"
#include "coordinator/step_test_util.h"

namespace headrace::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CachePeersTest : public testing::Test {
 protected:
  CachePeersTest() { cluster_.rules.plan.lease_all = true; }

  wire::WorkerInfo Info(std::uint64_t cache_bytes = 1'000'000) const {
    wire::WorkerInfo info;
    info.endpoints = {"tcp://10.0.0.1:7000"};
    info.host = {"node1", "boot1", 1000, 6};
    info.cores = 4;
    info.version = cluster_.version;
    info.cache_bytes = cache_bytes;
    return info;
  }
  WorkerId Register(const std::string& token, wire::WorkerInfo info) {
    info.endpoints = {"tcp://10.0.0.1:7" + std::to_string(100 + tokens_.size())};
    wire::RegisterWorker m{.token = token, .info = std::move(info)};
    const WorkerId id = cluster_.Ask<wire::WorkerRegistered>(m).worker;
    tokens_[id] = token;
    return id;
  }
  JobId OpenJob(const std::string& token, std::uint64_t cache_bytes = wire::kNoCacheBound,
                std::int32_t wanted = 0) {
    wire::OpenJob open;
    open.token = token;
    open.name = "train.py";
    open.host = {"node1", "boot1", 1000, 5};
    open.version = cluster_.version;
    open.cache_bytes = cache_bytes;
    open.wanted_workers = wanted;
    const JobId job = cluster_.Ask<wire::JobOpened>(open).job;
    wire::OpenSession session;
    session.job = job;
    session.session = SessionId(job.value + 100);
    session.plan = SmallPlan();
    session.plan.leaves[0].rows = 100'000;
    cluster_.Send(session);
    return job;
  }
  // The peers that the coordinator tells a worker of, for the first job.
  std::vector<WorkerId> PeersOf(WorkerId worker) {
    std::vector<WorkerId> peers;
    for (const wire::CachePeer& peer : Grant(cluster_.Heartbeat(worker)).peers) {
      peers.push_back(peer.worker);
    }
    return peers;
  }
  static wire::JobGrant Grant(const wire::WorkerDirective& directive) {
    return directive.grants.empty() ? wire::JobGrant{} : directive.grants.front();
  }

  Cluster cluster_;
  std::map<WorkerId, std::string> tokens_;
};

TEST_F(CachePeersTest, AreTheOtherWorkersOfTheJobOnTheHost) {
  const WorkerId a = Register("worker token a", Info()),
                 b = Register("worker token b", Info(500'000)),
                 c = Register("worker token c", Info());
  const JobId job = OpenJob("job token");
  const wire::JobGrant grant = Grant(cluster_.Heartbeat(a));
  EXPECT_EQ(grant.cache_bytes, 1'000'000U);
  ASSERT_EQ(grant.peers.size(), 2U);
  EXPECT_EQ(grant.peers[0],
            (wire::CachePeer{b, "tcp://10.0.0.1:7101", 500'000, PeerPassOf(tokens_[b], job, a)}));
  EXPECT_EQ(grant.peers[1],
            (wire::CachePeer{c, "tcp://10.0.0.1:7102", 1'000'000, PeerPassOf(tokens_[c], job, a)}));
  EXPECT_THAT(PeersOf(b), ElementsAre(a, c));
}

// What a file is called, and who may read it, holds on one host for one user.
TEST_F(CachePeersTest, AreNotThoseOfOtherHostsUsersOrReleasesNorThoseWithoutRoom) {
  const WorkerId a = Register("worker token a", Info());
  wire::WorkerInfo booted = Info(), container = Info(), user = Info(), release = Info();
  booted.host.boot_id = "boot2";
  container.host.hostname = "pod-7";
  user.host.uid = 1001;
  release.version = "0.0.9";
  for (const auto& info : {booted, container, user, release, Info(0)}) {
    Register("worker token " + std::to_string(tokens_.size()), info);
  }
  OpenJob("job token");
  EXPECT_EQ(Grant(cluster_.Heartbeat(a)).cache_bytes, 1'000'000U);
  for (const auto& [worker, token] : tokens_) {
    if (worker.value == a.value + 5) continue;  // without room, and with a peer that has some
    EXPECT_THAT(PeersOf(worker), IsEmpty()) << worker.value;
  }
}

TEST_F(CachePeersTest, AHostThatIsNotKnownIsNobodys) {
  wire::WorkerInfo unknown = Info();
  unknown.host.boot_id.clear();
  const WorkerId a = Register("worker token a", unknown), b = Register("worker token b", unknown);
  OpenJob("job token");
  EXPECT_THAT(PeersOf(a), IsEmpty());
  EXPECT_THAT(PeersOf(b), IsEmpty());
}

// Who owns an entry depends on no job: so what one job has made, any other finds.
TEST_F(CachePeersTest, AreTheSameForEveryJobWhicheverWorkersItUses) {
  cluster_.rules.plan.lease_all = false;
  std::vector<WorkerId> workers;
  for (int i = 0; i < 4; ++i) {
    workers.push_back(Register("worker token " + std::to_string(i), Info(1'000'000 + 7'000 * i)));
  }
  const JobId first = OpenJob("job token 1", wire::kNoCacheBound, 1),
              second = OpenJob("job token 2", wire::kNoCacheBound, 2);
  for (const JobId job : {first, second}) {
    ASSERT_LT(cluster_.state.FindJob(job)->leases.size(), workers.size());
  }
  for (const WorkerId worker : workers) {
    const wire::WorkerDirective directive = cluster_.Heartbeat(worker);
    ASSERT_EQ(directive.grants.size(), 2U);
    for (const wire::JobGrant& grant : directive.grants) {
      const Job& job = *cluster_.state.FindJob(grant.job);
      EXPECT_EQ(grant.millicores > 0, job.leases.contains(worker));
      const bool named = std::ranges::find(directive.jobs, grant.job) != directive.jobs.end();
      EXPECT_EQ(named, grant.millicores > 0);
      EXPECT_GT(grant.cache_bytes, 0U);
      EXPECT_EQ(grant.data_set, directive.grants[0].data_set);
      std::vector<WorkerId> all = {worker};
      for (const wire::CachePeer& peer : grant.peers) {
        all.push_back(peer.worker);
        EXPECT_EQ(peer.cache_bytes, cluster_.state.FindWorker(peer.worker)->info.cache_bytes);
      }
      std::ranges::sort(all);
      EXPECT_EQ(all, workers);
    }
  }
  // Together they may have what the worker has, once, since it has said what it holds.
  cluster_.Advance(cluster_.rules.heartbeat);
  cluster_.Tick();
  std::uint64_t bytes = 0;
  for (const wire::JobGrant& grant : cluster_.Heartbeat(workers[0]).grants) {
    bytes += grant.cache_bytes;
  }
  EXPECT_LE(bytes, 1'000'000U);
  // One that ends takes nothing with it.
  cluster_.Send(wire::CloseJob{.job = second, .token = {}});
  for (const WorkerId worker : workers) EXPECT_EQ(PeersOf(worker).size(), 3U);
  cluster_.Take(WorkerEnded{workers[3], 0});
  EXPECT_EQ(PeersOf(workers[0]).size(), 2U);
}

TEST_F(CachePeersTest, AllAreToldAtOnceWhenOneComesOrGoes) {
  const WorkerId a = Register("worker token a", Info()), b = Register("worker token b", Info());
  OpenJob("job token");
  const auto told = [&] {
    std::map<WorkerId, std::size_t> peers;
    for (const Push& push : cluster_.last.pushes) {
      if (const auto* directive = std::get_if<wire::WorkerDirective>(&push.body)) {
        peers[std::get<WorkerId>(push.to)] = Grant(*directive).peers.size();
      }
    }
    return peers;
  };
  const WorkerId c = Register("worker token c", Info());
  EXPECT_EQ(told(), (std::map<WorkerId, std::size_t>{{a, 2}, {b, 2}, {c, 2}}));
  cluster_.Take(Drain{b});
  EXPECT_EQ(told(), (std::map<WorkerId, std::size_t>{{a, 1}, {b, 0}, {c, 1}}));
  cluster_.Take(WorkerEnded{c, 0});
  EXPECT_EQ(told().at(a), 0U);
}

}  // namespace
}  // namespace headrace::coordinator
