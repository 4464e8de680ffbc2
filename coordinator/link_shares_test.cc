#include "coordinator/link_shares.h"

#include "coordinator/cluster_planner_links_fixture.h"

namespace headrace::coordinator {
namespace {

class LinkSharesTest : public PlannerLinksTest {
 protected:
  LinkSharesTest() { Linked(64, "pool", 1e12); }
};

TEST_F(LinkSharesTest, WhatAJobWantsIsWhatItsOwnHostDoesNotMake) {
  Linked(3, "home", 1e9);
  const JobId job = JobOn("home");
  Sends(job, 800, 0.01, 1e6);
  EndPeriod();
  const LinkShares links(state_);
  const JobNetwork& network = links.Of(job);
  EXPECT_DOUBLE_EQ(network.share.own_cores, 3);
  EXPECT_NEAR(network.wanted, 500 * 1.05e6, 1e3);
  EXPECT_NEAR(network.share.rate, 1e9, 1e3) << "what nobody else wants is its own";
  EXPECT_FALSE(network.bound());
}

TEST_F(LinkSharesTest, WhoseLinkIsNarrowIsKnown) {
  Linked(64, "pool", 1e8);
  const JobId own = JobOn("x", 2e7), pool = JobOn("y");
  Sends(own, 800, 0.01, 1e6);
  Sends(pool, 800, 0.01, 1e6);
  EndPeriod();
  const LinkShares links(state_);
  EXPECT_TRUE(links.Of(own).bound());
  EXPECT_TRUE(links.Of(own).bound_by_own_link());
  EXPECT_NEAR(links.Of(own).share.rate, 2e7, 1);
  EXPECT_TRUE(links.Of(pool).bound());
  EXPECT_FALSE(links.Of(pool).bound_by_own_link());
  EXPECT_NEAR(links.Of(pool).share.rate, 8e7, 1) << "the other cannot take its half";
}

TEST_F(LinkSharesTest, LocalWorkersAreForTheirUserAlone) {
  Linked(4, "home", 1e9, "", true);  // of user 0
  AddJob stranger;
  stranger.host = {"home", "home", 7, 1};
  const JobId mine = JobOn("home"), theirs = Job(stranger);
  Sends(mine, 800, 0.01, 1e6);
  Sends(theirs, 800, 0.01, 1e6);
  EndPeriod();
  const LinkShares links(state_);
  EXPECT_DOUBLE_EQ(links.Of(mine).share.own_cores, 4);
  EXPECT_DOUBLE_EQ(links.Of(theirs).share.own_cores, 0);
}

// Who names a host names anyone's: its word is not taken for programs of others.
TEST_F(LinkSharesTest, AStrangersWordBindsNobodyElse) {
  AddJob stranger;
  stranger.host = {"home", "home", 7, 1};
  stranger.tenant = "strangers";
  stranger.link_bytes_per_second = 1;
  const JobId liar = Job(stranger), job = JobOn("home");
  stranger.link_bytes_per_second = 0;
  const JobId mate = Job(stranger);
  for (const JobId each : {liar, job, mate}) Sends(each, 800, 0.01, 1e6);
  EndPeriod();
  const LinkShares links(state_);
  EXPECT_FALSE(links.Of(job).bound());
  EXPECT_LE(links.Of(liar).share.rate, 0.5);
  EXPECT_LE(links.Of(mate).share.rate, 0.5);
  // Nor is that of a worker that a program has started for itself.
  Linked(1, "home", 1, "", true);
  EXPECT_EQ(LinkShares(state_).LinkOf("home/home"), kUnlimited);
}

TEST_F(LinkSharesTest, NothingIsKnownOfAJobThatIsNotMeasured) {
  const JobId job = JobOn("home", 1);
  const LinkShares links(state_);
  EXPECT_EQ(links.Of(job).share, NetworkShare());
  EXPECT_FALSE(links.Of(job).bound());
}

TEST_F(LinkSharesTest, AWorkerWithoutALinkSendsAllThatIsWanted) {
  Linked(1, "wide", 0);
  Linked(64, "pool", 1);
  const JobId job = JobOn("home");
  Sends(job, 800, 0.01, 1e6);
  EndPeriod();
  EXPECT_FALSE(LinkShares(state_).Of(job).bound());
}

}  // namespace
}  // namespace headrace::coordinator
