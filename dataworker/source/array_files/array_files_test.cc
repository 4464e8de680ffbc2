// What only arrays in files can do: overlap, go backwards, be cut off, change after they were opened.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "dataworker/source/core/source_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;

// A file of 64 bytes 0, 1, 2, ...
class ArrayFilesSource : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string content;
    for (int i = 0; i < 64; ++i) content.push_back(static_cast<char>(i));
    directory_.Write("a.bin", content);
  }
  [[nodiscard]] std::string path() const { return directory_.path() + "/a.bin"; }
  [[nodiscard]] SourceLeaf Leaf(std::int64_t rows, std::vector<SourceLeaf::Array> arrays,
                                Args args) const {
    args["path0"] = path();
    args["version0"] = directory_.VersionOf("a.bin");
    return {.source = "array_files",
            .args = std::move(args),
            .rows = rows,
            .table = {},
            .arrays = std::move(arrays)};
  }
  Result<std::unique_ptr<Source>> Make(const SourceLeaf& leaf,
                                       std::vector<std::string> roots = {}) {
    return BuiltinSources().Make(
        leaf, {blobs_.lookup(), ReadTextHeader, std::move(roots), &TestIo(), nullptr});
  }
  std::unique_ptr<Source> Open(const SourceLeaf& leaf, std::vector<std::string> roots = {}) {
    auto made = Make(leaf, std::move(roots));
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return std::move(made).value();
  }
  // On an io thread: the page cache is no matter.
  static RowAnswer Get(const Source& source, std::int64_t row, Ask ask = Ask::kBytes) {
    return Answers(source, ask, {row}).Wait(0);
  }
  static Ints Column(const Source& source, std::int32_t index, std::int64_t row) {
    const RowAnswer answer = Get(source, row);
    EXPECT_TRUE(answer.status.ok()) << answer.status.ToString();
    Ints made(source.column(index)->row_bytes / sizeof(std::int64_t));
    EXPECT_TRUE(
        source.MakeColumn(index, answer.sample.bytes, std::as_writable_bytes(std::span(made)))
            .ok());
    return made;
  }

  static SourceLeaf::Array Int64s(std::int64_t count) { return {{}, DType::kI64, {count}}; }

  TemporaryDirectory directory_;
  BlobMap blobs_;
};

// A window of tokens and the same one token later: 10 bytes are read, not 16.
TEST_F(ArrayFilesSource, WindowsThatOverlapAreReadOnce) {
  const auto source = Open(Leaf(7, {Int64s(4), Int64s(4)},
                                {{"place0", Ints{0, 0, 8}},
                                 {"place1", Ints{0, 2, 8}},
                                 {"elements0", std::string("<u2")},
                                 {"elements1", std::string("<u2")}}));
  const RowAnswer answer = Get(*source, 1);
  EXPECT_EQ(answer.bytes_read, 10U);
  EXPECT_THAT(Column(*source, 0, 1), ElementsAre(0x0908, 0x0B0A, 0x0D0C, 0x0F0E));
  EXPECT_THAT(Column(*source, 1, 1), ElementsAre(0x0B0A, 0x0D0C, 0x0F0E, 0x1110));
  EXPECT_EQ(source->column(0)->dtype, DType::kI64);
}

TEST_F(ArrayFilesSource, RowsMayGoBackwardsAndRepeat) {
  const auto source = Open(Leaf(8, {Int64s(2), Int64s(1)},
                                {{"place0", Ints{0, 62, -8}},
                                 {"place1", Ints{0, 5, 0}},
                                 {"elements0", std::string("|u1")},
                                 {"elements1", std::string("|u1")}}));
  EXPECT_THAT(Column(*source, 0, 0), ElementsAre(62, 63));
  EXPECT_THAT(Column(*source, 0, 7), ElementsAre(6, 7));
  EXPECT_THAT(Column(*source, 1, 7), ElementsAre(5));
  EXPECT_EQ(Get(*source, 0).bytes_read, 3U);  // of two places
}

