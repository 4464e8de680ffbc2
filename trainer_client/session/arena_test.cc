#include "trainer_client/session/arena.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::client {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
std::uint64_t Plenty() { return UINT64_MAX; }

TEST(Arena, SlotIsReusedOnlyAfterLastCopyOfHoldIsGone) {
  auto arena = *Arena::Make(64 * kMiB, Plenty);
  const Slot slot = *arena->Acquire(kMiB);
  arena->MarkReady(slot.id);
  std::shared_ptr<void> hold = arena->Hold(slot.id);
  std::shared_ptr<void> copy = hold;
  hold.reset();
  EXPECT_NE(arena->Acquire(kMiB)->id, slot.id);
  copy.reset();
  EXPECT_EQ(arena->Acquire(kMiB)->id, slot.id);
}

TEST(Arena, MemoryOutlivesTheOwnersReference) {
  auto arena = *Arena::Make(4 * kMiB, Plenty);
  const Slot slot = *arena->Acquire(kMiB);
  const MutableByteSpan memory = arena->Memory(slot);
  std::shared_ptr<void> hold = arena->Hold(slot.id);
  arena.reset();
  std::fill(memory.begin(), memory.end(), std::byte{7});
  EXPECT_EQ(memory.back(), std::byte{7});
}

TEST(Arena, NoMemoryIsAnErrorWithARemedyWhenTheSlotIsMade) {
  std::uint64_t available = 3 * kMiB;
  auto arena = *Arena::Make(64 * kMiB, [&] { return available; });
  EXPECT_TRUE(arena->Acquire(2 * kMiB).ok());
  const auto refused = arena->Acquire(4 * kMiB);
  ASSERT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(refused.status().message(), testing::HasSubstr("lower batch_size"));
  available = 64 * kMiB;
  EXPECT_TRUE(arena->Acquire(4 * kMiB).ok());
}

TEST(Arena, BeyondItsBoundIsAnErrorThatNamesTheBound) {
  auto arena = *Arena::Make(4 * kMiB, Plenty);
  EXPECT_TRUE(arena->Acquire(3 * kMiB).ok());
  const auto refused = arena->Acquire(2 * kMiB);
  ASSERT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(refused.status().message(), testing::HasSubstr("max_arena_bytes"));
}

// A lane is a fork, which has the arena already, and maps it once more for each worker.
TEST(Arena, ABoundedAddressSpaceHasRoomForTheMapsOfLanes) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::ifstream statm("/proc/self/statm");
    std::uint64_t pages = 0;
    statm >> pages;
    const rlim_t room = pages * 4096 + 512 * kMiB;
    const rlimit limit{.rlim_cur = room, .rlim_max = room};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(2);
    const auto arena = Arena::Make(4096 * kMiB, Plenty);
    if (!arena.ok() || !(*arena)->Acquire(kMiB).ok()) ::_exit(3);
    for (int map = 0; map < 4; ++map) {
      if (::mmap(nullptr, (*arena)->size(), PROT_READ | PROT_WRITE, MAP_SHARED, (*arena)->fd(),
                 0) == MAP_FAILED) {
        ::_exit(4);
      }
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Arena, NextInOrderMayGoBeyondTheBound) {
  auto arena = *Arena::Make(4 * kMiB, Plenty);
  EXPECT_TRUE(arena->Acquire(3 * kMiB).ok());
  EXPECT_FALSE(arena->Acquire(3 * kMiB).ok());
  EXPECT_TRUE(arena->Acquire(3 * kMiB, true).ok());
  EXPECT_FALSE(arena->Acquire(1 * kMiB).ok());
}

TEST(Arena, GrowingBatchesGiveTheSmallSlotsMemoryBack) {
  auto arena = *Arena::Make(64 * kMiB, Plenty);
  for (std::uint64_t size = kMiB; size <= 32 * kMiB; size *= 2) {
    const Slot slot = *arena->Acquire(size);
    arena->Return(slot.id);
    EXPECT_EQ(arena->counts().bytes, size);
  }
  EXPECT_EQ(arena->counts().free, 1);
}

TEST(Arena, QuarantinedSlotIsNotGivenOutUntilReturned) {
  auto arena = *Arena::Make(64 * kMiB, Plenty);
  const Slot slot = *arena->Acquire(kMiB);
  arena->Quarantine(slot.id);
  const Slot other = *arena->Acquire(kMiB);
  EXPECT_NE(other.id, slot.id);
  EXPECT_EQ(arena->counts().quarantined, 1);
  arena->Return(slot.id);
  EXPECT_EQ(arena->Acquire(kMiB)->id, slot.id);
}

TEST(Arena, IsSealedAgainstShrinkingUnderAWorker) {
  auto arena = *Arena::Make(4 * kMiB, Plenty);
  EXPECT_NE(::ftruncate(arena->fd(), 0), 0);
}

TEST(Arena, RandomUseNeverOverlapsAndNeverLeaks) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  auto arena = *Arena::Make(256 * kMiB, Plenty);
  std::vector<Slot> used;
  for (int step = 0; step < 2000; ++step) {
    if (!used.empty() && (random() % 2 == 0 || used.size() > 8)) {
      std::swap(used[random() % used.size()], used.back());
      arena->Return(used.back().id);
      used.pop_back();
      continue;
    }
    const auto slot = arena->Acquire(1 + random() % (8 * kMiB));
    ASSERT_TRUE(slot.ok()) << slot.status().ToString();
    for (const Slot& other : used) {
      ASSERT_TRUE(slot->offset + slot->bytes <= other.offset ||
                  other.offset + other.bytes <= slot->offset);
    }
    ASSERT_LE(slot->offset + slot->bytes, arena->size());
    used.push_back(*slot);
  }
  for (const Slot& slot : used) arena->Return(slot.id);
  // Everything can be had again in one piece.
  EXPECT_TRUE(arena->Acquire(256 * kMiB).ok());
}

