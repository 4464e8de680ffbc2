#include "dataworker/memory/worker_memory.h"

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dataworker/cache/memory/memory_cache.h"
#include "dataworker/memory/host_room.h"
#include "dataworker/memory/payload_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

TEST(WorkerMemory, WhatItHasAndNeedsForItsThreadsIsNotForWork) {
  EXPECT_EQ(WorkerMemory::Budget(1000 * kMib, 100 * kMib, 4),
            1000 * kMib - 100 * kMib - 4 * WorkerMemory::kSmallPicture);
  EXPECT_EQ(WorkerMemory::Budget(100 * kMib, 90 * kMib, 4), 25 * kMib) << "some is there always";
}

TEST(WorkerMemory, WorkIsAdmittedAsFarAsItFits) {
  const auto memory = WorkerMemory::Make(100 * kMib);
  std::optional<WorkerMemory::Lease> first = *memory->Take(60 * kMib, "a batch");
  EXPECT_EQ(memory->used(), 60 * kMib);
  const auto second = memory->Take(50 * kMib, "a picture of 9x9");
  EXPECT_EQ(second.status().code(), Code::kResourceExhausted) << "for now";
  EXPECT_THAT(second.status().message(), HasSubstr("a picture of 9x9 takes 50 MiB"));
  EXPECT_THAT(second.status().message(), HasSubstr("60 MiB of 100 MiB"));
  EXPECT_THAT(second.status().message(), HasSubstr("--memory"));
  EXPECT_EQ(memory->used(), 60 * kMib);
  first.reset();
  EXPECT_EQ(memory->used(), 0U);
  EXPECT_TRUE(memory->Take(50 * kMib, "a picture").ok());
  EXPECT_EQ(memory->Take(101 * kMib, "a picture").status().code(), Code::kUnsupported) << "never";
}

TEST(WorkerMemory, WhoWaitsGetsItInTurnWhenOthersHaveFreed) {
  const auto memory = WorkerMemory::Make(100 * kMib);
  const WorkerMemory::Waiting waiting{std::chrono::minutes(10), {}, {}};
  std::optional<WorkerMemory::Lease> first = *memory->Take(60 * kMib, "a picture");
  std::atomic<bool> tried = false;
  auto large = std::async(std::launch::async, [&] {
    return memory->TakeInTurn(100 * kMib, "a large one",
                              {waiting.patience, [&tried] { tried = true; }, {}});
  });
  while (!tried) std::this_thread::yield();
  auto small = std::async(std::launch::async,
                          [&] { return memory->TakeInTurn(10 * kMib, "a small one", waiting); });
  EXPECT_EQ(small.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout)
      << "the large one is before it";
  first.reset();
  {
    const auto lease = large.get();
    ASSERT_TRUE(lease.ok()) << lease.status().ToString();
    EXPECT_EQ(memory->used(), 100 * kMib);
  }
  EXPECT_TRUE(small.get().ok());
}

TEST(WorkerMemory, NobodyWaitsForWhatCannotComeOrIsWantedNoMore) {
  const auto memory = WorkerMemory::Make(100 * kMib);
  const WorkerMemory::Waiting patient{std::chrono::minutes(10), {}, {}};
  EXPECT_EQ(memory->TakeInTurn(101 * kMib, "a picture", patient).status().code(),
            Code::kUnsupported);
  {
    const auto table = memory->TakeForLong(50 * kMib, "a table");
    EXPECT_EQ(memory->TakeInTurn(51 * kMib, "a picture", patient).status().code(),
              Code::kResourceExhausted);
  }
  const auto batch = memory->Take(50 * kMib, "a batch");
  EXPECT_EQ(memory->TakeInTurn(51 * kMib, "a picture", {patient.patience, {}, [] { return true; }})
                .status()
                .code(),
            Code::kResourceExhausted);
  EXPECT_EQ(memory->TakeInTurn(51 * kMib, "a picture", {std::chrono::milliseconds(1), {}, {}})
                .status()
                .code(),
            Code::kResourceExhausted);
  EXPECT_TRUE(memory->TakeInTurn(50 * kMib, "a picture", patient).ok()) << "nobody is before it";
}

