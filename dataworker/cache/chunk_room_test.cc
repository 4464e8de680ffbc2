#include "dataworker/cache/chunk_room.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace headrace::dataworker {
namespace {

EntryId RoomEntry(std::uint64_t number) { return {.place = {number, 0}, .form = {}}; }

// Whatever comes and goes: no two entries share a byte, all lie inside, and holes and entries together are
// what was filled. What was left by neighbours takes one entry of their size together.
TEST(ChunkRoom, EntriesNeverShareABytesAndHolesAreAllThatIsLeft) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    ChunkRoom room(1 << 20);
    std::map<std::size_t, std::size_t> model;  // bytes by place
    std::map<std::size_t, std::uint64_t> ids;
    for (std::uint64_t step = 0; step < 2000; ++step) {
      const std::size_t need = (1 + random() % 300) * ChunkRoom::kUnit;
      if (random() % 2 == 0 && !model.empty()) {
        const auto gone = std::next(model.begin(), static_cast<long>(random() % model.size()));
        room.Leave(gone->first);
        ids.erase(gone->first);
        model.erase(gone);
      } else if (need <= room.largest_hole() || need <= room.end()) {
        const std::size_t at = need <= room.largest_hole() ? room.TakeHole(RoomEntry(step), need)
                                                           : room.TakeEnd(RoomEntry(step), need);
        model[at] = need;
        ids[at] = step;
      }
      std::size_t end = 0, taken = 0;
      for (const auto& [at, bytes] : model) {
        ASSERT_GE(at, end);
        end = at + bytes;
        taken += bytes;
      }
      ASSERT_LE(end, room.filled());
      ASSERT_EQ(room.entries(), model.size());
      ASSERT_LE(taken + room.hole_bytes(), room.filled());
      // What stays with an entry beside its own bytes.
      ASSERT_LT(room.filled() - taken - room.hole_bytes(),
                model.size() * ChunkRoom::kLeastHole + ChunkRoom::kUnit);
    }
    std::vector<EntryId> expected;
    for (const auto& [at, id] : ids) expected.push_back(RoomEntry(id));
    EXPECT_EQ(room.TakeIds(), expected);
    EXPECT_EQ(room.largest_hole(), 0U);
  }
}

TEST(ChunkRoom, WhatNeighboursLeaveIsOneHole) {
  ChunkRoom room(1 << 20);
  std::size_t places[5];
  for (std::uint64_t i = 0; i < 5; ++i) places[i] = room.TakeEnd(RoomEntry(i), 6400);
  room.Leave(places[1]);
  room.Leave(places[3]);
  EXPECT_EQ(room.largest_hole(), 6400U);
  room.Leave(places[2]);
  EXPECT_EQ(room.largest_hole(), 3 * 6400U);
  EXPECT_EQ(room.TakeHole(RoomEntry(9), 12'800), places[1]);
  EXPECT_EQ(room.hole_bytes(), 6400U);
  room.Leave(places[4]);
  EXPECT_EQ(room.largest_hole(), 2 * 6400U) << "also the last one's, at the end";
}

TEST(ChunkRoom, TheEndGoesInWholePages) {
  ChunkRoom room(10 * ChunkRoom::kPage);
  EXPECT_EQ(room.CuttableEnd(), 9 * ChunkRoom::kPage);
  room.TakeEnd(RoomEntry(1), ChunkRoom::kPage + ChunkRoom::kUnit);
  EXPECT_EQ(room.CutEnd(), 8 * ChunkRoom::kPage);
  EXPECT_EQ(room.size(), 2 * ChunkRoom::kPage);
  EXPECT_EQ(room.CutEnd(), 0U);
  EXPECT_EQ(room.end(), ChunkRoom::kPage - ChunkRoom::kUnit);
}

}  // namespace
}  // namespace headrace::dataworker
