// What only files can do: vanish, change, be something else.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataworker/source/core/source_fixture.h"
#include "dataworker/source/files/direct_reads.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

// What happens to a file just before its next bytes are read. One thread at a time.
std::function<void()>& BeforeRead() {
  static std::function<void()> hook;
  return hook;
}

// What the kernel says to reads that may not wait; 0: it reads.
std::atomic<int> nowait_error = 0;
// Reads that may wait, and the thread of the last one.
std::atomic<int> patient_reads = 0;
std::atomic<std::size_t> patient_thread = 0;

}  // namespace
}  // namespace headrace::dataworker

// In place of libc's for this program: the moment between two looks at a file is no longer one that
// only chance can hit.
extern "C" ssize_t pread(int fd, void* buffer, size_t bytes, off_t offset) {
  using namespace headrace::dataworker;
  if (const auto hook = std::exchange(BeforeRead(), nullptr)) hook();
  ++patient_reads;
  patient_thread = std::hash<std::thread::id>()(std::this_thread::get_id());
  return ::syscall(SYS_pread64, fd, buffer, bytes, offset);
}

extern "C" ssize_t preadv2(int fd, const iovec* pieces, int count, off_t offset, int /*flags*/) {
  using namespace headrace::dataworker;
  if (nowait_error != 0) {
    errno = nowait_error;
    return -1;
  }
  if (const auto hook = std::exchange(BeforeRead(), nullptr)) hook();
  return ::syscall(SYS_preadv, fd, pieces, count, offset, 0);
}

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

// Asks a source as a compute thread does: now, or from an io thread.
class Asked {
 public:
  explicit Asked(std::unique_ptr<Source> source) : source_(std::move(source)) {}
  [[nodiscard]] RowAnswer Get(Ask ask) const {
    if (auto now = source_->Now(ask, 0, buffer_)) return *now;
    return Answers(*source_, ask, {0}).Wait(0);
  }
  [[nodiscard]] ContentIdentity Identity() const {
    const RowAnswer answer = Get(Ask::kIdentity);
    EXPECT_TRUE(answer.status.ok()) << answer.status.ToString();
    EXPECT_EQ(answer.valid_for, Duration(0));
    return answer.sample.content;
  }
  [[nodiscard]] Source& source() const { return *source_; }
  [[nodiscard]] ScratchBuffer& buffer() const { return buffer_; }

 private:
  const std::unique_ptr<Source> source_;
  mutable ScratchBuffer buffer_;
};

// In each of the ways in which a file may be read: directly, on an io thread because it is not in
// memory, and where the kernel does not say whether it is.
class LocalDir : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { nowait_error = GetParam(); }
  void TearDown() override { nowait_error = 0; }
  Asked Open(const std::string& name) {
    wire::FileTable table{.root = directory_.path(), .paths = {name}, .labels = {0}};
    SourceLeaf leaf{.source = "local_dir",
                    .rows = 1,
                    .table = blobs_.Add(wire::EncodeFileTable(table)),
                    .arrays = {}};
    auto made =
        BuiltinSources().Make(leaf, {blobs_.lookup(), ReadTextHeader, allowed_roots_, &TestIo()});
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return Asked(std::move(made).value());
  }
  TemporaryDirectory directory_;
  BlobMap blobs_;
  std::vector<std::string> allowed_roots_;
};
INSTANTIATE_TEST_SUITE_P(Ways, LocalDir, ::testing::Values(0, EAGAIN, EOPNOTSUPP));

TEST_P(LocalDir, MissingFileNamesItsPath) {
  const auto source = Open("gone.jpg");
  for (const Status& status : {source.Get(Ask::kIdentity).status, source.Get(Ask::kBytes).status,
                               source.Get(Ask::kSpec).status}) {
    EXPECT_EQ(status.code(), Code::kNotFound);
    EXPECT_THAT(status.message(), HasSubstr(directory_.path() + "/gone.jpg"));
  }
}

TEST_P(LocalDir, AnAbsolutePathIgnoresTheRoot) {
  directory_.Write("a", "3 4\n");
  EXPECT_EQ(Open(directory_.path() + "/a").Get(Ask::kSpec).spec.dims[1], 4);
}