TEST_F(ArrayFilesSource, RowsBeyondTheFileThatThePlanMeansAreRefused) {
  const auto make = [&](std::int64_t rows, Ints place, Args more = {}) {
    more["place0"] = std::move(place);
    return Make(Leaf(rows, {{{}, DType::kU8, {8}}}, std::move(more))).status();
  };
  EXPECT_TRUE(make(8, {0, 0, 8}).ok());
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const std::vector<Ints> wrong = {{0, 1, 8},         {0, 0, 9},     {0, -1, 8},   {0, 55, -8},
                                   {1, 0, 8},         {-1, 0, 8},    {0, 0},       {},
                                   {0, kHuge, kHuge}, {0, 0, kHuge}, {0, kHuge, 0}};
  for (const Ints& place : wrong) {
    EXPECT_EQ(make(8, place).code(), Code::kInvalidArgument) << ::testing::PrintToString(place);
  }
  EXPECT_EQ(make(-1, {0, 0, 8}).code(), Code::kInvalidArgument);
  EXPECT_THAT(make(8, {0, 0, 8}, {{"path1", std::string("b")}}).message(), HasSubstr("version"));
  EXPECT_THAT(make(8, {0, 0, 8}, {{"elements1", std::string("<u2")}}).message(),
              HasSubstr("elements1"));
  EXPECT_EQ(make(8, {0, 0, 8}, {{"elements0", std::string("<f4")}}).code(), Code::kUnsupported);
}

TEST_F(ArrayFilesSource, AFileThatIsCutOffIsAnErrorOfTheSample) {
  const auto source = Open(Leaf(8, {{{}, DType::kU8, {8}}}, {{"place0", Ints{0, 0, 8}}}));
  EXPECT_TRUE(Get(*source, 7).status.ok());
  ASSERT_EQ(::truncate(path().c_str(), 20), 0);
  for (const std::int64_t row : {0, 2, 7}) {
    const Status status = Get(*source, row).status;
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr(path() + " has changed since"));
  }
}

TEST_F(ArrayFilesSource, AFileInAnotherStateThanThePlanMeansIsRefused) {
  const SourceLeaf leaf = Leaf(8, {{{}, DType::kU8, {8}}}, {{"place0", Ints{0, 0, 8}}});
  const auto before = Open(leaf);
  const auto opened = Open(leaf);
  EXPECT_TRUE(Get(*opened, 0).status.ok());
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                             {.tv_sec = 1'000'000'000, .tv_nsec = 7}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path().c_str(), times, 0), 0);  // as a write in place
  for (const Source* const source : {before.get(), opened.get()}) {
    EXPECT_EQ(Get(*source, 0).status.code(), Code::kUnavailable);
  }
}

// The program's map keeps the file that it was opened with, and so does the source.
TEST_F(ArrayFilesSource, AnOpenFileStaysTheOneThatItWasWhereItsPathMeansAnother) {
  const SourceLeaf leaf = Leaf(8, {{{}, DType::kU8, {8}}}, {{"place0", Ints{0, 0, 8}}});
  const auto opened = Open(leaf);
  EXPECT_TRUE(Get(*opened, 0).status.ok());
  directory_.Write("b.bin", "other");
  ASSERT_EQ(::rename((directory_.path() + "/b.bin").c_str(), path().c_str()), 0);
  EXPECT_EQ(Get(*opened, 1).sample.bytes[0], std::byte{8});
  EXPECT_EQ(Get(*Open(leaf), 1).status.code(), Code::kUnavailable);
}

TEST_F(ArrayFilesSource, OnlyFilesBelowTheAllowedRootsAreRead) {
  const SourceLeaf leaf = Leaf(8, {{{}, DType::kU8, {8}}}, {{"place0", Ints{0, 0, 8}}});
  EXPECT_TRUE(Get(*Open(leaf, {directory_.path()}), 0).status.ok());
  const Status status = Get(*Open(leaf, {"/nowhere"}), 0).status;
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("--allow-root"));
}

TEST_F(ArrayFilesSource, AFileThatIsGoneOrNoneIsAnErrorOfTheSample) {
  SourceLeaf leaf = Leaf(8, {{{}, DType::kU8, {8}}}, {{"place0", Ints{0, 0, 8}}});
  leaf.args["path0"] = directory_.path();
  EXPECT_EQ(Get(*Open(leaf), 0).status.code(), Code::kUnsupported);
  leaf.args["path0"] = directory_.path() + "/gone";
  EXPECT_EQ(Get(*Open(leaf), 0).status.code(), Code::kNotFound);
}

}  // namespace
}  // namespace headrace::dataworker
