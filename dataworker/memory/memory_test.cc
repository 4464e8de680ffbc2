// Arenas, blobs and the memory of batches that leave over the network.
#include "dataworker/memory/memory_map.h"
#include "dataworker/memory/payload_pool.h"
#include "dataworker/worker/worker_fixture.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

TEST(ArenaMap, SlotsOutsideOfItAreRefused) {
  const TestArena memory(8192);
  const auto arena = ArenaMap::Map(UniqueFd(::dup(memory.fd())), 8192);
  ASSERT_TRUE(arena.ok());
  EXPECT_TRUE((*arena)->Slot(0, 8192).ok());
  EXPECT_TRUE((*arena)->Slot(8192, 0).ok());
  for (const auto& [offset, bytes] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {8192, 1}, {64, 8192}, {std::uint64_t(-64), 128}, {64, std::uint64_t(-1)}, {1, 10}}) {
    EXPECT_EQ((*arena)->Slot(offset, bytes).status().code(), Code::kInvalidArgument);
  }
}

TEST(ArenaMap, ASizeThatTheFileDoesNotHaveIsRefused) {
  const TestArena memory(8192);
  const auto arena = ArenaMap::Map(UniqueFd(::dup(memory.fd())), 16384);
  EXPECT_EQ(arena.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(arena.status().message(), HasSubstr("8192 bytes was passed as 16384"));
}

TEST(Blob, ContentThatItsMakerCanStillChangeIsCopied) {
  const TestArena memory(4096);
  memory.memory()[5] = std::byte{7};
  const auto blob = BlobFromDescriptor(UniqueFd(::dup(memory.fd())), 4096);
  ASSERT_TRUE(blob.ok());
  memory.memory()[5] = std::byte{8};
  EXPECT_EQ((**blob)[5], std::byte{7});
}

TEST(BlobBuilder, PartsComeInOrderAndNoMoreThanAnnounced) {
  const Bytes part(10, std::byte{1});
  auto builder = BlobBuilder::Make(15);
  ASSERT_TRUE(builder.ok());
  EXPECT_EQ(builder->Append(5, part).code(), Code::kInvalidArgument);
  EXPECT_TRUE(builder->Append(0, part).ok());
  EXPECT_FALSE(builder->complete());
  EXPECT_EQ(builder->Append(10, part).code(), Code::kInvalidArgument);
  EXPECT_TRUE(builder->Append(10, ByteSpan(part).first(5)).ok());
  ASSERT_TRUE(builder->complete());
  EXPECT_EQ(builder->Take()->size(), 15U);
  auto empty = BlobBuilder::Make(0);
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->complete());
  EXPECT_EQ(empty->Take()->size(), 0U);
}

TEST(PayloadPool, MemoryIsUsedAgainAndBounded) {
  PayloadPool pool(1 << 20, 1 << 20, WorkerMemory::Make(1 << 30));
  auto first = pool.Take(JobId(1), 300'000);
  ASSERT_TRUE(first.ok());
  const std::byte* address = first->memory.data();
  first->memory[299'999] = std::byte{1};
  EXPECT_EQ(pool.Take(JobId(1), 900'000).status().code(), Code::kResourceExhausted);
  EXPECT_GE(pool.lent_bytes(), 300'000U);
  first->hold.reset();
  EXPECT_EQ(pool.lent_bytes(), 0U);
  const auto second = pool.Take(JobId(1), 280'000);
  EXPECT_EQ(second->memory.data(), address);
  EXPECT_EQ(pool.Take(JobId(1), std::uint64_t(-5)).status().code(), Code::kResourceExhausted);
}

TEST(PayloadPool, BuffersOutliveIt) {
  auto pool = std::make_unique<PayloadPool>(1 << 20, 1 << 20, WorkerMemory::Make(1 << 30));
  const auto buffer = pool->Take(JobId(1), 1000);
  pool.reset();
  buffer->memory[999] = std::byte{1};
}

}  // namespace
}  // namespace headrace::dataworker
