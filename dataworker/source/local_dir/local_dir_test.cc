// What only files can do: vanish, change, be something else.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataworker/source/core/source_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

// What happens to a file just before its next bytes are read. One thread.
std::function<void()>& BeforeRead() {
  static std::function<void()> hook;
  return hook;
}

}  // namespace
}  // namespace headrace::dataworker

// In place of libc's for this program: the moment between two looks at a file is no longer one that
// only chance can hit.
extern "C" ssize_t pread(int fd, void* buffer, size_t bytes, off_t offset) {
  if (const auto hook = std::exchange(headrace::dataworker::BeforeRead(), nullptr)) hook();
  return ::syscall(SYS_pread64, fd, buffer, bytes, offset);
}

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

class LocalDir : public ::testing::Test {
 protected:
  std::unique_ptr<Source> Open(const std::string& name) {
    wire::FileTable table{.root = directory_.path(), .paths = {name}, .labels = {0}};
    SourceLeaf leaf{.source = "local_dir",
                    .rows = 1,
                    .table = blobs_.Add(wire::EncodeFileTable(table)),
                    .arrays = {}};
    auto made = BuiltinSources().Make(leaf, {blobs_.lookup(), ReadTextHeader, allowed_roots_});
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return std::move(made).value();
  }
  TemporaryDirectory directory_;
  BlobMap blobs_;
  std::vector<std::string> allowed_roots_;
  ScratchBuffer buffer_;
};

TEST_F(LocalDir, MissingFileNamesItsPath) {
  const auto source = Open("gone.jpg");
  for (const Status& status : {source->Identify(0).status(), source->Read(0, buffer_).status(),
                               source->Describe(0, buffer_).status()}) {
    EXPECT_EQ(status.code(), Code::kNotFound);
    EXPECT_THAT(status.message(), HasSubstr(directory_.path() + "/gone.jpg"));
  }
}

TEST_F(LocalDir, AnAbsolutePathIgnoresTheRoot) {
  directory_.Write("a", "3 4\n");
  EXPECT_EQ(Open(directory_.path() + "/a")->Describe(0, buffer_)->dims[1], 4);
}

TEST_F(LocalDir, EveryChangeMakesANewIdentity) {
  directory_.Write("a", "3 4\n");
  const auto source = Open("a");
  const ContentIdentity first = *source->Identify(0);
  directory_.Write("a", "3 5 longer\n");
  const ContentIdentity longer = *source->Identify(0);
  EXPECT_FALSE(first == longer);
  // Another file moved over it, of the same size and time.
  directory_.Write("b", "9 9 longer\n");
  struct stat st;
  ASSERT_EQ(::stat((directory_.path() + "/a").c_str(), &st), 0);
  const timespec times[2] = {st.st_atim, st.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, (directory_.path() + "/b").c_str(), times, 0), 0);
  ASSERT_EQ(::rename((directory_.path() + "/b").c_str(), (directory_.path() + "/a").c_str()), 0);
  EXPECT_FALSE(longer == *source->Identify(0));
}

// A write whose time was put back, as copies that keep times and restored backups do.
TEST_F(LocalDir, AWriteWhoseTimeWasPutBackMakesANewIdentity) {
  const std::string path = directory_.path() + "/a";
  directory_.Write("a", "3 4\n");
  const auto source = Open("a");
  const ContentIdentity first = *source->Identify(0);
  struct stat st;
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  const timespec changed = st.st_ctim, times[2] = {st.st_atim, st.st_mtim};
  // The kernel's clock for files goes in steps of some milliseconds.
  while (st.st_ctim.tv_sec == changed.tv_sec && st.st_ctim.tv_nsec == changed.tv_nsec) {
    directory_.Write("a", "9 8\n");
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    ASSERT_EQ(::stat(path.c_str(), &st), 0);
  }
  const ContentIdentity second = *source->Identify(0);
  ASSERT_EQ(first.inode, second.inode);
  ASSERT_EQ(first.size, second.size);
  ASSERT_EQ(first.mtime_ns, second.mtime_ns);
  EXPECT_FALSE(first == second);
}

