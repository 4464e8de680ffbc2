// What only rows of several files can do.
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_group.h"
#include "dataworker/source/core/source_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

class FileGroups : public ::testing::Test {
 protected:
  // A source of one row.
  std::unique_ptr<Source> Open(const std::vector<std::string>& names) {
    auto made = Make(names, static_cast<std::int64_t>(names.size()), 1);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return std::move(made).value();
  }
  Result<std::unique_ptr<Source>> Make(const std::vector<std::string>& names, ArgValue files,
                                       std::int64_t rows) {
    wire::FileTable table{.root = directory_.path(), .paths = names, .labels = {}};
    for (std::size_t i = 0; i < names.size(); ++i) {
      table.labels.push_back(static_cast<std::int64_t>(i));
    }
    const SourceLeaf leaf{.source = "file_groups",
                          .args = {{"files", std::move(files)}},
                          .rows = rows,
                          .table = blobs_.Add(wire::EncodeFileTable(table)),
                          .arrays = {}};
    return BuiltinSources().Make(leaf,
                                 {blobs_.lookup(), ReadTextHeader, allowed_roots_, &TestIo()});
  }
  static RowAnswer Get(const Source& source, Ask ask, std::int64_t row = 0) {
    return Answers(source, ask, {row}).Wait(0);
  }
  TemporaryDirectory directory_;
  BlobMap blobs_;
  std::vector<std::string> allowed_roots_;
};

TEST_F(FileGroups, TheBytesAreThoseOfItsFilesInTheirOrder) {
  directory_.Write("a", "3 4\n");
  directory_.Write("b", "3 4 longer\n");
  directory_.Write("c", "");
  const auto source = Open({"b", "a", "c"});
  EXPECT_EQ(source->files(), 3);
  const RowAnswer answer = Get(*source, Ask::kBytes);
  ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
  EXPECT_EQ(answer.bytes_read, 15U);
  const Result<FileGroup> group = FileGroup::Open(answer.sample.bytes);
  ASSERT_TRUE(group.ok()) << group.status().ToString();
  ASSERT_EQ(group->size(), 3U);
  EXPECT_EQ(AsText((*group)[0]), "3 4 longer\n");
  EXPECT_EQ(AsText((*group)[1]), "3 4\n");
  EXPECT_EQ(AsText((*group)[2]), "");
}

TEST_F(FileGroups, PicturesOfOtherSizesThanTheFirstHaveNoSpec) {
  directory_.Write("image", "3 4\n");
  directory_.Write("mask", "3 4\n");
  directory_.Write("other", "3 5\n");
  EXPECT_EQ(Get(*Open({"image", "mask"}), Ask::kSpec).spec.dims[1], 4);
  const Status status = Get(*Open({"image", "mask", "other"}), Ask::kSpec).status;
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr(directory_.path() + "/other"));
}

TEST_F(FileGroups, AChangeOfAnyFileMakesANewIdentityAndAnotherWitness) {
  directory_.Write("a", "3 4\n");
  directory_.Write("b", "3 4\n");
  const auto source = Open({"a", "b"});
  std::vector<ContentIdentity> identities{Get(*source, Ask::kIdentity).sample.content};
  std::vector<FileWitness> witnesses{Get(*source, Ask::kWholeWitness).witness};
  for (const std::string name : {"b", "a"}) {
    directory_.Write(name, "3 4\nx" + name);
    identities.push_back(Get(*source, Ask::kIdentity).sample.content);
    witnesses.push_back(Get(*source, Ask::kWholeWitness).witness);
    EXPECT_EQ(Get(*source, Ask::kBytes).sample.content, identities.back());
  }
  for (std::size_t i = 0; i < identities.size(); ++i) {
    EXPECT_EQ(identities[i].place, identities[0].place) << "newer content of the same place";
    EXPECT_EQ(Difference(witnesses[i], witnesses[i], false), "");
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(identities[i] == identities[j]);
      EXPECT_NE(Difference(witnesses[i], witnesses[j], false), "");
    }
  }
}

// Two files that change places: every sum over them stays.
TEST_F(FileGroups, TheOrderOfItsFilesCounts) {
  directory_.Write("a", "3 4\n1");
  directory_.Write("b", "3 4\n2");
  const auto one = Open({"a", "b"}), other = Open({"b", "a"});
  EXPECT_FALSE(Get(*one, Ask::kIdentity).sample.content ==
               Get(*other, Ask::kIdentity).sample.content);
  EXPECT_NE(Difference(Get(*one, Ask::kWitness).witness, Get(*other, Ask::kWitness).witness, false),
            "");
}

TEST_F(FileGroups, AFileThatIsGoneIsNamed) {
  directory_.Write("a", "3 4\n");
  const auto source = Open({"a", "gone"});
  for (const Ask ask : {Ask::kIdentity, Ask::kSpec, Ask::kBytes, Ask::kWitness}) {
    const Status status = Get(*source, ask).status;
    EXPECT_EQ(status.code(), Code::kNotFound);
    EXPECT_THAT(status.message(), HasSubstr(directory_.path() + "/gone"));
  }
}

TEST_F(FileGroups, FilesThatAreTooLargeTogetherAreRefusedWithoutMemoryForThem) {
  for (const char* name : {"a", "b"}) {
    directory_.Write(name, "3 4\n");
    std::filesystem::resize_file(directory_.path() + "/" + name, 600U << 20);  // a hole
  }
  const Status status = Get(*Open({"a", "b"}), Ask::kBytes).status;
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr(directory_.path() + "/a"));
}

TEST_F(FileGroups, EveryFileMustLieBelowAnAllowedRoot) {
  ASSERT_EQ(::mkdir((directory_.path() + "/inside").c_str(), 0700), 0);
  for (const char* name : {"inside/a", "inside/b", "c"}) directory_.Write(name, "3 4\n");
  allowed_roots_ = {directory_.path() + "/inside"};
  EXPECT_TRUE(Get(*Open({"inside/a", "inside/b"}), Ask::kBytes).status.ok());
  const auto source = Open({"inside/a", "c"});
  for (const Ask ask : {Ask::kIdentity, Ask::kSpec, Ask::kBytes, Ask::kWitness}) {
    const Status status = Get(*source, ask).status;
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr("--allow-root"));
  }
}

TEST_F(FileGroups, TheNumberOfFilesIsChecked) {
  const std::vector<std::string> four{"a", "b", "c", "d"};
  EXPECT_TRUE(Make(four, std::int64_t{2}, 2).ok());
  EXPECT_TRUE(Make(four, std::int64_t{4}, 1).ok());
  EXPECT_EQ(Make(four, std::int64_t{3}, 1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Make(four, std::int64_t{2}, 4).status().code(), Code::kInvalidArgument);
  for (const std::int64_t files : {-2, 0, 1, 17}) {
    EXPECT_EQ(Make(four, files, 1).status().code(), Code::kInvalidArgument) << files;
  }
  EXPECT_EQ(Make(four, 2.0, 2).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::dataworker
