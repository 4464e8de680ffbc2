// What only shards can do: change below their ranges, end before them.
#include <fcntl.h>
#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "dataworker/source/core/source_fixture.h"
#include "dataworker/source/ranges/range_fixture.h"
#include "dataworker/source/ranges/zip_fixture.h"
#include "dataworker/source/ranges/zip_member.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

class FileRangesSource : public ::testing::Test {
 protected:
  void Write(const std::string& content) { directory_.Write("s.tar", content); }
  [[nodiscard]] std::string path() const { return directory_.path() + "/s.tar"; }
  [[nodiscard]] std::string Version() const {
    struct stat st;
    EXPECT_EQ(::stat(path().c_str(), &st), 0);
    return wire::VersionOfFile(static_cast<std::uint64_t>(st.st_size),
                               st.st_mtim.tv_sec * 1'000'000'000 + st.st_mtim.tv_nsec);
  }
  // A moment at which the file was written.
  void SetTime(long nanos) {
    const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                               {.tv_sec = 1'000'000'000, .tv_nsec = nanos}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path().c_str(), times, 0), 0);
  }
  std::unique_ptr<Source> Open(const std::vector<ShardRow>& rows, const std::string& version,
                               std::vector<std::string> roots = {}) {
    auto made = Make(rows, version, std::move(roots));
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return std::move(made).value();
  }
  Result<std::unique_ptr<Source>> Make(const std::vector<ShardRow>& rows,
                                       const std::string& version,
                                       std::vector<std::string> roots = {}, Args args = {}) {
    const SourceLeaf leaf{
        .source = "file_ranges",
        .args = std::move(args),
        .rows = static_cast<std::int64_t>(rows.size()),
        .table = blobs_.Add(RangeTableOf(directory_.path(), {{"s.tar", version, rows}})),
        .arrays = {}};
    return BuiltinSources().Make(
        leaf, {blobs_.lookup(), ReadTextHeader, std::move(roots), &TestIo(), nullptr});
  }
  // On an io thread: the page cache is no matter.
  static RowAnswer Get(const Source& source, Ask ask, std::int64_t row = 0) {
    return Answers(source, ask, {row}).Wait(0);
  }

  TemporaryDirectory directory_;
  BlobMap blobs_;
};

constexpr Ask kEach[] = {Ask::kIdentity, Ask::kSpec, Ask::kBytes, Ask::kWitness};

TEST_F(FileRangesSource, AShardThatHasChangedSinceItWasListedIsRefusedWhateverIsAsked) {
  Write("....3 4\nmore");
  SetTime(5);
  const auto source = Open({{4, 8, 1}}, Version());
  for (const Ask ask : kEach) {
    const RowAnswer answer = Get(*source, ask);
    EXPECT_TRUE(answer.status.ok()) << answer.status.ToString();
  }
  // Rewritten in place, as long as before, a nanosecond later.
  Write("....9 9\nless");
  SetTime(6);
  for (const Ask ask : kEach) {
    const Status status = Get(*source, ask).status;
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr(path() + " has changed since"));
  }
}

// Where the table says no version, bytes are those of now, and so is their identity.
TEST_F(FileRangesSource, ANewVersionHasANewIdentityInTheSamePlace) {
  Write("....3 4\nmore");
  SetTime(5);
  const auto source = Open({{4, 8, 1}, {0, 4, 2}}, "");
  const ContentIdentity before = Get(*source, Ask::kIdentity).sample.content;
  Write("....9 9\nless");
  SetTime(6);
  const RowAnswer after = Get(*source, Ask::kBytes);
  EXPECT_EQ(AsText(after.sample.bytes), "9 9\nless");
  EXPECT_EQ(before.place, after.sample.content.place);
  EXPECT_FALSE(before == after.sample.content);
  EXPECT_NE(Get(*source, Ask::kIdentity, 1).sample.content.place, before.place);
}

TEST_F(FileRangesSource, ARangeBeyondTheEndIsRefused) {
  Write("....3 4\nmore");
  const auto source = Open({{4, 9, 1}, {13, 0, 1}, {std::uint64_t{1} << 62, 1, 1}}, "");
  for (std::int64_t row = 0; row < 3; ++row) {
    for (const Ask ask : kEach) {
      EXPECT_THAT(Get(*source, ask, row).status.message(), HasSubstr("ends before the sample"));
    }
  }
}

const Args kMembers = {{"members", std::int64_t{1}}};

TEST_F(FileRangesSource, AMemberOfAZipIsDescribedAndComesAsItLiesInTheZip) {
  // A header that is far in the sample, before which little is packed to nothing.
  const std::string far = "far" + std::string(19'997, '.') + "6 7\n" + std::string(30'000, 'x');
  for (const bool deflated : {false, true}) {
    const ZippedSample zipped[] = {Zipped("3 4\nmore", deflated), Zipped(far, deflated, 60'000)};
    std::vector<ShardRow> rows;
    std::string zip = "....";
    for (const ZippedSample& one : zipped) {
      rows.push_back({zip.size(), static_cast<std::uint32_t>(one.bytes.size()), 1, one.member});
      zip += one.bytes;
    }
    Write(zip);
    auto made = Make(rows, "", {}, kMembers);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    const auto source = std::move(made).value();
    EXPECT_EQ(Get(*source, Ask::kSpec, 0).spec.dims[1], 4);
    EXPECT_EQ(Get(*source, Ask::kSpec, 1).spec.dims[1], 7);
    for (std::int64_t row = 0; row < 2; ++row) {
      const RowAnswer answer = Get(*source, Ask::kBytes, row);
      ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
      ScratchBuffer out;
      ASSERT_EQ(answer.sample.member, zipped[row].member);
      const auto sample = UnpackMember(answer.sample.bytes, *answer.sample.member, out);
      ASSERT_TRUE(sample.ok()) << sample.status().ToString();
      EXPECT_EQ(AsText(*sample), row == 0 ? "3 4\nmore" : far);
    }
  }
}

// A plan of somebody else's may say other things of the same bytes, and the cache is shared.
TEST_F(FileRangesSource, WhatAMemberIsUnpackedToIsPartOfItsIdentity) {
  const ZippedSample zipped = Zipped("3 4\nmore", false);
  Write(zipped.bytes);
  const auto size = static_cast<std::uint32_t>(zipped.bytes.size());
  wire::ZipMember shorter = zipped.member, other = zipped.member;
  shorter.packed_size = shorter.size = 4;
  ++other.crc;
  auto made = Make({{0, size, 1, zipped.member}, {0, size, 1, shorter}, {0, size, 1, other}}, "",
                   {}, kMembers);
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  std::vector<ContentIdentity> seen = {
      Get(*Open({{0, size, 1}}, ""), Ask::kIdentity).sample.content};
  for (std::int64_t row = 0; row < 3; ++row) {
    const ContentIdentity asked = Get(**made, Ask::kIdentity, row).sample.content;
    EXPECT_EQ(asked, Get(**made, Ask::kBytes, row).sample.content);
    for (const ContentIdentity& before : seen) EXPECT_NE(asked.place, before.place);
    seen.push_back(asked);
  }
}

TEST_F(FileRangesSource, APlanSaysWhetherItsRangesAreMembersOfZips) {
  const ZippedSample zipped = Zipped("3 4\nmore", false);
  Write(zipped.bytes);
  const auto size = static_cast<std::uint32_t>(zipped.bytes.size());
  EXPECT_EQ(Make({{0, size, 1, zipped.member}}, "").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Make({{0, size, 1}}, "", {}, kMembers).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(
      Make({{0, size, 1, zipped.member}}, "", {}, {{"members", std::int64_t{2}}}).status().code(),
      Code::kInvalidArgument);
  EXPECT_TRUE(Make({{0, size, 1, zipped.member}}, "", {}, kMembers).ok());
}

TEST_F(FileRangesSource, ItsSpecIsReadFromTheRangeAlone) {
  Write("7 7\n3 4\nfar");
  const auto source = Open({{4, 4, 1}, {0, 2, 1}, {8, 3, 1}}, "");
  EXPECT_EQ(Get(*source, Ask::kSpec).spec.dims[0], 3);
  EXPECT_FALSE(Get(*source, Ask::kSpec, 1).status.ok());
  EXPECT_EQ(Get(*source, Ask::kSpec, 2).status.code(), Code::kDataLoss);
}

TEST_F(FileRangesSource, AWitnessIsOfTheRange) {
  Write(std::string(10'000, 'a') + std::string(10'000, 'b') + "c");
  const auto source = Open({{0, 10'000, 1}, {10'000, 10'000, 1}, {1, 9'998, 1}}, "");
  const FileWitness a = Get(*source, Ask::kWholeWitness).witness;
  const FileWitness b = Get(*source, Ask::kWholeWitness, 1).witness;
  EXPECT_EQ(a.size, 10'000U);
  EXPECT_NE(a.ends, b.ends);
  EXPECT_NE(a.whole, b.whole);
  EXPECT_EQ(*ReadWitness(path(), {0, 10'000}, true), a);
  EXPECT_EQ(*ReadWitness(path(), {1, 9'998}, false), Get(*source, Ask::kWitness, 2).witness);
}

TEST_F(FileRangesSource, OnlyShardsBelowAnAllowedRootAreRead) {
  Write("....3 4\nmore");
  const auto source = Open({{4, 8, 1}}, "", {"/nowhere"});
  for (const Ask ask : kEach) {
    EXPECT_EQ(Get(*source, ask).status.detail(), Detail::kNotAllowed);
  }
  EXPECT_TRUE(Get(*Open({{4, 8, 1}}, "", {directory_.path()}), Ask::kBytes).status.ok());
}

TEST_F(FileRangesSource, AMissingShardIsNamed) {
  const auto source = Open({{4, 8, 1}}, "");
  const Status status = Get(*source, Ask::kBytes).status;
  EXPECT_EQ(status.detail(), Detail::kNoFile);
  EXPECT_THAT(status.message(), HasSubstr(path()));
  EXPECT_EQ(source->NameOf(0), path() + " at byte 4");
}

}  // namespace
}  // namespace headrace::dataworker
