// Copies of what other workers own: when they are kept, and what becomes of them when their owner goes.
#include "dataworker/peers/replica_moves.h"

#include "dataworker/cache/replica_shelf.h"
#include "dataworker/peers/peer_fixture.h"

namespace headrace::dataworker::peer_tests {
namespace {

CacheKey SharedKey(std::uint64_t inode) {
  CacheKey key = Key(inode);
  key.content.SetReach(NameReach::kEverywhere);
  return key;
}

constexpr std::uint64_t kWhole = std::uint64_t{8} << 20;

// The asker, with a cache of its own. What it asks for the owner has, whose desk is the fixture's.
class ReplicaMovesTest : public PeerTest {
 protected:
  ReplicaMovesTest() {
    RunOn(*reactor_, [this] {
      two_ = PeerCache::Make(*reactor_, 0, kWhole);
      moves_ =
          std::make_shared<ReplicaMoves>(ReplicaMoves::Parts{*reactor_, executor_, own_, two_});
    });
    lease_.emplace(own_, kJob, kNoQuota, two_);
    own_->SetQuota(kJob, StoreQuota{.bytes = kNoQuota});
  }
  ~ReplicaMovesTest() override {
    lease_.reset();
    RunOn(*reactor_, [this] {
      moves_.reset();
      two_->Stop();
    });
  }
  struct Grant {
    std::vector<WorkerId> others = {kOwner};
    bool replicas = true;
    std::uint64_t own_bytes = 0;  // 0: this worker owns nothing
  };
  // What the asker hears. All other workers are the one desk; it hears that both share.
  void Tell(const Grant& told) {
    wire::JobGrant grant{.job = kJob};
    grant.wide = true;
    grant.replicas = told.replicas;
    grant.cache_bytes = told.own_bytes;
    for (const WorkerId other : told.others) {
      grant.wide_peers.push_back({other, endpoint_, kWhole, WidePassOf(kToken, kJob, kAsker)});
    }
    RunOn(*reactor_, [&] {
      desk_->OnDirective({.jobs = {kJob}, .grants = {grant}});
      two_->OnDirective(kAsker, {.jobs = {kJob}, .grants = {grant}});
      moves_->OnDirective({.jobs = {kJob}, .grants = {grant}});
    });
  }
  // As a compute thread does: it looks for the entry, and uses it.
  CacheLookup Use(std::uint64_t inode) {
    const CacheKey key = SharedKey(inode);
    CacheLookup found = lease_->Find(key);
    if (found.later) {
      const auto open = std::make_shared<std::optional<CacheLookup>>();
      lease_->FindLater(key, std::exchange(found, {}),
                        [open](CacheLookup answer) { *open = std::move(answer); });
      Await([&] { return open->has_value(); });
      found = std::move(**open);
    }
    lease_->KeepCopy(key, found);
    return found;
  }
  void PutAtOwner(std::uint64_t inode) {
    auto claim = store_->TryClaim(kJob, SharedKey(inode), kBytes);
    ASSERT_TRUE(claim && claim.Commit(Payload(inode, 0, kBytes), kCost));
  }
  void AwaitMoves() {
    Await([this] { return moves_->waiting() == 0 && executor_.queued() == 0; });
  }
  [[nodiscard]] ReplicaStats Replicas() const { return own_->Stats().replicas; }
  [[nodiscard]] std::string TierOf(const CacheLookup& found) const {
    return found.pin ? lease_->tier_name(found.tier) : "nowhere";
  }

