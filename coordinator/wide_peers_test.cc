// Workers of several hosts that keep samples together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/pass/pass.h"
#include "coordinator/cache_peers.h"
#include "coordinator/step_test_util.h"

namespace headrace::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WidePeersTest : public testing::Test {
 protected:
  WidePeersTest() { cluster_.rules.plan.lease_all = true; }

  static wire::WorkerInfo Info(const std::string& host) {
    wire::WorkerInfo info;
    info.host = {host, "boot of " + host, 1000, 6};
    info.cores = 4;
    info.cache_bytes = 1'000'000;
    return info;
  }
  WorkerId Register(wire::WorkerInfo info) {
    const std::string token = "worker token " + std::to_string(tokens_.size());
    if (info.version.empty()) info.version = cluster_.version;
    if (info.endpoints.empty()) {
      info.endpoints = {"tcp://10.0.0.1:7" + std::to_string(100 + tokens_.size())};
    }
    wire::RegisterWorker m{.token = token, .info = std::move(info)};
    const WorkerId id = cluster_.Ask<wire::WorkerRegistered>(m).worker;
    tokens_[id] = token;
    return id;
  }
  JobId OpenJob(const std::string& source) {
    wire::OpenJob open;
    open.token = "job token";
    open.name = "train.py";
    open.host = {"node1", "boot of node1", 1000, 5};
    open.cache_bytes = wire::kNoCacheBound;
    open.version = cluster_.version;
    const JobId job = cluster_.Ask<wire::JobOpened>(open).job;
    wire::OpenSession session;
    session.job = job;
    session.session = SessionId(job.value + 100);
    session.plan = SmallPlan();
    session.plan.leaves[0].rows = 100'000;
    session.plan.leaves[0].source = source;
    if (source != "local_dir") session.plan.leaves[0].args["base"] = std::string("s3://pictures/");
    cluster_.Send(session);
    return job;
  }
  wire::JobGrant GrantOf(WorkerId worker) {
    const wire::WorkerDirective directive = cluster_.Heartbeat(worker);
    return directive.grants.empty() ? wire::JobGrant{} : directive.grants.front();
  }
  static std::vector<WorkerId> Ids(const std::vector<wire::CachePeer>& peers) {
    std::vector<WorkerId> ids;
    for (const wire::CachePeer& peer : peers) ids.push_back(peer.worker);
    return ids;
  }

  Cluster cluster_;
  std::map<WorkerId, std::string> tokens_;
};

TEST_F(WidePeersTest, OfObjectsAreTheWorkersOfAllHosts) {
  const WorkerId a = Register(Info("node1")), b = Register(Info("node1")),
                 c = Register(Info("node2"));
  const JobId job = OpenJob("objects");
  const wire::JobGrant grant = GrantOf(a);
  EXPECT_TRUE(grant.wide);
  EXPECT_THAT(Ids(grant.peers), ElementsAre(b));
  ASSERT_THAT(Ids(grant.wide_peers), ElementsAre(b, c));
  EXPECT_EQ(grant.wide_peers[1].endpoint, "tcp://10.0.0.1:7102");
  EXPECT_EQ(grant.wide_peers[1].pass, WidePassOf(tokens_[c], job, a));
  EXPECT_THAT(Ids(GrantOf(c).wide_peers), ElementsAre(a, b));
}

// On the hosts that the job uses, with a lease or without; owners depend on no quota.
TEST_F(WidePeersTest, AreAllWorkersOfTheJobsHosts) {
  cluster_.rules.plan.lease_all = false;
  std::vector<std::vector<WorkerId>> hosts;
  for (const std::string host : {"node2", "node3"}) {  // the program is on another one
    wire::WorkerInfo large = Info(host);
    large.cache_bytes = 3'000'000;
    hosts.push_back({Register(Info(host)), Register(large), Register(Info(host))});
  }
  const JobId job = OpenJob("objects");
  const std::set<WorkerId> leases = cluster_.state.FindJob(job)->leases;
  ASSERT_FALSE(leases.empty());
  std::set<WorkerId> all;
  for (const auto& host : hosts) {
    if (std::ranges::any_of(host, [&](WorkerId id) { return leases.contains(id); })) {
      all.insert(host.begin(), host.end());
    }
  }
  ASSERT_LT(leases.size(), all.size()) << "some have no lease";
  for (const WorkerId worker : all) {
    const wire::JobGrant grant = GrantOf(worker);
    EXPECT_TRUE(grant.wide);
    EXPECT_EQ(grant.millicores > 0, leases.contains(worker));
    std::set<WorkerId> group = {worker};
    for (const wire::CachePeer& peer : grant.wide_peers) {
      group.insert(peer.worker);
      EXPECT_EQ(peer.cache_bytes, cluster_.state.FindWorker(peer.worker)->info.cache_bytes);
    }
    EXPECT_EQ(group, all);
  }
}

TEST_F(WidePeersTest, OfFilesAreNone) {
  const WorkerId a = Register(Info("node1"));
  Register(Info("node2"));
  OpenJob("local_dir");
  EXPECT_FALSE(GrantOf(a).wide);
  EXPECT_THAT(GrantOf(a).wide_peers, IsEmpty());
}