TEST(WorkerMemory, WhatIsKeptForLaterGivesWayToAPicture) {
  const auto memory = WorkerMemory::Make(10 * kMib);
  PayloadPool pool(100 * kMib, 8 * kMib, memory);
  (void)pool.Take(JobId(1), 6 * kMib);
  EXPECT_EQ(memory->used(), 6 * kMib);
  const auto lease = memory->TakeInTurn(9 * kMib, "a picture",
                                        {std::chrono::minutes(10), [&pool] { pool.Trim(); }, {}});
  EXPECT_TRUE(lease.ok()) << lease.status().ToString();
}

TEST(WorkerMemory, TheCacheGivesWayAndComesBack) {
  constexpr JobId kJob(1);
  const auto cache = MakeMemoryCache(64 * kMib);
  cache->AddJob(kJob, 64 * kMib);
  const Bytes payload(kMib, std::byte{1});
  const auto store = [&](std::int64_t row) {
    CacheKey key;
    key.content.place[0] = static_cast<std::uint64_t>(row + 1);
    auto claim = cache->TryClaim(kJob, key, payload.size());
    return claim && claim.Commit(payload);
  };
  int stored = 0;
  while (store(stored)) ++stored;
  EXPECT_GT(stored, 50);
  const auto memory = WorkerMemory::Make(80 * kMib);
  memory->SetCache([&](std::uint64_t most) { return cache->KeepTo(most); });
  EXPECT_EQ(cache->Stats().entries, static_cast<std::uint64_t>(stored)) << "it fits";
  {
    const auto lease = memory->Take(60 * kMib, "a picture");
    ASSERT_TRUE(lease.ok()) << lease.status().ToString();
    EXPECT_LE(cache->Stats().bytes, 20 * kMib);
    EXPECT_GT(cache->Stats().entries, 10U) << "no more than it had to";
    EXPECT_FALSE(store(1000)) << "work has the room";
  }
  EXPECT_TRUE(store(1001));
}

TEST(WorkerMemory, TheCacheGivesWayToTheHost) {
  constexpr JobId kJob(1);
  constexpr std::uint64_t kReserve = 10 * kMib;
  const auto cache = MakeMemoryCache(64 * kMib);
  cache->AddJob(kJob, 64 * kMib);
  const Bytes payload(kMib, std::byte{1});
  std::int64_t row = 0;
  const auto store = [&] {
    CacheKey key;
    key.content.place[0] = static_cast<std::uint64_t>(++row);
    auto claim = cache->TryClaim(kJob, key, payload.size());
    return claim && claim.Commit(payload);
  };
  while (store()) continue;
  const auto memory = WorkerMemory::Make(80 * kMib);
  memory->SetCache([&](std::uint64_t most) { return cache->KeepTo(most); });
  const std::uint64_t full = cache->Stats().bytes;
  // The host has 100 MiB beside others, which take more and more, and then less.
  std::uint64_t others = 0;
  const auto available = [&] { return 100 * kMib - others - cache->Stats().bytes; };
  memory->LeaveToHost(available(), kReserve);
  EXPECT_EQ(cache->Stats().bytes, full) << "there is enough for all";
  others = 50 * kMib - 1;
  memory->LeaveToHost(0, kReserve);  // as they came, nothing was left
  EXPECT_GE(available(), kReserve);
  EXPECT_LE(cache->Stats().bytes, full - kReserve);
  EXPECT_GE(cache->Stats().bytes, full - kReserve - 8 * kMib) << "no more than it had to";
  memory->LeaveToHost(kReserve, kReserve);
  EXPECT_FALSE(store()) << "the host has the room";
  EXPECT_TRUE(memory->Take(20 * kMib, "a picture").ok()) << "work is admitted as before";
  others = 0;
  memory->LeaveToHost(available(), kReserve);
  while (store()) continue;
  EXPECT_EQ(cache->Stats().bytes, full) << "it has come back";
}

