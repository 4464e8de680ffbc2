#include "dataworker/session/batch_memory.h"

#include <unistd.h>

#include "dataworker/worker/worker_fixture.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

class BatchMemoryTest : public ::testing::Test {
 protected:
  static std::shared_ptr<ArenaMap> Map(const TestArena& memory) {
    return *ArenaMap::Map(UniqueFd(::dup(memory.fd())), memory.memory().size());
  }
  static wire::BatchRequest Slot(std::uint64_t offset, std::uint64_t bytes) {
    wire::BatchRequest request;
    request.slot_offset = offset;
    request.slot_bytes = bytes;
    return request;
  }

  TestArena shared_{8192};
  std::shared_ptr<ArenaMap> arena_ = Map(shared_);
  PayloadPool payloads_{8 << 20, 0, WorkerMemory::Make(1 << 30)};
  BatchMemory memory_{payloads_, JobId(1)};
};

TEST_F(BatchMemoryTest, ABatchGoesIntoItsSlotOfTheArenaThatTheTrainerWantsUsed) {
  memory_.SetArena(3, arena_);
  EXPECT_EQ(memory_.used_arena(), nullptr);
  memory_.UseArena(true);
  EXPECT_EQ(memory_.used_arena(), arena_);
  const auto place = memory_.Take(Slot(4096, 4096), 100);
  ASSERT_TRUE(place.ok());
  EXPECT_FALSE(place->leaves);
  EXPECT_EQ(place->memory.size(), 100U);
  EXPECT_EQ(place->hold, arena_);
  place->memory[0] = std::byte{7};
  EXPECT_EQ(shared_.memory()[4096], std::byte{7});
  EXPECT_EQ(payloads_.lent_bytes(), 0U);
  EXPECT_EQ(memory_.Take(Slot(8192, 64), 10).status().code(), Code::kInvalidArgument);
}

TEST_F(BatchMemoryTest, WithoutOneTheAnswerTakesItsMemoryAlong) {
  memory_.UseArena(true);  // that has not come
  const auto place = memory_.Take(Slot(0, 4096), 100);
  ASSERT_TRUE(place.ok());
  EXPECT_TRUE(place->leaves);
  EXPECT_EQ(place->memory.size(), 100U);
  EXPECT_NE(place->hold, nullptr);
  EXPECT_GT(payloads_.lent_bytes(), 0U);
  EXPECT_EQ(memory_.Take(Slot(0, 9 << 20), 9 << 20).status().code(), Code::kResourceExhausted);
  // An arena that the trainer does not want used changes nothing.
  memory_.SetArena(3, arena_);
  memory_.UseArena(false);
  const auto other = memory_.Take(Slot(0, 64), 10);
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(other->leaves);
}

TEST_F(BatchMemoryTest, TheLastArenaIsItsConnections) {
  EXPECT_FALSE(memory_.HasArenaOf(0));
  memory_.SetArena(3, arena_);
  EXPECT_TRUE(memory_.has_arena());
  EXPECT_TRUE(memory_.HasArenaOf(3));
  memory_.SetArena(4, Map(shared_));
  EXPECT_FALSE(memory_.HasArenaOf(3));
  EXPECT_TRUE(memory_.HasArenaOf(4));
  memory_.Release();
  EXPECT_FALSE(memory_.has_arena());
  EXPECT_FALSE(memory_.HasArenaOf(4));
}

}  // namespace
}  // namespace headrace::dataworker
