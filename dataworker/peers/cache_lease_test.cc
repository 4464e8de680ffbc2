#include "dataworker/peers/cache_lease.h"

#include "dataworker/cache/chunk_store.h"
#include "dataworker/peers/peer_fixture.h"

namespace headrace::dataworker::peer_tests {
namespace {

// What a worker kept before another one owned it.
TEST_F(PeerTest, AnEntryThatLiesHereMovesToItsOwner) {
  const auto own = MakeStore(std::uint64_t{8} << 20);
  const CacheLease lease(own, kJob, kNoQuota, peers_);
  ASSERT_TRUE(Put(*own, kJob, 7, kBytes));
  const CacheLookup stopped = lease.Find(Key(7));
  ASSERT_TRUE(stopped.later);
  std::optional<CacheLookup> found;
  lease.FindLater(Key(7), stopped, [&](CacheLookup answer) { found = std::move(answer); });
  Await([&] { return puts_ == 1 && store_->Stats().entries == 1; });
  ASSERT_TRUE(found && found->pin);
  EXPECT_TRUE(Equal(found->pin.bytes(), Payload(7, 0, kBytes)));
  EXPECT_EQ(own->Stats().entries, 0U);
  EXPECT_TRUE(Ask(7).pin);
}

// Two jobs of this worker that want it at the same time.
TEST_F(PeerTest, WhatAnotherJobMakesHereIsWaitedFor) {
  const auto own = MakeStore(std::uint64_t{8} << 20);
  const CacheLease lease(own, kJob, kNoQuota), other(own, kOther, kNoQuota);
  const CacheLookup missed = lease.Find(Key(7));
  EXPECT_FALSE(missed.pin || missed.later);
  ASSERT_TRUE(missed.claim);
  const CacheLookup stopped = other.Find(Key(7));
  ASSERT_TRUE(stopped.later);
  EXPECT_TRUE(other.AwaitsMaker(stopped));
  std::optional<CacheLookup> found;
  other.FindLater(Key(7), stopped, [&](CacheLookup answer) { found = std::move(answer); });
  EXPECT_FALSE(found);
  EXPECT_TRUE(missed.claim->Commit(Payload(7, 0, kBytes)));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->pin);
}

// Two workers, both with room: this one, which has just come, and the one that owned all before.
class FormerOwnerTest : public PeerTest {
 protected:
  FormerOwnerTest() {
    RunOn(*reactor_, [&] {
      wire::WorkerDirective directive = Directive(kOwner, PeerPassOf(kToken, kJob, kAsker));
      directive.grants[0].cache_bytes = 1 << 20;
      two_->OnDirective(kAsker, directive);
    });
  }
  ~FormerOwnerTest() override {
    RunOn(*reactor_, [&] { two_->Stop(); });
  }
  // The next entry that this worker owns now.
  std::uint64_t NextOwned() {
    do ++inode_;
    while (two_->PlaceOf(kJob, Key(inode_)) != PeerCache::Place::kHere);
    return inode_;
  }
  CacheLookup Look(const CacheLease& lease, std::uint64_t inode) {
    CacheLookup found = lease.Find(Key(inode));
    if (!found.later) return found;
    bool told = false;
    lease.FindLater(Key(inode), std::exchange(found, {}), [&](CacheLookup answer) {
      found = std::move(answer);
      told = true;
    });
    Await([&] { return told; });
    return found;
  }
  const std::shared_ptr<SampleStore> own_ = MakeStore(std::uint64_t{8} << 20);
  const std::shared_ptr<PeerCache> two_ = PeerCache::Make(*reactor_, 0, 1 << 20);
  std::uint64_t inode_ = 0;
};

TEST_F(FormerOwnerTest, GivesAwayWhatItHas) {
  const CacheLease lease(own_, kJob, kNoQuota, two_);
  const std::uint64_t inode = NextOwned();
  auto claim = store_->TryClaim(kJob, Key(inode), kBytes);
  ASSERT_TRUE(claim.Commit(Payload(inode, 0, kBytes), kCost));
  const CacheLookup found = Look(lease, inode);
  ASSERT_TRUE(found.pin);
  EXPECT_TRUE(Equal(found.pin.bytes(), Payload(inode, 0, kBytes)));
  EXPECT_EQ(store_->Stats().entries, 0U) << "it is not kept twice";
  const CacheLookup again = lease.Find(Key(inode));
  ASSERT_TRUE(again.pin);
  EXPECT_EQ(again.pin.cost(), kCost);
}

TEST_F(FormerOwnerTest, IsNotAskedAnyMoreOnceItHasNothing) {
  const CacheLease lease(own_, kJob, kNoQuota, two_);
  for (int i = 0; i < PeerCache::kLastMisses; ++i) {
    const CacheLookup missed = Look(lease, NextOwned());
    EXPECT_FALSE(missed.pin);
    EXPECT_TRUE(missed.claim);
  }
  const std::size_t asked = finds_.size();
  EXPECT_EQ(asked, static_cast<std::size_t>(PeerCache::kLastMisses));
  for (const auto& find : finds_) EXPECT_TRUE(find.take);
  EXPECT_TRUE(Look(lease, NextOwned()).claim);
  EXPECT_EQ(finds_.size(), asked);
  // Others are told: it begins again.
  RunOn(*reactor_, [&] {
    two_->OnDirective(kAsker, {});
    wire::WorkerDirective directive = Directive(kOwner, PeerPassOf(kToken, kJob, kAsker));
    directive.grants[0].cache_bytes = 1 << 20;
    two_->OnDirective(kAsker, directive);
  });
  EXPECT_EQ(two_->FormerPlaceOf(kJob, Key(inode_)), PeerCache::Place::kPeer);
}

// What lies here from a time when this worker owned all.
class OthersEntriesTest : public FormerOwnerTest {
 protected:
  OthersEntriesTest() {
    small_->SetOwners(two_);
    while (Put(*small_, kJob, ++last_, kBytes)) {
      (two_->PlaceOf(kJob, Key(last_)) == PeerCache::Place::kHere ? mine_ : others_)
          .push_back(last_);
    }
    inode_ = last_;
  }
  // How many new entries of this worker have no room before one has.
  int Refusals() {
    int refused = 0;
    while (!Put(*small_, kJob, NextOwned(), kBytes)) ++refused;
    return refused;
  }
  const std::shared_ptr<SampleStore> small_ = MakeStore(std::uint64_t{1} << 20);
  const CacheLease lease_{small_, kJob, kNoQuota, two_};
  std::uint64_t last_ = 0;
  std::vector<std::uint64_t> mine_, others_;
};

TEST_F(OthersEntriesTest, MakeRoomOnceNobodyFetchesThem) {
  ASSERT_GT(others_.size(), 5U);
  const std::uint64_t kept = small_->Stats().entries;
  EXPECT_EQ(Refusals(), ChunkStore::kRefusals - 1) << "the filling had one";
  for (int i = 0; i < 100; ++i) Put(*small_, kJob, NextOwned(), kBytes);
  for (const std::uint64_t inode : mine_) EXPECT_TRUE(small_->Find(kJob, Key(inode)).pin);
  for (const std::uint64_t inode : others_) EXPECT_FALSE(small_->Find(kJob, Key(inode)).pin);
  EXPECT_EQ(small_->Stats().entries, kept);
}

TEST_F(OthersEntriesTest, StayWhileTheirOwnerFetchesThem) {
  for (int i = 0; i < 3; ++i) {
    for (int miss = 0; miss < ChunkStore::kRefusals - 2; ++miss) {
      EXPECT_FALSE(Put(*small_, kJob, NextOwned(), kBytes));
    }
    small_->Forget(Key(others_[i]));  // as PeerDesk does
    EXPECT_TRUE(Put(*small_, kJob, NextOwned(), kBytes)) << "its room is another's at once";
  }
  EXPECT_TRUE(small_->Find(kJob, Key(others_.back())).pin);
}

TEST_F(OthersEntriesTest, AreLookedForAgainWhenOwnersChange) {
  Refusals();
  for (int i = 0; i < 300; ++i) Put(*small_, kJob, NextOwned(), kBytes);
  const std::uint64_t version = two_->version();
  wire::WorkerDirective directive = Directive(kOwner, PeerPassOf(kToken, kJob, kAsker));
  directive.grants[0].cache_bytes = 1 << 20;
  RunOn(*reactor_, [&] { two_->OnDirective(kAsker, directive); });
  EXPECT_EQ(two_->version(), version) << "nothing has changed";
  directive.grants[0].peers[0].cache_bytes = 8 << 20;
  RunOn(*reactor_, [&] { two_->OnDirective(kAsker, directive); });
  EXPECT_NE(two_->version(), version);
  EXPECT_EQ(Refusals(), ChunkStore::kRefusals);
}

TEST_F(FormerOwnerTest, SmallEntriesAreNotOthers) {
  const auto peers = PeerCache::Make(*reactor_, kBytes, 0);
  RunOn(*reactor_,
        [&] { peers->OnDirective(kAsker, Directive(kOwner, PeerPassOf(kToken, kJob, kAsker))); });
  const EntryId id = EntryId::Of(Key(7));
  EXPECT_TRUE(peers->IsElsewhere(kJob, id, 2 * kBytes));
  EXPECT_FALSE(peers->IsElsewhere(kJob, id, kBytes)) << "a lease with smaller ones may look here";
  EXPECT_FALSE(peers->IsElsewhere(kOther, id, 2 * kBytes)) << "it shares nothing";
  RunOn(*reactor_, [&] { peers->Stop(); });
}

// A full cache: to wait for what nobody keeps would be in vain.
TEST_F(PeerTest, WithoutRoomNobodyWaits) {
  const auto own = MakeStore(0);
  const CacheLease lease(own, kJob, kNoQuota), other(own, kOther, kNoQuota);
  for (const CacheLease* each : {&lease, &other}) {
    const CacheLookup missed = each->Find(Key(7));
    EXPECT_FALSE(missed.pin || missed.later || missed.claim);
  }
}

TEST_F(PeerTest, ACacheHasNothingOnlyIfNoOtherWorkerKeepsAnything) {
  const auto own = MakeStore(std::uint64_t{8} << 20);
  EXPECT_FALSE(CacheLease(own, kJob, kNoQuota, peers_).HasNothing()) << "nobody knows what it has";
  EXPECT_TRUE(CacheLease(own, JobId(99), kNoQuota, peers_).HasNothing()) << "which is not shared";
  EXPECT_TRUE(CacheLease(own, kJob, kNoQuota).HasNothing());
  RunOn(*reactor_, [&] { peers_->OnDirective(kAsker, {}); });
  const CacheLease lease(own, kJob, kNoQuota, peers_);
  EXPECT_TRUE(lease.HasNothing());
  ASSERT_TRUE(Put(*own, kJob, 7, kBytes));
  EXPECT_FALSE(lease.HasNothing());
}

// To make a small entry costs less than to ask for it.
TEST_F(PeerTest, SmallEntriesStayWhereTheyAreMadeAndNobodyIsAsked) {
  const std::shared_ptr<PeerCache> picky = PeerCache::Make(*reactor_, 2 * kBytes);
  RunOn(*reactor_,
        [&] { picky->OnDirective(kAsker, Directive(kOwner, PeerPassOf(kToken, kJob, kAsker))); });
  const auto own = MakeStore(std::uint64_t{8} << 20);
  {
    const CacheLease lease(own, kJob, kNoQuota, picky);
    EXPECT_TRUE(lease.Find(Key(1)).later) << "nobody knows yet how large they are";
    CacheLookup found;
    EXPECT_TRUE(lease.TryClaim(Key(1), kBytes, found)) << "the first one tells";
    CacheLookup missed = lease.Find(Key(2));
    EXPECT_FALSE(missed.later);
    EXPECT_TRUE(std::exchange(missed.claim, nullptr));
    const auto claim = lease.TryClaim(Key(2), kBytes, found);
    ASSERT_TRUE(claim);
    EXPECT_TRUE(claim->Commit(Payload(2, 0, kBytes)));
    EXPECT_TRUE(lease.Find(Key(2)).pin);
    // They become larger: some, and then all.
    for (int i = 0; i < 100; ++i) (void)lease.TryClaim(Key(3), 4 * kBytes, found);
    EXPECT_TRUE(lease.Find(Key(4)).later);
  }
  RunOn(*reactor_, [&] { picky->Stop(); });
  EXPECT_EQ(finds_.size(), 0U);
}

TEST_F(PeerTest, AnEntryIsStoredAtItsOwnerAlone) {
  const auto own = MakeStore(std::uint64_t{8} << 20);
  const CacheLease lease(own, kJob, kNoQuota, peers_);
  CacheLookup found;
  EXPECT_FALSE(lease.TryClaim(Key(7), kBytes, found));  // nobody gave the right to make it
  found.claim = std::make_shared<EntryClaim>(Ask(7).claim);
  EXPECT_FALSE(
      lease.TryClaim(Key(7, 1), kBytes, found));  // it was read newer than it was looked for
  EXPECT_FALSE(found.claim) << "the older one's is given back";
  Await([&] { return desk_->claims() == 0; });
  found.claim = std::make_shared<EntryClaim>(Ask(7).claim);
  const auto claim = lease.TryClaim(Key(7), kBytes, found);
  ASSERT_TRUE(claim);
  EXPECT_TRUE(claim->Commit(Payload(7, 0, kBytes)));
  Await([&] { return store_->Stats().entries == 1; });
  EXPECT_EQ(own->Stats().entries, 0U);
}

}  // namespace
}  // namespace headrace::dataworker::peer_tests
