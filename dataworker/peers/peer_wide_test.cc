// Entries whose names hold on all hosts, and workers of other hosts that ask for them.
#include "dataworker/peers/cache_lease.h"
#include "dataworker/peers/peer_fixture.h"

namespace headrace::dataworker::peer_tests {
namespace {

CacheKey WideKey(std::uint64_t inode) {
  CacheKey key = Key(inode);
  key.content.SetReach(NameReach::kEverywhere);
  return key;
}

class PeerWideTest : public PeerTest {
 protected:
  PeerWideTest() { Tell({.peers = {}, .wide_peers = {Peer(WidePassOf(kToken, kJob, kAsker))}}); }
  [[nodiscard]] wire::CachePeer Peer(const std::string& pass) const {
    return {kOwner, endpoint_, 1 << 20, pass};
  }
  struct Peers {
    std::vector<wire::CachePeer> peers, wide_peers;
    bool wide = true;
  };
  // What the asker hears; the owner hears that both share.
  void Tell(const Peers& peers) {
    wire::JobGrant grant{.job = kJob};
    grant.peers = peers.peers;
    grant.wide = peers.wide;
    grant.wide_peers = peers.wide_peers;
    RunOn(*reactor_, [&] {
      desk_->OnDirective({.jobs = {kJob}, .grants = {grant}});
      peers_->OnDirective(kAsker, {.jobs = {kJob}, .grants = {grant}});
    });
  }
  PeerCache::Answer AskFor(const CacheKey& key) {
    const auto told = std::make_shared<Told>();
    peers_->Ask(kJob, key, [told](PeerCache::Answer answer) {
      ++told->answers;
      told->answer = std::move(answer);
    });
    Await([&] { return told->answers > 0; });
    return std::exchange(told->answer, {});
  }
};

TEST_F(PeerWideTest, WhoAsksFirstMakesTheEntryAndOtherHostsFindIt) {
  Make(AskFor(WideKey(7)).claim, 7);
  const auto found = AskFor(WideKey(7));
  ASSERT_TRUE(found.pin);
  EXPECT_TRUE(Equal(found.pin.bytes(), Payload(7, 0, kBytes)));
}

// A file's device and inode are another file on another host.
TEST_F(PeerWideTest, NamesOfThisHostStayOnThisHost) {
  EXPECT_EQ(peers_->PlaceOf(kJob, WideKey(7)), PeerCache::Place::kWide);
  EXPECT_EQ(peers_->PlaceOf(kJob, Key(7)), PeerCache::Place::kHere);
  Tell({.peers = {Peer(PeerPassOf(kToken, kJob, kAsker))}, .wide_peers = {}});
  EXPECT_EQ(peers_->PlaceOf(kJob, WideKey(7)), PeerCache::Place::kHere) << "nobody else is wide";
  EXPECT_EQ(peers_->PlaceOf(kJob, Key(7)), PeerCache::Place::kPeer);
  Tell({.peers = {Peer(PeerPassOf(kToken, kJob, kAsker))}, .wide_peers = {}, .wide = false});
  EXPECT_EQ(peers_->PlaceOf(kJob, WideKey(7)), PeerCache::Place::kPeer) << "shared as others are";
}

// Whatever a worker of another host asks.
TEST_F(PeerWideTest, AWidePassOpensNoNameOfThisHost) {
  ASSERT_TRUE(Put(*store_, kJob, 7, kBytes));
  Tell({.peers = {Peer(WidePassOf(kToken, kJob, kAsker))}, .wide_peers = {}});
  const auto there = AskFor(Key(7)), missing = AskFor(Key(8));
  EXPECT_FALSE(there.pin);
  EXPECT_FALSE(there.claim);
  EXPECT_FALSE(missing.claim) << "nor may it say what the name means here";
  EXPECT_EQ(finds_.size(), 2U) << "it was asked";
}

TEST_F(PeerWideTest, AnotherJobsOrAskersWidePassOpensNothing) {
  Make(AskFor(WideKey(7)).claim, 7);
  for (const std::string& pass :
       {std::string(), PassOf(kToken, kJob), WidePassOf(kToken, kOther, kAsker),
        WidePassOf(kToken, kJob, kThird), WidePassOf("another token", kJob, kAsker)}) {
    Tell({.peers = {}, .wide_peers = {Peer(pass)}});
    EXPECT_FALSE(AskFor(WideKey(7)).pin);
    EXPECT_FALSE(AskFor(WideKey(8)).claim);
  }
  EXPECT_EQ(store_->Stats().entries, 1U);
}

// A worker of this host is in both lists, and is asked for both kinds of names.
TEST_F(PeerWideTest, APeerOfThisHostOpensBothNames) {
  Tell({.peers = {Peer(PeerPassOf(kToken, kJob, kAsker))},
        .wide_peers = {Peer(WidePassOf(kToken, kJob, kAsker))}});
  EXPECT_TRUE(AskFor(WideKey(7)).claim);
  EXPECT_TRUE(AskFor(Key(8)).claim);
}

// Whether they are worth it the coordinator has said, by what they cost to make.
TEST_F(PeerWideTest, SmallEntriesAreAskedForToo) {
  const std::shared_ptr<PeerCache> picky = PeerCache::Make(*reactor_, 2 * kBytes);
  wire::JobGrant grant{.job = kJob};
  grant.wide = true;
  grant.wide_peers = {Peer(WidePassOf(kToken, kJob, kAsker))};
  RunOn(*reactor_, [&] { picky->OnDirective(kAsker, {.jobs = {kJob}, .grants = {grant}}); });
  {
    const CacheLease lease(MakeStore(std::uint64_t{8} << 20), kJob, kNoQuota, picky);
    CacheLookup none;
    (void)lease.TryClaim(Key(1), kBytes, none);  // their size is known
    EXPECT_TRUE(lease.Find(WideKey(2)).later);
    EXPECT_FALSE(lease.TryClaim(WideKey(2), kBytes, none));
  }
  RunOn(*reactor_, [&] { picky->Stop(); });
}

}  // namespace
}  // namespace headrace::dataworker::peer_tests
