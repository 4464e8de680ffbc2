#include "dataworker/cache/disk/segment_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "dataworker/cache/disk/disk_fixture.h"

namespace headrace::dataworker {
namespace {

class SegmentFolderTest : public DiskFixture {};

TEST_F(SegmentFolderTest, OneProcessHasItAtATime) {
  auto first = SegmentFolder::Open(path_, kMaker, disk_);
  ASSERT_TRUE(first.ok());
  const auto second = SegmentFolder::Open(path_, kMaker, disk_);
  EXPECT_EQ(second.status().code(), Code::kUnavailable);
  EXPECT_NE(second.status().message().find("another worker"), std::string::npos);
  first->reset();
  EXPECT_TRUE(SegmentFolder::Open(path_, kMaker, disk_).ok());
}

// Who writes there gives other jobs their samples.
TEST_F(SegmentFolderTest, ADirectoryThatOthersMayWriteIsRefused) {
  ASSERT_EQ(::chmod(path_.c_str(), 0777), 0);
  EXPECT_EQ(SegmentFolder::Open(path_, kMaker, disk_).status().code(), Code::kInvalidArgument);
}

// The kernel's answer for a byte that it surely has, where a file system has such reads, and where it has none.
TEST_F(SegmentFolderTest, ItKnowsWhetherItsFilesAreReadWithoutWaiting) {
  for (const std::string& folder : {testing::TempDir(), std::string("/dev/shm/")}) {
    std::string path = folder + "read_now_XXXXXX";
    const UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
    ASSERT_TRUE(file.valid()) << folder;
    ::unlink(path.c_str());
    const bool can = DiskCalls::Real().CanReadNow(file.get());
    ASSERT_EQ(::write(file.get(), "x", 1), 1);
    Bytes byte(1);
    EXPECT_EQ(can, DiskCalls::Real().ReadNow(file.get(), 0, byte) == 0) << folder;
    EXPECT_EQ(can, DiskCalls::Real().CanReadNow(file.get())) << "with a byte and without";
  }
  EXPECT_FALSE(DiskCalls::Real().CanReadNow(-1));
  for (const bool can : {true, false}) {
    disk_.can_read_now = can;
    for (const std::string& path : {path_, std::string()}) {
      const auto folder = SegmentFolder::Open(path, kMaker, disk_);
      ASSERT_TRUE(folder.ok());
      EXPECT_EQ((*folder)->can_read_now(), can) << path;
    }
  }
}

TEST_F(SegmentFolderTest, FilesOfOthersStay) {
  const std::string mine = path_ + "/notes.txt", like = path_ + "/x-y.segment";
  std::ofstream(mine) << "mine";
  std::ofstream(like) << "mine";
  auto folder = SegmentFolder::Open(path_, kMaker, disk_);
  ASSERT_TRUE(folder.ok());
  EXPECT_TRUE((*folder)->TakeFound(kNoQuota, 0).empty());
  EXPECT_TRUE(std::filesystem::exists(mine));
  EXPECT_TRUE(std::filesystem::exists(like));
}

TEST_F(SegmentFolderTest, ALinkInThePlaceOfASegmentIsNotFollowed) {
  const std::string other = path_ + "/notes.txt";
  std::ofstream(other) << "mine";
  std::filesystem::create_symlink(other, path_ + "/1-0000000000000007.segment");
  auto folder = SegmentFolder::Open(path_, kMaker, disk_);
  ASSERT_TRUE(folder.ok());
  EXPECT_TRUE((*folder)->TakeFound(kNoQuota, 0).empty());
  EXPECT_EQ(std::filesystem::file_size(other), 4U);
}

TEST_F(SegmentFolderTest, AListWithoutItsSegmentIsDeleted) {
  const std::string list = path_ + "/1-0000000000000007.segment.list", other = path_ + "/a.list";
  std::ofstream{list} << "list";
  std::ofstream{other} << "mine";
  ASSERT_TRUE(SegmentFolder::Open(path_, kMaker, disk_).ok());
  EXPECT_FALSE(std::filesystem::exists(list));
  EXPECT_TRUE(std::filesystem::exists(other));
}

TEST_F(SegmentFolderTest, OneBuildIsOneMaker) { EXPECT_EQ(MakerOfPayloads(), MakerOfPayloads()); }

}  // namespace
}  // namespace headrace::dataworker