TEST(Arena, HoldsDieOnManyThreadsAtOnce) {
  auto arena = *Arena::Make(64 * kMiB, Plenty);
  std::atomic<int> freed{0};
  arena->OnFree([&] { ++freed; });
  std::vector<std::shared_ptr<void>> holds;
  for (int i = 0; i < 32; ++i) holds.push_back(arena->Hold(arena->Acquire(4096)->id));
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = t; i < 32; i += 4) holds[static_cast<std::size_t>(i)].reset();
      });
    }
  }
  EXPECT_EQ(freed, 32);
  EXPECT_EQ(arena->counts().free, 32);
}

TEST(Arena, ForkedChildNeitherReturnsSlotsNorLosesTheMapping) {
  auto arena = *Arena::Make(4 * kMiB, Plenty);
  const Slot slot = *arena->Acquire(kMiB);
  const MutableByteSpan memory = arena->Memory(slot);
  memory[0] = std::byte{42};
  std::shared_ptr<void> hold = arena->Hold(slot.id);
  int called[2];
  ASSERT_EQ(::pipe(called), 0);
  arena->OnFree([&] { (void)!::write(called[1], "x", 1); });
  const pid_t child = ::fork();
  if (child == 0) {
    hold.reset();
    arena.reset();
    ::_exit(memory[0] == std::byte{42} ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(arena->counts().held, 1);
  hold.reset();
  EXPECT_EQ(arena->counts().free, 1);
  char buffer[4];
  EXPECT_EQ(::read(called[0], buffer, 4), 1);  // the parent's own, and none of the child
  ::close(called[0]);
  ::close(called[1]);
}

// A process that was forked from this one, and lives until End.
class Child {
 public:
  explicit Child(Arena& arena) {
    const UniqueFd inheritance = arena.KeepForHeirs();
    pid_ = ::fork();
    while (pid_ == 0) ::pause();
  }
  void End() {
    EXPECT_EQ(::kill(pid_, SIGKILL), 0);
    EXPECT_EQ(::waitpid(pid_, nullptr, 0), pid_);
  }

 private:
  pid_t pid_ = 0;
};

TEST(Arena, InheritedSlotIsNotReusedWhileAChildLives) {
  auto arena = *Arena::Make(64 * kMiB, Plenty);
  const SlotId slot = arena->Acquire(kMiB)->id;
  std::shared_ptr<void> hold = arena->Hold(slot);
  Child first(*arena), second(*arena);
  hold.reset();
  EXPECT_EQ(arena->counts().inherited, 1);
  const SlotId other = arena->Acquire(kMiB)->id;
  EXPECT_NE(other, slot);
  arena->Return(other);
  first.End();
  EXPECT_NE(arena->Acquire(2 * kMiB)->id, slot);
  EXPECT_EQ(arena->counts().inherited, 1);
  second.End();
  const SlotId kept = arena->Acquire(kMiB)->id;
  EXPECT_TRUE(kept == slot || arena->Acquire(kMiB)->id == slot);
  EXPECT_EQ(arena->counts().inherited, 0);
}

TEST(Arena, SlotOfChildrenThatEndedEarlierIsFreeAtOnce) {
  auto arena = *Arena::Make(64 * kMiB, Plenty);
  const SlotId slot = arena->Acquire(kMiB)->id;
  std::shared_ptr<void> hold = arena->Hold(slot);
  Child(*arena).End();
  hold.reset();
  EXPECT_EQ(arena->counts().free, 1);
  EXPECT_EQ(arena->Acquire(kMiB)->id, slot);
}

TEST(Arena, NothingHeldMeansNothingInherited) {
  auto arena = *Arena::Make(4 * kMiB, Plenty);
  const SlotId slot = arena->Acquire(kMiB)->id;
  EXPECT_FALSE(arena->KeepForHeirs().valid());
  arena->Return(slot);
}

TEST(Arena, ManyForksOfOneHeldSlotKeepOneDescriptorForEachLivingChild) {
  auto arena = *Arena::Make(4 * kMiB, Plenty);
  std::shared_ptr<void> hold = arena->Hold(arena->Acquire(kMiB)->id);
  const auto open = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open();
  for (int i = 0; i < 20; ++i) Child(*arena).End();
  EXPECT_LE(open(), before + 1);
}

TEST(Arena, IdsAreReusedWhenSizesChangeForEver) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  auto arena = *Arena::Make(64 * kMiB, Plenty);
  for (int step = 0; step < 5000; ++step) {
    const Slot one = *arena->Acquire(1 + random() % (8 * kMiB));
    const Slot two = *arena->Acquire(1 + random() % (8 * kMiB));
    ASSERT_NE(one.id, two.id);
    ASSERT_LT(std::max(one.id.value, two.id.value), 16);
    arena->Return(one.id);
    arena->Return(two.id);
    const Arena::Counts counts = arena->counts();
    ASSERT_EQ(counts.lent, 0);
    ASSERT_LE(counts.free, 16);
  }
}

}  // namespace
}  // namespace headrace::client