TEST_P(LocalDir, EveryChangeMakesANewIdentity) {
  directory_.Write("a", "3 4\n");
  const auto source = Open("a");
  const ContentIdentity first = source.Identity();
  directory_.Write("a", "3 5 longer\n");
  const ContentIdentity longer = source.Identity();
  EXPECT_FALSE(first == longer);
  // Another file moved over it, of the same size and time.
  directory_.Write("b", "9 9 longer\n");
  struct stat st;
  ASSERT_EQ(::stat((directory_.path() + "/a").c_str(), &st), 0);
  const timespec times[2] = {st.st_atim, st.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, (directory_.path() + "/b").c_str(), times, 0), 0);
  ASSERT_EQ(::rename((directory_.path() + "/b").c_str(), (directory_.path() + "/a").c_str()), 0);
  EXPECT_FALSE(longer == source.Identity());
}

// A write whose time was put back, as copies that keep times and restored backups do.
TEST_P(LocalDir, AWriteWhoseTimeWasPutBackMakesANewIdentity) {
  const std::string path = directory_.path() + "/a";
  directory_.Write("a", "3 4\n");
  const auto source = Open("a");
  const ContentIdentity first = source.Identity();
  struct stat st;
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  const timespec changed = st.st_ctim, times[2] = {st.st_atim, st.st_mtim};
  // The kernel's clock for files goes in steps of some milliseconds.
  while (st.st_ctim.tv_sec == changed.tv_sec && st.st_ctim.tv_nsec == changed.tv_nsec) {
    directory_.Write("a", "9 8\n");
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    ASSERT_EQ(::stat(path.c_str(), &st), 0);
  }
  const ContentIdentity second = source.Identity();
  ASSERT_EQ(first.place, second.place);
  EXPECT_FALSE(first == second);
}

// Bytes of two versions must not get the identity of one.
TEST_P(LocalDir, AFileThatChangesWhileItIsReadIsRefused) {
  const std::string path = directory_.path() + "/a";
  const auto source = Open("a");
  const timespec long_ago[2] = {{.tv_sec = 1'000'000'000, .tv_nsec = 0},
                                {.tv_sec = 1'000'000'000, .tv_nsec = 0}};
  for (const char* now : {"9 8\n", "9 8 longer\n", "9"}) {
    directory_.Write("a", "3 4\n");
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), long_ago, 0), 0);
    BeforeRead() = [&] { directory_.Write("a", now); };
    const Status status = source.Get(Ask::kBytes).status;
    EXPECT_EQ(status.code(), Code::kUnavailable) << now;
    EXPECT_THAT(status.message(), HasSubstr("changed while it was read: " + path));
    const RowAnswer next = source.Get(Ask::kBytes);
    ASSERT_TRUE(next.status.ok()) << next.status.ToString();
    EXPECT_EQ(AsText(next.sample.bytes), now);
  }
}