// Bytes of two versions must not get the identity of one.
TEST_F(LocalDir, AFileThatChangesWhileItIsReadIsRefused) {
  const std::string path = directory_.path() + "/a";
  const auto source = Open("a");
  const timespec long_ago[2] = {{.tv_sec = 1'000'000'000, .tv_nsec = 0},
                                {.tv_sec = 1'000'000'000, .tv_nsec = 0}};
  for (const char* now : {"9 8\n", "9 8 longer\n", "9"}) {
    directory_.Write("a", "3 4\n");
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), long_ago, 0), 0);
    BeforeRead() = [&] { directory_.Write("a", now); };
    const Status status = source->Read(0, buffer_).status();
    EXPECT_EQ(status.code(), Code::kUnavailable) << now;
    EXPECT_THAT(status.message(), HasSubstr("changed while it was read: " + path));
    const auto next = source->Read(0, buffer_);
    ASSERT_TRUE(next.ok()) << next.status().ToString();
    EXPECT_EQ(AsText(next->bytes), now);
  }
}

TEST_F(LocalDir, HeaderBehindTheFirstReadIsFound) {
  std::string content = "far";
  content.resize(20'000, ' ');
  directory_.Write("a", content + "12 34\n");
  EXPECT_EQ(Open("a")->Describe(0, buffer_)->dims[1], 34);
  directory_.Write("a", content);
  const Status cut = Open("a")->Describe(0, buffer_).status();
  EXPECT_EQ(cut.code(), Code::kDataLoss);
  EXPECT_THAT(cut.message(), HasSubstr(directory_.path() + "/a: header is cut off"));
}

TEST_F(LocalDir, DirectoriesAndPipesAreRefusedWithoutWaiting) {
  ASSERT_EQ(::mkdir((directory_.path() + "/d").c_str(), 0700), 0);
  ASSERT_EQ(::mkfifo((directory_.path() + "/p").c_str(), 0600), 0);
  EXPECT_EQ(Open("d")->Read(0, buffer_).status().code(), Code::kUnsupported);
  EXPECT_EQ(Open("p")->Read(0, buffer_).status().code(), Code::kUnsupported);
  EXPECT_EQ(Open("p")->Describe(0, buffer_).status().code(), Code::kUnsupported);
}

TEST_F(LocalDir, OnlyWhatLiesBelowAnAllowedRootIsRead) {
  const std::string inside = directory_.path() + "/inside";
  ASSERT_EQ(::mkdir(inside.c_str(), 0700), 0);
  ASSERT_EQ(::mkdir((directory_.path() + "/inside2").c_str(), 0700), 0);
  for (const char* name : {"inside/a", "inside2/b", "c"}) directory_.Write(name, "3 4\n");
  ASSERT_EQ(::symlink("../c", (inside + "/link").c_str()), 0);
  ASSERT_EQ(::symlink((inside + "/a").c_str(), (inside + "/own_link").c_str()), 0);
  ASSERT_EQ(::symlink("../inside2", (inside + "/folder").c_str()), 0);
  const auto statuses = [&](const std::string& name) {
    const auto source = Open(name);
    return std::vector<Status>{source->Identify(0).status(), source->Read(0, buffer_).status(),
                               source->Describe(0, buffer_).status()};
  };
  allowed_roots_ = {"/nowhere", inside};
  for (const char* name : {"inside/a", "inside/own_link", "inside2/../inside/a"}) {
    for (const Status& status : statuses(name)) EXPECT_TRUE(status.ok()) << status.ToString();
  }
  for (const std::string name :
       {"inside2/b", "c", "inside/link", "inside/folder/b", "inside/../c", "/etc/passwd"}) {
    for (const Status& status : statuses(name)) {
      EXPECT_EQ(status.code(), Code::kUnavailable) << name;
      EXPECT_THAT(status.message(), HasSubstr("--allow-root"));
      EXPECT_THAT(status.message(), HasSubstr(name));
    }
  }
  EXPECT_THAT(Open("inside/link")->Read(0, buffer_).status().message(),
              HasSubstr("/inside/link -> " + directory_.path() + "/c"));
  EXPECT_EQ(Open("inside/gone")->Read(0, buffer_).status().code(), Code::kNotFound);
  allowed_roots_ = {"/"};
  EXPECT_TRUE(Open("c")->Read(0, buffer_).ok());
}

TEST_F(LocalDir, AnEmptyFileIsReadAsNothing) {
  directory_.Write("a", "");
  const auto source = Open("a");
  EXPECT_EQ(source->Read(0, buffer_)->bytes.size(), 0U);
  EXPECT_EQ(source->Describe(0, buffer_).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::dataworker