  const std::shared_ptr<SampleStore> own_ = MakeStore(kWhole);
  std::shared_ptr<PeerCache> two_;
  std::shared_ptr<ReplicaMoves> moves_;
  std::optional<CacheLease> lease_;
};

TEST_F(ReplicaMovesTest, WhatWasFetchedIsNotAskedForAgain) {
  Tell({});
  PutAtOwner(7);
  EXPECT_EQ(TierOf(Use(7)), "peers");
  const std::size_t asked = finds_.size();
  const CacheLookup again = Use(7);
  EXPECT_EQ(TierOf(again), "replicas");
  EXPECT_TRUE(Equal(again.pin.bytes(), Payload(7, 0, kBytes)));
  EXPECT_EQ(again.pin.cost(), kCost);
  EXPECT_EQ(finds_.size(), asked);
  EXPECT_EQ(own_->Stats().entries, 0U);
  EXPECT_EQ(Replicas().entries, 1U);
}

TEST_F(ReplicaMovesTest, OnlyWhereTheCoordinatorSaysSo) {
  Tell({.replicas = false});
  PutAtOwner(7);
  EXPECT_EQ(TierOf(Use(7)), "peers");
  EXPECT_EQ(TierOf(Use(7)), "peers");
  EXPECT_EQ(Replicas().entries, 0U);
  Tell({});
  EXPECT_EQ(TierOf(Use(7)), "peers");
  EXPECT_EQ(TierOf(Use(7)), "replicas");
  Tell({.replicas = false});
  EXPECT_EQ(Replicas().entries, 0U) << "they go with the word";
  EXPECT_EQ(TierOf(Use(7)), "peers");
}

// Workers of one host share their memory in any case.
TEST_F(ReplicaMovesTest, NamesOfOneHostHaveNoCopies) {
  wire::JobGrant grant{.job = kJob};
  grant.wide = grant.replicas = true;
  grant.peers = {{kOwner, endpoint_, kWhole, PeerPassOf(kToken, kJob, kAsker)}};
  RunOn(*reactor_, [&] {
    desk_->OnDirective({.jobs = {kJob}, .grants = {grant}});
    two_->OnDirective(kAsker, {.jobs = {kJob}, .grants = {grant}});
    moves_->OnDirective({.jobs = {kJob}, .grants = {grant}});
  });
  auto claim = store_->TryClaim(kJob, Key(7), kBytes);
  ASSERT_TRUE(claim.Commit(Payload(7, 0, kBytes)));
  const auto open = std::make_shared<std::optional<CacheLookup>>();
  lease_->FindLater(Key(7), lease_->Find(Key(7)),
                    [open](CacheLookup answer) { *open = std::move(answer); });
  Await([&] { return open->has_value(); });
  EXPECT_EQ(TierOf(**open), "peers");
  lease_->KeepCopy(Key(7), **open);
  EXPECT_EQ(Replicas().entries, 0U);
}

// What the worker makes itself, for an owner that lacks it, comes back as any other entry.
TEST_F(ReplicaMovesTest, WhatIsMadeHereIsNoReplica) {
  Tell({});
  CacheLookup missed = Use(7);
  ASSERT_TRUE(missed.claim);
  EXPECT_TRUE(missed.claim->Commit(Payload(7, 0, kBytes), kCost));
  Await([&] { return puts_ == 1 && executor_.queued() == 0; });
  EXPECT_EQ(Replicas().entries, 0U);
}

// The only other worker goes: its entries are this worker's now.
TEST_F(ReplicaMovesTest, AReplicaWhoseOwnerHasGoneBecomesAnEntryHere) {
  Tell({});
  for (std::uint64_t inode = 0; inode < 40; ++inode) {
    PutAtOwner(inode);
    Use(inode);
  }
  ASSERT_EQ(Replicas().entries, 40U);
  // Without others there is no use for replicas, and the coordinator says so in the same breath.
  Tell({.others = {}, .replicas = false, .own_bytes = kWhole});
  AwaitMoves();
  EXPECT_EQ(own_->Stats().entries, 40U);
  EXPECT_EQ(Replicas().entries, 0U);
  EXPECT_EQ(Replicas().bytes, 0U);
  for (std::uint64_t inode = 0; inode < 40; ++inode) {
    const CacheLookup found = Use(inode);
    ASSERT_EQ(TierOf(found), "memory");
    ASSERT_TRUE(Equal(found.pin.bytes(), Payload(inode, 0, kBytes)));
    ASSERT_EQ(found.pin.cost(), kCost);
  }
}

// Others stay: they get what the lost one had.
TEST_F(ReplicaMovesTest, AReplicaWhoseOwnerHasGoneIsGivenToTheNewOne) {
  Tell({});
  for (std::uint64_t inode = 0; inode < 40; ++inode) {
    PutAtOwner(inode);
    Use(inode);
  }
  // The new owner has nothing of it yet, but for one.
  for (std::uint64_t inode = 1; inode < 40; ++inode) store_->Forget(SharedKey(inode));
  ASSERT_EQ(store_->Stats().entries, 1U);
  const std::size_t sent = frames_;
  Tell({.others = {kThird}});
  AwaitMoves();
  Await([&] { return store_->Stats().entries == 40; });
  EXPECT_EQ(puts_, 39) << "what is there is not sent";
  EXPECT_EQ(frames_, sent) << "nor back";
  EXPECT_EQ(Replicas().entries, 40U) << "they are replicas of another's entries now";
  EXPECT_EQ(own_->replicas()->List([](const auto& each) { return each.owner == kThird; }).size(),
            40U);
  // And so they move again, if that one goes.
  for (std::uint64_t inode = 0; inode < 40; ++inode) store_->Forget(SharedKey(inode));
  Tell({.others = {kOwner}});
  Await([&] { return store_->Stats().entries == 40; });
}

TEST_F(ReplicaMovesTest, EachMovesToWhoOwnsItNow) {
  Tell({});
  for (std::uint64_t inode = 0; inode < 40; ++inode) {
    PutAtOwner(inode);
    Use(inode);
  }
  for (std::uint64_t inode = 0; inode < 40; ++inode) store_->Forget(SharedKey(inode));
  Tell({.others = {kThird}, .own_bytes = kWhole});
  AwaitMoves();
  Await([&] { return own_->Stats().entries + store_->Stats().entries == 40; });
  EXPECT_GT(own_->Stats().entries, 5U);
  EXPECT_GT(store_->Stats().entries, 5U);
  EXPECT_EQ(Replicas().entries, store_->Stats().entries) << "what is an entry here is no replica";
}

TEST_F(ReplicaMovesTest, NothingMovesWhereNobodyHasGone) {
  Tell({});
  for (std::uint64_t inode = 0; inode < 40; ++inode) {
    PutAtOwner(inode);
    Use(inode);
  }
  const std::size_t asked = finds_.size();
  Tell({.others = {kOwner, kThird}, .own_bytes = kWhole});
  AwaitMoves();
  EXPECT_EQ(finds_.size(), asked) << "a worker that comes gets its part as it is asked for";
  EXPECT_EQ(Replicas().entries, 40U);
}

// Before it has moved, it is found all the same.
TEST_F(ReplicaMovesTest, WhoFindsAReplicaThatBelongsHereHasTheEntry) {
  Tell({});
  PutAtOwner(7);
  Use(7);
  store_->Forget(SharedKey(7));
  wire::JobGrant alone{.job = kJob};
  alone.wide = true;
  alone.cache_bytes = kWhole;
  RunOn(*reactor_, [&] { two_->OnDirective(kAsker, {.jobs = {kJob}, .grants = {alone}}); });
  EXPECT_EQ(TierOf(Use(7)), "replicas");
  EXPECT_EQ(own_->Stats().entries, 1U);
  EXPECT_EQ(Replicas().entries, 0U);
  EXPECT_EQ(TierOf(Use(7)), "memory");
}

TEST_F(ReplicaMovesTest, AReplicaThatTheOwnerLacksGoesToItWhenItIsUsed) {
  Tell({});
  PutAtOwner(7);
  Use(7);
  store_->Forget(SharedKey(7));
  wire::JobGrant grant{.job = kJob};
  grant.wide = true;  // without replicas: it is looked for at its owner first
  grant.wide_peers = {{kOwner, endpoint_, kWhole, WidePassOf(kToken, kJob, kAsker)}};
  RunOn(*reactor_, [&] { two_->OnDirective(kAsker, {.jobs = {kJob}, .grants = {grant}}); });
  EXPECT_EQ(TierOf(Use(7)), "replicas");
  Await([&] { return store_->Stats().entries == 1; });
}

}  // namespace
}  // namespace headrace::dataworker::peer_tests