TEST(HostRoom, ACacheEndsWithTheReserveFreeAndNeverAboveWhatThereIs) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t has = random() >> (random() % 64);
    const std::uint64_t available = random() >> (random() % 64);
    const std::uint64_t reserve = random() >> (random() % 64);
    const std::uint64_t most = MostForCache(has, available, reserve);
    if (most > has) {
      EXPECT_LE(most - has, available) << "it grows into what is there";
      EXPECT_GE(available - (most - has), std::min(reserve, available));
    } else if (most > 0) {
      // Carried out, exactly the reserve is free.
      EXPECT_EQ(available + (has - most), reserve);
    } else {
      EXPECT_LE(available, reserve) << "it gives up all where that is not too much";
    }
  }
  EXPECT_EQ(HostReserve(8 * kMib), kMib);
}

TEST(WorkerMemory, WhatIsInUseInTheCacheStays) {
  constexpr JobId kJob(1);
  const auto cache = MakeMemoryCache(4 * kMib);
  cache->AddJob(kJob, 4 * kMib);
  CacheKey key;
  key.content.place[0] = 1;
  ASSERT_TRUE(cache->TryClaim(kJob, key, kMib).Commit(Bytes(kMib, std::byte{1})));
  const auto memory = WorkerMemory::Make(4 * kMib);
  memory->SetCache([&](std::uint64_t most) { return cache->KeepTo(most); });
  {
    const CacheLookup found = cache->Find(kJob, key);
    ASSERT_TRUE(found.pin);
    const auto refused = memory->Take(4 * kMib, "a picture");
    EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
    EXPECT_EQ(memory->used(), 0U);
    EXPECT_EQ(found.pin.bytes()[0], std::byte{1});
  }
  EXPECT_TRUE(memory->Take(4 * kMib, "a picture").ok());
}

TEST(PayloadPoolMemory, BatchesAreOfTheWorkersMemory) {
  const auto memory = WorkerMemory::Make(10 * kMib);
  PayloadPool pool(100 * kMib, 8 * kMib, memory);
  auto first = pool.Take(JobId(1), 6 * kMib);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(memory->used(), 6 * kMib);
  EXPECT_EQ(pool.Take(JobId(2), 5 * kMib).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(pool.lent_bytes(), 6 * kMib);
  first->hold.reset();
  EXPECT_EQ(memory->used(), 6 * kMib) << "kept for the next one";
  EXPECT_TRUE(pool.Take(JobId(2), 9 * kMib).ok()) << "what was kept gives way";
  EXPECT_EQ(pool.Take(JobId(2), 11 * kMib).status().code(), Code::kUnavailable)
      << "another worker may have more";
}

TEST(PayloadPoolMemory, AJobThatReadsNothingLeavesRoomForOthers) {
  PayloadPool pool(16 * kMib, 0, WorkerMemory::Make(100 * kMib));
  std::vector<PayloadPool::Buffer> unread;
  for (int i = 0; i < 100; ++i) {
    auto buffer = pool.Take(JobId(1), kMib);
    if (!buffer.ok()) break;
    unread.push_back(*std::move(buffer));
  }
  EXPECT_EQ(unread.size(), 8U) << "half of all";
  std::vector<PayloadPool::Buffer> others;
  for (const std::int64_t job : {2, 3, 4}) {
    for (int i = 0; i < 2; ++i) {
      auto buffer = pool.Take(JobId(job), kMib);
      ASSERT_TRUE(buffer.ok()) << buffer.status().ToString();
      others.push_back(*std::move(buffer));
    }
    EXPECT_EQ(pool.Take(JobId(job), kMib).status().code(), Code::kResourceExhausted)
        << "an eighth each";
  }
  unread.clear();
  others.clear();
  EXPECT_EQ(pool.lent_bytes(), 0U);
  EXPECT_TRUE(pool.Take(JobId(1), kMib).ok());
}

}  // namespace
}  // namespace headrace::dataworker
