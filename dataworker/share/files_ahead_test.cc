// What lanes say that they read next is read on io threads: bounded, fairly, without anybody's waiting, and whatever
// is wrong with a path is nobody's error.
#include "dataworker/share/files_ahead.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <latch>
#include <string>
#include <vector>

#include "dataworker/stage/object_ask.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Found = FilesAhead::Found;

constexpr SessionId kAheadOne(1), kAheadTwo(2);

// Readers that note what they are asked for, one thread at a time.
class FilesAheadTest : public ::testing::Test {
 protected:
  std::shared_ptr<FilesAhead> Make(int io_threads = 2) {
    io_ = std::make_unique<IoExecutor>(io_threads);
    return std::make_shared<FilesAhead>(*io_, io_threads, [this](const std::string& path) {
      if (path == "first") {
        begun_.count_down();
        may_end_.wait();
      }
      read_.push_back(path);
      return path.starts_with("cold") ? Found::kWaitedFor
             : path == "none"         ? Found::kNone
                                      : Found::kInMemory;
    });
  }
  std::unique_ptr<IoExecutor> io_;
  std::latch begun_{1};    // the read of "first" runs, and
  std::latch may_end_{1};  // may end
  std::vector<std::string> read_;
};

TEST_F(FilesAheadTest, CountsWhatHadToBeWaitedFor) {
  const auto ahead = Make();
  ahead->Read(kAheadOne, {"cold 1", "warm", "none", "cold 2"});
  io_->Stop();
  EXPECT_THAT(read_, ElementsAre("cold 1", "warm", "none", "cold 2"));
  const auto counts = ahead->TakeCounts(kAheadOne);
  EXPECT_EQ(counts.looked_at, 3U);
  EXPECT_EQ(counts.waited_for, 2U);
  EXPECT_EQ(ahead->TakeCounts(kAheadOne).looked_at, 0U) << "they were told before";
}

TEST_F(FilesAheadTest, SessionsTakeTurns) {
  const auto ahead = Make();
  ahead->Read(kAheadOne, {"first", "1a", "1b"});
  ahead->Read(kAheadTwo, {"2a", "2b"});
  may_end_.count_down();
  io_->Stop();
  EXPECT_THAT(read_, ElementsAre("first", "2a", "1a", "2b", "1b"));
}

TEST_F(FilesAheadTest, KeepsTheNewestOfMoreThanItMayHave) {
  const auto ahead = Make();
  ahead->Read(kAheadTwo, {"first"});
  begun_.wait();
  std::vector<std::string> many(FilesAhead::kMostWaiting + 3, "old");
  many.back() = "newest";
  ahead->Read(kAheadOne, std::move(many));
  may_end_.count_down();
  io_->Stop();
  EXPECT_EQ(read_.size(), 1 + FilesAhead::kMostWaiting);
  EXPECT_EQ(read_.back(), "newest");
}

TEST_F(FilesAheadTest, ForgetsAndStops) {
  const auto ahead = Make();
  ahead->Read(kAheadTwo, {"first"});
  begun_.wait();
  ahead->Read(kAheadOne, {"1a", "1b"});
  ahead->Forget(kAheadOne);
  may_end_.count_down();
  io_->Stop();
  EXPECT_THAT(read_, ElementsAre("first"));
  ahead->Stop();
  ahead->Read(kAheadOne, {"later"});
  EXPECT_THAT(read_, ElementsAre("first"));
}

TEST_F(FilesAheadTest, RemembersWhatKeysHaveOpened) {
  const auto ahead = Make();
  ahead->Remember(kAheadOne, 7, {"7a", "7b"});
  ahead->Remember(kAheadOne, 8, {"8"});
  ahead->Remember(kAheadOne, 8, {"8 as it is now"});
  ahead->ReadOf(kAheadTwo, {7});
  ahead->ReadOf(kAheadOne, {9, 8, 7});
  io_->Stop();
  EXPECT_THAT(read_, ElementsAre("8 as it is now", "7a", "7b"));
}

