// What a killed worker leaves.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>

#include "base/check.h"
#include "base/unique_fd.h"
#include "dataworker/cache/disk/disk_fixture.h"

namespace headrace::dataworker {
namespace {

class DiskCrashTest : public DiskFixture {
 protected:
  static constexpr int kRounds = 200;
  static constexpr std::uint64_t kOfRound = 10'000;  // inodes
  static constexpr std::size_t kBytes = 3000;
  static constexpr DiskCacheOptions kOptions{.budget = std::uint64_t{256} << 20};

  // Stores the round's entries one after the other until it is killed. Says when it begins.
  [[noreturn]] void Write(std::uint64_t round, int says) {
    const auto cache = Open(kOptions);
    HR_CHECK(::write(says, "w", 1) == 1);
    for (std::uint64_t i = 0; i < kOfRound; ++i) Put(*cache, kJob, round * kOfRound + i, kBytes);
    ::_exit(0);
  }
  void WriteAndKill(std::uint64_t round, std::chrono::microseconds after) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd hears(ends[0]);
    UniqueFd says(ends[1]);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) Write(round, says.get());
    says.reset();
    char word = 0;
    ASSERT_EQ(::read(hears.get(), &word, 1), 1);
    std::this_thread::sleep_for(after);
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  }
};

// A kill loses the end of what was being written, and nothing that was there before.
TEST_F(DiskCrashTest, KillsLoseTheTornTailAlone) {
  std::mt19937 random(5);
  const auto buffers = std::make_shared<BufferPool>();
  std::vector<std::uint64_t> kept;  // of each round, how many of its first entries
  std::uint64_t all = 0;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    if (round % 20 == 0) {
      std::filesystem::remove_all(path_);
      kept.assign(round, 0);
    }
    WriteAndKill(round, std::chrono::microseconds(random() % 3000));
    ASSERT_FALSE(HasFatalFailure());

    // Kept and not looked through: so the next one finds the files as the killed one has left them.
    auto folder = SegmentFolder::Open(path_, kMaker, disk_);
    ASSERT_TRUE(folder.ok());
    std::vector<std::uint64_t> found(round + 1);
    std::vector<SegmentFolder::Found> segments = (*folder)->TakeFound(kNoQuota, 0);
    for (auto& [segment, list] : segments) {
      SegmentList whole{.end = list.end, .records = {}};
      for (const auto& [record, offset] : list.records) {
        const std::uint64_t inode = record.key.content.place[1];
        // Of the earlier rounds some, so that the time does not grow with the rounds.
        if (inode / kOfRound == round || inode % 61 == round % 61) {
          const auto payload =
              segment->Read(offset, record.key, record.bytes, *buffers, /*wait=*/true);
          if (!payload.ok()) continue;  // torn
          ASSERT_TRUE(Equal(payload->bytes, Payload(inode, 0, kBytes)));
        }
        ASSERT_EQ(inode % kOfRound, found[inode / kOfRound]) << "one before it is missing";
        ++found[inode / kOfRound];
        whole.records.push_back({record, offset});
      }
      segment->Keep(whole);
    }
    for (std::size_t earlier = 0; earlier < kept.size(); ++earlier) {
      ASSERT_EQ(found[earlier], kept[earlier]);
    }
    all += found.back();
    kept = std::move(found);
  }
  EXPECT_GT(all, static_cast<std::uint64_t>(kRounds));
}

}  // namespace
}  // namespace headrace::dataworker
