// Pictures that are decoded ahead: whose, in which order, how much memory, and what decides that none is.
#include "dataworker/share/pictures_ahead.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataworker/share/pictures_ahead_fixture.h"
#include "dataworker/stage/object_ask.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using As = PicturesAhead::As;

TEST_F(PicturesAheadTest, NothingIsDecodedAndNoMemoryTakenWhereNoCoreIdles) {
  Make();
  Idle(0);
  const auto told = Ask({.wants_memory = true, .wanted = Samples(0, 40)});
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told->cores, 0);
  EXPECT_FALSE(told->memory.valid());
  EXPECT_EQ(memory_->used(), 0U);
  use_.reset();  // nobody knows
  Idle(3);
  EXPECT_EQ(Ask({.wanted = Samples(0, 40)})->cores, 0);
  ahead_->Stop();
  EXPECT_EQ(decodes_, 0);
}

TEST_F(PicturesAheadTest, AHostWithOneCoreDecodesNothing) {
  Make(0);
  EXPECT_EQ(Ask({}).status().code(), Code::kUnsupported);
}

TEST_F(PicturesAheadTest, TellsEachPictureOnceAndWhereItIs) {
  Make();
  Idle(1);
  auto told = Ask({.as = As::kBgr, .wants_memory = true, .wanted = Samples(0, 16)});
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told->cores, 1);
  ASSERT_TRUE(told->memory.valid());
  std::vector<PicturesAhead::Row> rows = told->rows;
  while (rows.size() < 7) {  // 8 to 15, of which 13 is no picture
    const auto more = Ask({.as = As::kBgr});
    rows.insert(rows.end(), more->rows.begin(), more->rows.end());
    std::this_thread::yield();
  }
  std::ranges::sort(rows);
  EXPECT_EQ(rows.size(), 7U);
  std::array<char, PictureRing::kBytes / 1024> seen{};
  ASSERT_GT(::pread(told->memory.get(), seen.data(), seen.size(), 0), 0);
  for (const PicturesAhead::Row& row : rows) {
    EXPECT_THAT(std::vector(row.begin() + 1, row.begin() + 6), ElementsAre(1, 2, 3, 4, 5));
    EXPECT_THAT(std::vector(row.begin() + 7, row.end()),
                ElementsAre(1, 1, 1, 7, static_cast<int>(As::kBgr)));
    ASSERT_LT(row[6], seen.size());
    EXPECT_EQ(seen[row[6]], static_cast<char>(As::kBgr));
  }
  EXPECT_EQ(rows.front()[0], 8U);
  EXPECT_THAT(Ask({})->rows, IsEmpty());
}

TEST_F(PicturesAheadTest, ARingThatIsFullWaitsUntilTheLaneHasPassed) {
  Make();
  Idle(1);
  bytes_ = PicturesAhead::kMostPixelBytes;
  constexpr std::size_t kFit = PictureRing::kBytes / PicturesAhead::kMostPixelBytes;
  ASSERT_TRUE(Ask({.wanted = Samples(14, 32)}).ok());
  // 15, 14, then 31 down.
  const auto first = Numbers(kFit);
  EXPECT_EQ(first.size(), kFit);
  EXPECT_TRUE(first.contains(14) && first.contains(31));
  EXPECT_THAT(Ask({})->rows, IsEmpty());
  const auto more = Numbers(2, 16);
  EXPECT_EQ(more.size(), 2U);
  EXPECT_FALSE(more.contains(31));
}

TEST_F(PicturesAheadTest, APictureComesThoughRoomWasMadeWhileItHadNone) {
  Make();
  Idle(1);
  bytes_ = PicturesAhead::kMostPixelBytes;
  constexpr std::size_t kFit = PictureRing::kBytes / PicturesAhead::kMostPixelBytes;
  no_room_gate_ = std::make_unique<std::latch>(1);
  ASSERT_TRUE(Ask({.wanted = Samples(16, 16 + kFit)}).ok());
  EXPECT_EQ(Numbers(kFit).size(), kFit);
  ASSERT_TRUE(Ask({.wanted = Samples(100, 101)}).ok());
  while (refused_ < 1) std::this_thread::yield();
  ASSERT_TRUE(Ask({.at = 30}).ok());  // the lane makes room
  no_room_gate_->count_down();
  EXPECT_EQ(Numbers(1, 30), (std::set<std::int64_t>{100}));
}

