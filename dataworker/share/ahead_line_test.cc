// Which pictures are decoded ahead, and the memory in which they go to the lane.
#include "dataworker/share/ahead_line.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "dataworker/share/picture_ring.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::ElementsAre;

TEST(AheadLine, BeginsAtTheFarEndOfABlockAndStaysAwayFromTheLane) {
  AheadLine line;
  for (std::int64_t i = 0; i < 40; ++i) line.Add({i, ""});
  std::vector<std::int64_t> taken;
  while (auto one = line.Take()) {
    taken.push_back(one->number);
    if (taken.size() == 3) line.At(2);  // the lane has gone on
    if (taken.size() == 20) break;
  }
  EXPECT_THAT(taken, ElementsAre(15, 14, 13, 12, 11, 10, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21,
                                 20, 19, 18));
}

// A lane that takes what it finds and decodes the rest, and one thread beside it that decodes ahead. Whatever both
// take, no sample is decoded twice but for those that are in the making when the lane comes, and the two share.
TEST(AheadLine, LaneAndThreadShareTheWork) {
  constexpr std::int64_t kSamples = 4000, kKnown = 48;
  for (unsigned seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const double decode = 4, rest = std::uniform_real_distribution(0.1, 4.0)(random);
    std::uniform_real_distribution<double> spread(0.5, 1.5);
    AheadLine line;
    std::set<std::int64_t> ready, taken;
    std::int64_t said = 0, told = 0, twice = 0;
    double lane_at = 0, thread_at = 0;
    std::optional<std::int64_t> making;
    const auto thread_until = [&](double until) {
      while (thread_at <= until) {
        if (making) ready.insert(*std::exchange(making, std::nullopt));
        const auto next = line.Take();
        if (!next) {
          thread_at = until + 1e-9;
          return;
        }
        making = next->number;
        taken.insert(next->number);
        thread_at += decode * spread(random);
      }
    };
    std::set<std::int64_t> heard;
    for (std::int64_t at = 0; at < kSamples; ++at) {
      thread_until(lane_at);
      if (at - told >= 6 || at == 0) {
        told = at;
        line.At(at);
        for (; said < std::min(at + kKnown, kSamples); ++said) line.Add({said, ""});
        heard = ready;
      }
      lane_at += rest;
      if (heard.contains(at)) continue;
      twice += taken.contains(at) ? 1 : 0;
      lane_at += decode * spread(random);
    }
    const double alone = kSamples * (decode + rest);
    EXPECT_LT(twice, kSamples / 30);
    // Both do half of the decoding where nothing but it is done, and all of it is done beside where there is time.
    const double best = std::max({alone / 2, kSamples * rest, kSamples * decode / 2});
    EXPECT_LT(lane_at, 1.12 * best);
  }
}

TEST(AheadLine, IsBounded) {
  AheadLine line;
  for (std::int64_t i = 0; i < 10'000; ++i) line.Add({i, "x"});
  EXPECT_EQ(line.size(), AheadLine::kMostWanted);
  line.At(200);
  line.At(100);
  EXPECT_EQ(line.at(), 200);
  EXPECT_EQ(line.size(), 56U);
  line.Add({199, "late"});
  EXPECT_EQ(line.size(), 56U);
}

// What a lane says may be any number.
TEST(AheadLine, NumbersThatNoSampleHasAreDropped) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t at : {kLeast, std::int64_t{0}, std::int64_t{100}, kMost - 1, kMost}) {
    SCOPED_TRACE(at);
    AheadLine line;
    line.At(at);
    for (const std::int64_t far : {std::int64_t{0}, std::int64_t{1}, std::int64_t{16}}) {
      line.Add({kLeast + far, "least"});
      line.Add({kMost - far, "most"});
    }
    line.Add({-1, "negative"});
    line.Add({line.at() + AheadLine::kFurthest + 1, "far"});
    EXPECT_FALSE(line.Take());
    line.Add({line.at() + AheadLine::kFurthest, "last"});
    const auto taken = line.Take();
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->path, "last");
    EXPECT_FALSE(line.Take());
  }
}

std::shared_ptr<PictureRing> Ring(const std::shared_ptr<WorkerMemory>& memory) {
  auto lease = memory->Take(PictureRing::kBytes, "a test");
  EXPECT_TRUE(lease.ok());
  auto ring = PictureRing::Make(std::move(lease).value());
  EXPECT_TRUE(ring.ok());
  return std::move(ring).value();
}

TEST(PictureRing, GivesEachByteToOneAndTakesAllBack) {
  const auto memory = WorkerMemory::Make(PictureRing::kBytes * 2);
  const auto ring = Ring(memory);
  EXPECT_EQ(memory->used(), PictureRing::kBytes);
  for (unsigned seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::map<std::size_t, std::size_t> taken;
    for (int i = 0; i < 3000; ++i) {
      if (random() % 5 < 3) {
        const std::size_t size = 1 + random() % (random() % 50 == 0 ? 20'000'000 : 700'000);
        const auto place = ring->Take(size);
        if (!place) continue;
        const auto next = taken.lower_bound(*place);
        if (next != taken.end()) {
          ASSERT_LE(*place + size, next->first);
        }
        if (next != taken.begin()) {
          ASSERT_LE(std::prev(next)->first + std::prev(next)->second, *place);
        }
        ASSERT_LE(*place + size, PictureRing::kBytes);
        taken.emplace(*place, size);
      } else if (!taken.empty()) {
        const auto one = std::next(taken.begin(), random() % taken.size());
        ring->Free(one->first, one->second);
        taken.erase(one);
      }
    }
    for (const auto& [place, size] : taken) ring->Free(place, size);
    ASSERT_EQ(ring->left(), PictureRing::kBytes);
    const auto all = ring->Take(PictureRing::kBytes);
    ASSERT_TRUE(all);
    ring->Free(*all, PictureRing::kBytes);
  }
}

TEST(PictureRing, NobodyElseCanWriteIt) {
  const auto ring = Ring(WorkerMemory::Make(PictureRing::kBytes));
  const int fd = ring->descriptor();
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  EXPECT_EQ(::pwrite(fd, "x", 1, 0), -1);
  EXPECT_EQ(::ftruncate(fd, 0), -1);
  void* const seen = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(seen, MAP_FAILED);
  ring->At(10, 1)[0] = std::byte{7};
  EXPECT_EQ(static_cast<const char*>(seen)[10], 7);
  ::munmap(seen, 4096);
}

}  // namespace
}  // namespace headrace::dataworker