// Other hosts can't reach a loopback address; a local worker is its user's own; users and releases share
// nothing, whatever the host.
TEST_F(WidePeersTest, AreNotLocalOnesNorThoseOfOtherUsersOrReleases) {
  wire::WorkerInfo user = Info("node2"), release = Info("node2"), own = Info("node1"),
                   loopback = Info("node1"), unknown = Info("node2");
  user.host.uid = 1001;
  release.version = "0.0.9";
  own.local = true;
  loopback.endpoints = {"tcp://127.0.0.1:7900"};
  unknown.host.boot_id.clear();
  const WorkerId a = Register(Info("node1"));
  std::vector<WorkerId> others;
  for (const auto& info : {user, release, own, loopback, unknown}) others.push_back(Register(info));
  OpenJob("objects");
  EXPECT_GT(GrantOf(a).cache_bytes, 0U);
  EXPECT_THAT(GrantOf(a).wide_peers, IsEmpty());
  for (const WorkerId other : others) {
    for (const wire::CachePeer& peer : GrantOf(other).wide_peers) {
      EXPECT_THAT((std::set{other, peer.worker}), ::testing::IsSubsetOf({others[2], others[3]}));
    }
  }
}

// Groups of workers as NamePeers makes them, without a plan.
class WideGroupsTest : public testing::TestWithParam<unsigned> {
 protected:
  void Apply(const Update& update) { ASSERT_TRUE(state_.Apply(update).ok()); }
  void Add(wire::WorkerInfo info) {
    info.worker = state_.next_worker();
    Apply(AddWorker{"token " + std::to_string(info.worker.value), info});
    wire::JobGrant grant;
    grant.cache_bytes = info.cache_bytes;
    grant.wide = true;
    grants_[info.worker] = grant;
  }
  void Open() {
    AddJob add;
    add.job = JobId(1);
    add.consumer = state_.next_consumer();
    add.token = "job token";
    Apply(add);
    std::vector<WorkerId> workers;
    for (const auto& [id, grant] : grants_) workers.push_back(id);
    Apply(SetLeases{add.job, 1, workers});
    Apply(SetGrants{add.job, grants_, ""});
  }
  std::set<WorkerId> GroupOf(WorkerId asker, bool wide) {
    const Job& job = *state_.FindJob(JobId(1));
    wire::JobGrant grant = job.grants.at(asker);
    NamePeers(state_, job, *state_.FindWorker(asker), grant);
    std::set<WorkerId> group = {asker};
    for (const auto& peer : wide ? grant.wide_peers : grant.peers) group.insert(peer.worker);
    return group;
  }
  State state_;
  std::map<WorkerId, wire::JobGrant> grants_;
};

// Or two workers would look for one entry at different owners.
TEST_P(WideGroupsTest, AllMembersKnowTheSameGroupAndTheEstimatorCountsIt) {
  std::mt19937 random(GetParam());
  for (int i = 0; i < 24; ++i) {
    wire::WorkerInfo info;
    const std::string host = "host" + std::to_string(random() % 3);
    info.host = {host, random() % 8 == 0 ? "" : host, static_cast<std::uint32_t>(random() % 2), 1};
    info.version = random() % 6 == 0 ? "2" : "1";
    info.local = random() % 5 == 0;
    info.endpoints = {random() % 5 == 0 ? "ipc:///run/x" : "tcp://10.0.0.1:1"};
    info.cache_bytes = 100;
    info.share_from_bytes = 0;
    Add(info);
  }
  Open();
  for (const bool wide : {false, true}) {
    std::map<std::string, std::set<WorkerId>> counted;
    for (const auto& [id, grant] : grants_) {
      counted[CacheHostOf(state_.FindWorker(id)->info, 1e6, wide)].insert(id);
    }
    for (const auto& [name, group] : counted) {
      for (const WorkerId member : group) EXPECT_EQ(GroupOf(member, wide), group) << wide;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, WideGroupsTest, testing::Range(0U, 8U));

// Its user starts it, and could put what it likes into the caches of others.
TEST_F(WideGroupsTest, ALocalWorkerSharesWithItsLikeOnItsHostAlone) {
  for (const auto& [host, local] :
       {std::pair("a", false), {"b", false}, {"b", true}, {"b", true}, {"c", true}}) {
    wire::WorkerInfo info;
    info.host = {host, "boot", 0, 1};
    info.endpoints = {"tcp://10.0.0.1:1"};
    info.cache_bytes = 100;
    info.local = local;
    Add(info);
  }
  Open();
  std::set<std::set<WorkerId>> groups;
  for (const auto& [id, grant] : grants_) groups.insert(GroupOf(id, true));
  const auto id = [&](std::ptrdiff_t i) { return std::next(grants_.begin(), i)->first; };
  EXPECT_EQ(groups, (std::set<std::set<WorkerId>>{{id(0), id(1)}, {id(2), id(3)}, {id(4)}}));
}

TEST_F(WideGroupsTest, AJobWithManyWorkersHasSeveralGroups) {
  for (std::size_t i = 0; i < wire::kMaxPeers + 44; ++i) {
    wire::WorkerInfo info;
    info.host = {"host" + std::to_string(i), "boot", 0, 1};
    info.endpoints = {"tcp://10.0.0.1:1"};
    info.cache_bytes = 100;
    Add(info);
  }
  Open();
  std::map<std::set<WorkerId>, std::size_t> groups;
  for (const auto& [id, grant] : grants_) ++groups[GroupOf(id, true)];
  ASSERT_EQ(groups.size(), 2U);
  for (const auto& [group, members] : groups) EXPECT_EQ(group.size(), members);
}

}  // namespace
}  // namespace headrace::coordinator