TEST_F(PicturesAheadTest, AnOversizedPictureIsLeftOut) {
  Make();
  Idle(1);
  bytes_ = PicturesAhead::kMostPixelBytes + 1;
  ASSERT_TRUE(Ask({.wanted = Samples(8, 16)}).ok());
  while (decodes_ < 8) std::this_thread::yield();
  EXPECT_THAT(Ask({})->rows, IsEmpty());
  EXPECT_EQ(decodes_, 8);
}

TEST_F(PicturesAheadTest, SessionsThatEndGiveTheirMemoryBack) {
  Make();
  Idle(1);
  ahead_->Forget(kPicturesOne);
  EXPECT_EQ(memory_->used(), 0U);
  gate_ = std::make_unique<std::latch>(1);
  ASSERT_TRUE(Ask({.wanted = Samples(8, 16)}).ok());
  ASSERT_TRUE(Ask({.wanted = Samples(8, 16)}, kPicturesTwo).ok());
  EXPECT_EQ(memory_->used(), 2 * PictureRing::kBytes);
  ahead_->Forget(kPicturesOne);
  gate_->count_down();
  Numbers(0);
  ahead_->Forget(kPicturesTwo);
  ahead_->Forget(kPicturesOne);
  ahead_->Stop();
  EXPECT_EQ(memory_->used(), 0U);
  EXPECT_EQ(Ask({}).status().code(), Code::kUnsupported);
}

