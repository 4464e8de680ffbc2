#include "dataworker/peers/peer_ring.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <random>
#include <vector>

#include "dataworker/cache/cache_fixture.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using Members = std::vector<PeerRing::Member>;
constexpr std::size_t kEntries = 20'000;

std::vector<WorkerId> Owners(const Members& members) {
  const PeerRing ring(members);
  std::vector<WorkerId> owners;
  for (std::size_t i = 0; i < kEntries; ++i) owners.push_back(ring.OwnerOf(EntryId::Of(Key(i))));
  return owners;
}

double Sum(const Members& members) {
  double sum = 0;
  for (const auto& member : members) sum += static_cast<double>(member.weight);
  return sum;
}

// Each part within five standard deviations of what its weight gives.
void ExpectParts(const Members& members, const std::vector<WorkerId>& owners) {
  std::map<WorkerId, double> parts;
  for (const WorkerId owner : owners) ++parts[owner];
  for (const auto& [worker, weight] : members) {
    const double part = static_cast<double>(weight) / Sum(members);
    const double n = kEntries;
    EXPECT_NEAR(parts[worker], n * part, 5 * std::sqrt(n * part * (1 - part)) + 1)
        << "worker " << worker.value;
  }
}

class PeerRingTest : public testing::TestWithParam<int> {
 protected:
  PeerRingTest() : random_(static_cast<unsigned>(GetParam())) {
    const std::uint64_t count = 1 + random_() % 16;
    for (std::uint64_t i = 0; i < count; ++i)
      members_.push_back({WorkerId(static_cast<std::int64_t>(i * 3 + 1)), Weight()});
  }
  std::uint64_t Weight() { return (std::uint64_t{1} << 30) + random_() % (std::uint64_t{8} << 30); }

  std::mt19937_64 random_;
  Members members_;
};

TEST_P(PeerRingTest, EachOwnsItsPartByWeight) { ExpectParts(members_, Owners(members_)); }

TEST_P(PeerRingTest, TheOrderOfTheMembersDoesNotMatter) {
  const auto owners = Owners(members_);
  std::shuffle(members_.begin(), members_.end(), random_);
  EXPECT_EQ(Owners(members_), owners);
}

TEST_P(PeerRingTest, WhoJoinsTakesItsPartAndNothingElseMoves) {
  const auto before = Owners(members_);
  const WorkerId joined(1000);
  members_.push_back({joined, Weight()});
  const auto after = Owners(members_);
  ExpectParts(members_, after);
  for (std::size_t i = 0; i < kEntries; ++i) {
    ASSERT_TRUE(after[i] == before[i] || after[i] == joined) << "entry " << i;
  }
}

TEST_P(PeerRingTest, ThePartOfWhoLeavesGoesToTheOthersAndNothingElseMoves) {
  const auto before = Owners(members_);
  const std::size_t at = random_() % members_.size();
  const WorkerId left = members_[at].worker;
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(at));
  const auto after = Owners(members_);
  if (!members_.empty()) ExpectParts(members_, after);
  for (std::size_t i = 0; i < kEntries; ++i) {
    ASSERT_EQ(after[i] == before[i], before[i] != left) << "entry " << i;
  }
}

TEST_P(PeerRingTest, WhereAWeightGrowsEntriesMoveToThatWorkerAlone) {
  const auto before = Owners(members_);
  PeerRing::Member& grown = members_[random_() % members_.size()];
  grown.weight += grown.weight / 3;
  const auto after = Owners(members_);
  ExpectParts(members_, after);
  for (std::size_t i = 0; i < kEntries; ++i) {
    ASSERT_TRUE(after[i] == before[i] || after[i] == grown.worker) << "entry " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PeerRingTest, testing::Range(0, 12));

TEST(PeerRing, WhoHasNoRoomOwnsNothing) {
  EXPECT_FALSE(PeerRing().OwnerOf(EntryId::Of(Key(1))).valid());
  EXPECT_FALSE(PeerRing({{WorkerId(1), 0}}).OwnerOf(EntryId::Of(Key(1))).valid());
  const auto owners = Owners({{WorkerId(1), 0}, {WorkerId(2), 1}});
  for (const WorkerId owner : owners) ASSERT_EQ(owner, WorkerId(2));
}

TEST(PeerRing, TheRunnerUpOwnsWhatTheOwnerLeavesAndHadItBefore) {
  const std::vector<PeerRing::Member> members = {
      {WorkerId(1), 100}, {WorkerId(2), 300}, {WorkerId(3), 200}, {WorkerId(4), 0}};
  const PeerRing ring(members);
  for (std::uint64_t inode = 0; inode < 1000; ++inode) {
    const EntryId id{.place = {inode, 1}};
    const PeerRing::Ranked ranked = ring.RankOf(id);
    std::vector<PeerRing::Member> others = members;
    std::erase_if(others, [&](const auto& each) { return each.worker == ranked.owner; });
    EXPECT_EQ(ranked.next, PeerRing(others).OwnerOf(id));
  }
  EXPECT_FALSE(PeerRing({{WorkerId(1), 100}}).RankOf({}).next.valid());
}

}  // namespace
}  // namespace headrace::dataworker
