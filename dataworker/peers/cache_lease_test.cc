#include "dataworker/peers/cache_lease.h"

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
    EXPECT_FALSE(lease.Find(Key(2)).later);
    auto claim = lease.TryClaim(Key(2), kBytes, found);
    ASSERT_TRUE(claim);
    EXPECT_TRUE(claim.Commit(Payload(2, 0, kBytes)));
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
  EXPECT_FALSE(lease.TryClaim(Key(7), kBytes, {}));  // nobody gave the right to make it
  CacheLookup found;
  found.claim = Ask(7).claim;
  EXPECT_FALSE(
      lease.TryClaim(Key(7, 1), kBytes, found));  // it was read newer than it was looked for
  auto claim = lease.TryClaim(Key(7), kBytes, found);
  ASSERT_TRUE(claim);
  EXPECT_TRUE(claim.Commit(Payload(7, 0, kBytes)));
  Await([&] { return store_->Stats().entries == 1; });
  EXPECT_EQ(own->Stats().entries, 0U);
}

}  // namespace
}  // namespace headrace::dataworker::peer_tests