TEST_F(PicturesAheadTest, OnlySoManyLanesAndSoMuchMemory) {
  Make(1, 2 * PictureRing::kBytes);
  Idle(1);  // lane 99, which has a ring
  EXPECT_TRUE(Ask({.lane = 1}).ok());
  EXPECT_EQ(Ask({.lane = 2}).status().code(), Code::kResourceExhausted);
  Make(1, 64 * PictureRing::kBytes);
  Idle(1);
  for (std::uint64_t lane = 1; lane < PicturesAhead::kMostLanes; ++lane) {
    EXPECT_TRUE(Ask({.lane = lane}).ok());
  }
  EXPECT_EQ(Ask({.lane = 1000}).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(memory_->used(), PicturesAhead::kMostLanes * PictureRing::kBytes);
}

TEST_F(PicturesAheadTest, WhoIsSilentGivesItsMemoryAndItsPlaceBack) {
  Make(1, 64 * PictureRing::kBytes);
  Idle(1);
  for (std::uint64_t lane = 1; lane < PicturesAhead::kMostLanes; ++lane) {
    EXPECT_TRUE(Ask({.lane = lane, .wants_memory = true})->memory.valid());
  }
  now_ += PicturesAhead::kKeeps - std::chrono::seconds(1);
  EXPECT_TRUE(Ask({.lane = 1}).ok());
  ahead_->GiveBack();
  EXPECT_EQ(memory_->used(), PicturesAhead::kMostLanes * PictureRing::kBytes);
  EXPECT_EQ(Ask({.lane = 1000}).status().code(), Code::kResourceExhausted);
  now_ += std::chrono::seconds(1);
  EXPECT_TRUE(Ask({.lane = 1000}).ok());
  EXPECT_EQ(memory_->used(), PictureRing::kBytes) << "lane 1 has asked";
  now_ += PicturesAhead::kKeeps;
  ahead_->GiveBack();
  EXPECT_EQ(memory_->used(), 0U);
  // Whoever asks again gets other memory, though it believes that it has some.
  Idle(1);
  EXPECT_TRUE(Ask({.lane = 1}).value().memory.valid());
  EXPECT_FALSE(Ask({.lane = 1}).value().memory.valid());
}

TEST_F(PicturesAheadTest, ASilentLaneKeepsItsMemoryWhileAPictureIsMade) {
  Make();
  Idle(1);
  ahead_->Forget(kPicturesOne);
  gate_ = std::make_unique<std::latch>(1);
  ASSERT_TRUE(Ask({.wanted = Samples(8, 9)}).ok());
  while (making_ < 1) std::this_thread::yield();
  now_ += PicturesAhead::kKeeps;
  ahead_->GiveBack();
  EXPECT_EQ(memory_->used(), PictureRing::kBytes);
  gate_->count_down();
  std::vector<PicturesAhead::Row> rows;
  while (rows.empty() && memory_->used() > 0) {
    rows = Ask({}).value().rows;
    std::this_thread::yield();
  }
  EXPECT_EQ(rows.size(), 1U);
}

TEST_F(PicturesAheadTest, LanesWithoutMemoryKeepNobodyOut) {
  Make(1, PictureRing::kBytes);
  Idle(1);  // lane 99 has all memory
  for (std::uint64_t lane = 0; lane < 3 * PicturesAhead::kMostLanes; ++lane) {
    EXPECT_EQ(Ask({.lane = lane}, kPicturesTwo).status().code(), Code::kResourceExhausted);
  }
  ahead_->Forget(kPicturesOne);
  EXPECT_TRUE(Ask({.lane = 1000}, kPicturesTwo).value().memory.valid());
  // Where no core idles, lanes have none either.
  Make();
  for (std::uint64_t lane = 0; lane < 3 * PicturesAhead::kMostLanes; ++lane) {
    EXPECT_TRUE(Ask({.lane = lane}).ok()) << lane;
  }
}

TEST_F(PicturesAheadTest, WhatAProcessWasGivenIsNotWrittenForAnother) {
  Make();
  Idle(1);
  const auto one = Ask({.wants_memory = true, .wanted = Samples(8, 9)});
  ASSERT_TRUE(one.ok() && one->memory.valid());
  EXPECT_EQ(Numbers(1).size(), 1U);  // its row may still be read
  const auto two = Ask({.as = As::kBgr, .wants_memory = true, .wanted = Samples(8, 9)});
  ASSERT_TRUE(two.ok() && two->memory.valid());
  while (Ask({.as = As::kBgr})->rows.empty()) std::this_thread::yield();
  const auto first_byte = [](const PicturesAhead::Told& told) {
    char byte = 0;
    EXPECT_EQ(::pread(told.memory.get(), &byte, 1, 0), 1);
    return byte;
  };
  EXPECT_EQ(first_byte(*one), static_cast<char>(As::kPil));
  EXPECT_EQ(first_byte(*two), static_cast<char>(As::kBgr));
}

// Pictures that are there, wanted, or under way, before or after they have room: none of them comes.
TEST_F(PicturesAheadTest, WhatWasDecodedInAnotherWayDoesNotCome) {
  constexpr int kFit = PictureRing::kBytes / PicturesAhead::kMostPixelBytes;
  for (const bool has_room : {false, true}) {
    SCOPED_TRACE(has_room);
    making_ = placed_ = 0;
    bytes_ = PicturesAhead::kMostPixelBytes;
    gated_ = "100";
    std::unique_ptr<std::latch>& gate = has_room ? late_gate_ : gate_;
    gate = std::make_unique<std::latch>(1);
    Make();
    Idle(1);
    std::vector<AheadLine::Wanted> wanted = Samples(120, 124);
    wanted.push_back({8, "8"});  // the first
    wanted.push_back({100, "100"});
    ASSERT_TRUE(Ask({.as = As::kRgb, .wanted = std::move(wanted)}).ok());
    const std::atomic<int>& under_way = has_room ? placed_ : making_;
    while (under_way < 2) std::this_thread::yield();
    auto told = Ask({.as = As::kBgr, .wanted = Samples(16, 16 + kFit)});
    gate->count_down();
    ASSERT_TRUE(told.ok());
    ASSERT_THAT(told->rows, IsEmpty());
    std::set<std::uint64_t> numbers;
    while (numbers.size() < kFit) {  // all of the lane's memory is there for them
      told = Ask({.as = As::kBgr});
      for (const PicturesAhead::Row& row : told->rows) {
        ASSERT_EQ(row[11], static_cast<std::uint64_t>(As::kBgr));
        ASSERT_TRUE(row[0] >= 16 && row[0] < 16 + kFit) << row[0];
        numbers.insert(row[0]);
      }
      std::this_thread::yield();
    }
    ahead_->Stop();
    gate = nullptr;
  }
}

TEST_F(PicturesAheadTest, AnotherProcessOfTheLaneBeginsAnew) {
  Make();
  Idle(1);
  ASSERT_TRUE(Ask({.at = 1000, .wants_memory = true, .wanted = Samples(1008, 1016)}).ok());
  EXPECT_EQ(Numbers(8, 1000).size(), 8U);
  auto told = Ask({.at = 0, .wants_memory = true, .wanted = Samples(8, 13)});
  ASSERT_TRUE(told.ok() && told->memory.valid());
  EXPECT_EQ(Numbers(5), (std::set<std::int64_t>{8, 9, 10, 11, 12}));
  // One whose first sample is no earlier, while a picture for the one before it is made.
  gate_ = std::make_unique<std::latch>(1);
  ASSERT_TRUE(Ask({.wanted = Samples(100, 101)}).ok());
  while (making_ < 14) std::this_thread::yield();
  told = Ask({.at = 20, .wants_memory = true, .wanted = Samples(30, 31)});
  ASSERT_TRUE(told.ok() && told->memory.valid());
  gate_->count_down();
  EXPECT_EQ(Numbers(1, 20), (std::set<std::int64_t>{30}));
  EXPECT_LE(memory_->used(), 2 * PictureRing::kBytes) << "lane 99 has one, too";
}

TEST_F(PicturesAheadTest, LanesTakeTurns) {
  Make();
  Idle(1);
  gate_ = std::make_unique<std::latch>(1);
  ASSERT_TRUE(Ask({.lane = 1, .wanted = Samples(100, 110)}).ok());
  ASSERT_TRUE(Ask({.lane = 2, .wanted = Samples(100, 110)}).ok());
  gate_->count_down();
  while (decodes_ < 6) std::this_thread::yield();
  const auto one = Ask({.lane = 1}), two = Ask({.lane = 2});
  ahead_->Stop();
  EXPECT_GE(one->rows.size(), 1U);
  EXPECT_GE(two->rows.size(), 1U);
}

// What a lane may say, at random: whatever it is, it is read or refused, and bounds hold.
TEST_F(PicturesAheadTest, TakesWhateverItIsTold) {
  Make(2);
  Idle(2);
  std::mt19937 random(20261130);
  for (int i = 0; i < 4000; ++i) {
    ObjectAsk ask;
    const auto text = [&](int most) {
      std::string made;
      for (int n = static_cast<int>(random() % most); n > 0; --n) {
        made += "0123456789,-x\0\0\0\0"[random() % 17];
      }
      return made;
    };
    ask.version = random() % 2 == 0 ? text(12) : std::to_string(random() % 500) + ",1,0";
    ask.token = text(200);
    const auto decoding = ask.DecodingOf(PicturesAhead::kMostAs);
    if (!decoding.ok()) continue;
    PicturesAhead::Question question{.lane = random() % 3,
                                     .at = decoding->at,
                                     .as = static_cast<As>(decoding->as),
                                     .wants_memory = decoding->wants_memory};
    for (auto& opened : ask.WasOpened()) {
      for (auto& name : opened.names) question.wanted.push_back({opened.key, std::move(name)});
    }
    const auto told = Ask(std::move(question));
    if (told.ok()) {
      for (const PicturesAhead::Row& row : told->rows)
        ASSERT_LT(row[6] + row[7], PictureRing::kBytes);
    }
  }
  ahead_->Stop();
}

}  // namespace
}  // namespace headrace::dataworker
