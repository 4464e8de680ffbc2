// Entries that move to a worker that joins, and the room that they leave.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "dataworker/cache/cache_fixture.h"
#include "dataworker/cache/memory/memory_cache.h"
#include "dataworker/peers/peer_ring.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kMovedPicture = 30'000;

// Pictures are not equal in size: within a tenth.
std::size_t MovedPictureBytes(std::uint64_t inode) {
  return kMovedPicture - 3000 + (inode * 7919) % 6000;
}

// MovingWorkers are caches here, and a job reads its samples once an epoch, in another order each time. A miss of
// the owner is looked for at the runner-up, which gives it away (CacheLease).
class MovingWorkers {
  class Owners final : public EntryOwners {
   public:
    Owners(const MovingWorkers& all, WorkerId self) : all_(all), self_(self) {}
    [[nodiscard]] std::uint64_t version() const override { return all_.caches_.size(); }
    [[nodiscard]] bool IsElsewhere(JobId, const EntryId& id, std::size_t) const override {
      return all_.ring_.OwnerOf(id) != self_;
    }

   private:
    const MovingWorkers& all_;
    const WorkerId self_;
  };

 public:
  MovingWorkers(int count, std::uint64_t room) : room_(room) {
    for (int i = 0; i < count; ++i) Join();
  }
  void Join() {
    caches_.push_back(MakeMemoryCache(room_));
    caches_.back()->SetOwners(
        std::make_shared<Owners>(*this, WorkerId(static_cast<std::int64_t>(caches_.size()))));
    caches_.back()->AddJob(kJob, kNoQuota);
    std::vector<PeerRing::Member> members;
    for (std::size_t i = 0; i < caches_.size(); ++i) {
      members.push_back({WorkerId(static_cast<std::int64_t>(i) + 1), room_});
    }
    ring_ = PeerRing(members);
  }
  // Returns how many of the samples nobody had.
  std::uint64_t Epoch(std::uint64_t samples, std::mt19937& random) {
    std::vector<std::uint64_t> order(samples);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    std::uint64_t misses = 0;
    for (const std::uint64_t inode : order) {
      const PeerRing::Ranked ranked = ring_.RankOf(EntryId::Of(Key(inode)));
      CacheTier& owner = Of(ranked.owner);
      if (owner.Find(kJob, Key(inode)).pin) continue;
      CacheTier::Claim claim = owner.TryClaim(kJob, Key(inode), MovedPictureBytes(inode));
      if (!claim) {
        ++misses;
        continue;
      }
      CachePin moved = Of(ranked.next).Find(kJob, Key(inode)).pin;
      if (!moved) ++misses;
      claim.Commit(Payload(inode, 0, MovedPictureBytes(inode)));
      moved = {};
      Of(ranked.next).Forget(Key(inode));
    }
    return misses;
  }
  [[nodiscard]] std::uint64_t entries() const {
    std::uint64_t sum = 0;
    for (const auto& cache : caches_) sum += cache->Stats().entries;
    return sum;
  }

 private:
  CacheTier& Of(WorkerId worker) { return *caches_[static_cast<std::size_t>(worker.value) - 1]; }
  const std::uint64_t room_;
  std::vector<std::unique_ptr<CacheTier>> caches_;
  PeerRing ring_;
};

TEST(MovedEntriesTest, AWorkerThatJoinsBringsAllItsRoom) {
  constexpr std::uint64_t kSamples = 600;
  for (unsigned seed = 0; seed < 5; ++seed) {
    std::mt19937 random(seed);
    MovingWorkers workers(4, kSamples * kMovedPicture / 8);  // together half of them
    for (int epoch = 0; epoch < 3; ++epoch) workers.Epoch(kSamples, random);
    const std::uint64_t before = workers.Epoch(kSamples, random);
    EXPECT_NEAR(static_cast<double>(before), kSamples / 2, kSamples * 0.04);
    workers.Join();
    // What moves is found where it was. The new one's room is full before all of that has come.
    EXPECT_LE(workers.Epoch(kSamples, random), before + kSamples / 20);
    for (int epoch = 0; epoch < 5; ++epoch) workers.Epoch(kSamples, random);
    EXPECT_NEAR(static_cast<double>(workers.Epoch(kSamples, random)), kSamples * 3 / 8.,
                kSamples * 0.04);
    EXPECT_NEAR(static_cast<double>(workers.entries()), kSamples * 5 / 8., kSamples * 0.04);
  }
}

}  // namespace
}  // namespace headrace::dataworker