TEST_F(FilesAheadTest, RemembersNoMoreThanItMay) {
  const auto ahead = Make();
  const std::string half(FilesAhead::kMostRememberedBytes / 2, 'x');
  ahead->Remember(kAheadOne, 1, {half});
  ahead->Remember(kAheadOne, 2, {half});
  ahead->Remember(kAheadOne, 3, {"short"});
  ahead->ReadOf(kAheadOne, {2, 3});
  io_->Stop();
  EXPECT_THAT(read_, ElementsAre("short"));
  ahead->Forget(kAheadOne);
  ahead->ReadOf(kAheadOne, {3});
  EXPECT_THAT(read_, ElementsAre("short"));
}

TEST(ObjectAskAhead, ReadsItsPartsAndLeavesOutWhatIsDamaged) {
  ObjectAsk ask;
  using namespace std::string_literals;
  ask.name = "/a\0/b c\0\0/d"s;
  EXPECT_THAT(ask.Names(), ElementsAre("/a", "/b c", "/d"));
  ask.version = "3,-1,12";
  EXPECT_THAT(ask.Keys(), ElementsAre(3, -1, 12));
  ask.version = "3,x,12";
  EXPECT_THAT(ask.Keys(), ElementsAre(3));
  ask.version = ",3";
  EXPECT_THAT(ask.Keys(), IsEmpty());
  ask.token =
      "5\0/a\0/b\0\0x\0/c\0\0"
      "6\0\0"
      "7\0/d"s;
  const auto opened = ask.WasOpened();
  ASSERT_EQ(opened.size(), 3U);
  EXPECT_EQ(opened[0].key, 5);
  EXPECT_THAT(opened[0].names, ElementsAre("/a", "/b"));
  EXPECT_THAT(opened[1].names, IsEmpty());
  EXPECT_EQ(opened[2].key, 7);
  EXPECT_THAT(opened[2].names, ElementsAre("/d"));
}

class AheadFromDiskTest : public ::testing::Test {
 protected:
  AheadFromDiskTest() { std::filesystem::create_directories(folder_); }
  ~AheadFromDiskTest() override { std::filesystem::remove_all(folder_); }
  std::string File(const std::string& name, std::size_t size) {
    const std::string path = folder_ / name;
    std::ofstream(path) << std::string(size, 'x');
    return path;
  }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("headrace-ahead-" + std::to_string(::getpid()));
};

TEST_F(AheadFromDiskTest, ReadsRegularFilesAlone) {
  const auto read = FilesAhead::FromDisk({});
  EXPECT_NE(read(File("a", 300'000)), Found::kNone);
  EXPECT_NE(read(File("empty", 0)), Found::kNone);
  EXPECT_EQ(read(folder_ / "nothing"), Found::kNone);
  EXPECT_EQ(read(folder_), Found::kNone);
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read(pipe), Found::kNone);
  const std::string large = folder_ / "large";
  File("large", 1);
  ASSERT_EQ(::truncate(large.c_str(), FilesAhead::kMostBytes + 1), 0);
  EXPECT_EQ(read(large), Found::kNone);
}

// A file that is not in the page cache is there when it was read ahead. Where a file system has nothing else than the
// page cache (tmpfs), it is always there.
TEST_F(AheadFromDiskTest, BringsAFileIntoMemory) {
  const std::string path = File("cold", 400'000);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::fsync(fd), 0);
  ASSERT_EQ(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
  const auto read = FilesAhead::FromDisk({});
  const Found first = read(path);
  EXPECT_NE(first, Found::kNone);
  EXPECT_EQ(read(path), Found::kInMemory);
  ::close(fd);
}

TEST_F(AheadFromDiskTest, KeepsToTheAllowedRoots) {
  const std::string path = File("a", 10);
  EXPECT_EQ(FilesAhead::FromDisk({"/nowhere"})(path), Found::kNone);
  EXPECT_NE(FilesAhead::FromDisk({std::filesystem::canonical(folder_)})(path), Found::kNone);
}

}  // namespace
}  // namespace headrace::dataworker