TEST_P(LocalDir, HeaderBehindTheFirstReadIsFound) {
  std::string content = "far";
  content.resize(20'000, ' ');
  directory_.Write("a", content + "12 34\n");
  EXPECT_EQ(Open("a").Get(Ask::kSpec).spec.dims[1], 34);
  directory_.Write("a", content);
  const Status cut = Open("a").Get(Ask::kSpec).status;
  EXPECT_EQ(cut.code(), Code::kDataLoss);
  EXPECT_THAT(cut.message(), HasSubstr(directory_.path() + "/a: header is cut off"));
}

TEST_P(LocalDir, DirectoriesAndPipesAreRefusedWithoutWaiting) {
  ASSERT_EQ(::mkdir((directory_.path() + "/d").c_str(), 0700), 0);
  ASSERT_EQ(::mkfifo((directory_.path() + "/p").c_str(), 0600), 0);
  EXPECT_EQ(Open("d").Get(Ask::kBytes).status.code(), Code::kUnsupported);
  EXPECT_EQ(Open("p").Get(Ask::kBytes).status.code(), Code::kUnsupported);
  EXPECT_EQ(Open("p").Get(Ask::kSpec).status.code(), Code::kUnsupported);
}

TEST_P(LocalDir, OnlyWhatLiesBelowAnAllowedRootIsRead) {
  const std::string inside = directory_.path() + "/inside";
  ASSERT_EQ(::mkdir(inside.c_str(), 0700), 0);
  ASSERT_EQ(::mkdir((directory_.path() + "/inside2").c_str(), 0700), 0);
  for (const char* name : {"inside/a", "inside2/b", "c"}) directory_.Write(name, "3 4\n");
  ASSERT_EQ(::symlink("../c", (inside + "/link").c_str()), 0);
  ASSERT_EQ(::symlink((inside + "/a").c_str(), (inside + "/own_link").c_str()), 0);
  ASSERT_EQ(::symlink("../inside2", (inside + "/folder").c_str()), 0);
  const auto statuses = [&](const std::string& name) {
    const auto source = Open(name);
    return std::vector<Status>{source.Get(Ask::kIdentity).status, source.Get(Ask::kBytes).status,
                               source.Get(Ask::kSpec).status};
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
  EXPECT_THAT(Open("inside/link").Get(Ask::kBytes).status.message(),
              HasSubstr("/inside/link -> " + directory_.path() + "/c"));
  EXPECT_EQ(Open("inside/gone").Get(Ask::kBytes).status.code(), Code::kNotFound);
  allowed_roots_ = {"/"};
  EXPECT_TRUE(Open("c").Get(Ask::kBytes).status.ok());
}

TEST_P(LocalDir, AnEmptyFileIsReadAsNothing) {
  directory_.Write("a", "");
  const auto source = Open("a");
  EXPECT_EQ(source.Get(Ask::kBytes).sample.bytes.size(), 0U);
  EXPECT_TRUE(source.Get(Ask::kBytes).status.ok());
  EXPECT_EQ(source.Get(Ask::kSpec).status.code(), Code::kUnsupported);
}

// No compute thread waits in a read: what is not in memory is read elsewhere.
TEST_P(LocalDir, WhatIsNotInMemoryIsReadOnAnotherThread) {
  directory_.Write("a", "3 4\n");
  const Asked asked = Open("a");
  const std::size_t here = std::hash<std::thread::id>()(std::this_thread::get_id());
  for (const Ask ask : {Ask::kBytes, Ask::kSpec, Ask::kWitness, Ask::kWholeWitness}) {
    const int before = patient_reads;
    patient_thread = 0;
    const auto now = asked.source().Now(ask, 0, asked.buffer());
    EXPECT_EQ(now.has_value(), GetParam() == 0);
    if (now) continue;
    EXPECT_EQ(patient_reads, before) << "it read here";
    const RowAnswer later = Answers(asked.source(), ask, {0}).Wait(0);
    EXPECT_TRUE(later.status.ok()) << later.status.ToString();
    EXPECT_GT(patient_reads, before);
    EXPECT_NE(patient_thread, here);
  }
}

TEST_P(LocalDir, FilesThatAreInMemoryAgainAreReadHereAgain) {
  directory_.Write("a", "3 4\n");
  const Asked asked = Open("a");
  for (int i = 0; i < DirectReads::kMostInVain && GetParam() != 0; ++i) {
    EXPECT_FALSE(asked.source().Now(Ask::kBytes, 0, asked.buffer()));
  }
  EXPECT_EQ(asked.source().waits(), GetParam() != 0);
  if (GetParam() == EAGAIN) nowait_error = 0;
  for (int i = 0; i < 1000 && asked.source().waits(); ++i) {  // a measured read may wait by chance
    EXPECT_TRUE(Answers(asked.source(), Ask::kBytes, {0}).Wait(0).status.ok());
  }
  EXPECT_FALSE(asked.source().waits());
}

TEST_P(LocalDir, WhatIsReadIsCounted) {
  directory_.Write("small", "4 1\n" + std::string(96, 'x'));
  directory_.Write("far", "far" + std::string(19'997, ' ') + "4 2\n" + std::string(30'000, ' '));
  EXPECT_EQ(Open("small").Get(Ask::kBytes).bytes_read, 100U);
  EXPECT_EQ(Open("small").Get(Ask::kSpec).bytes_read, 100U);
  EXPECT_EQ(Open("far").Get(Ask::kSpec).bytes_read, Source::kHeadBytes + 20'032);  // starts over
  EXPECT_EQ(Open("small").Get(Ask::kIdentity).bytes_read, 0U);
  EXPECT_EQ(Open("far").Get(Ask::kWitness).bytes_read, 8192U);
  EXPECT_EQ(Open("far").Get(Ask::kWholeWitness).bytes_read, 50'004U);
  EXPECT_EQ(Open("gone").Get(Ask::kBytes).bytes_read, 0U);
}

}  // namespace
}  // namespace headrace::dataworker
