#include "base/file_witness.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

class FileWitnessTest : public ::testing::Test {
 protected:
  ~FileWitnessTest() override { std::filesystem::remove(path_); }
  FileWitness Of(const std::string& content, bool whole = false) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << content;
    const Result<FileWitness> witness = ReadWitness(path_, whole);
    EXPECT_TRUE(witness.ok()) << witness.status().ToString();
    return witness.ok() ? *witness : FileWitness();
  }
  const std::string path_ = ::testing::TempDir() + "/hr_witness_" + std::to_string(getpid());
};

TEST_F(FileWitnessTest, OtherBytesAtEitherEndAreSeen) {
  const std::string content(10'000, 'a');
  const FileWitness first = Of(content);
  for (const std::size_t at : {0, 4095, 5904, 9999}) {
    std::string other = content;
    other[at] = 'b';
    EXPECT_THAT(Difference(first, Of(other), false), HasSubstr("first or last 4096 bytes")) << at;
  }
  EXPECT_THAT(Difference(first, Of(content + "a"), false),
              HasSubstr("10001 bytes there and 10000 here"));
  EXPECT_EQ(Difference(first, Of(content), false), "");
  EXPECT_THAT(Difference(Of("abc"), Of("abd"), false), HasSubstr("first or last"));
  EXPECT_EQ(Difference(Of(""), Of(""), false), "");
}

TEST_F(FileWitnessTest, OtherBytesInTheMiddleAreSeenByWhoReadsAll) {
  for (const std::size_t size : {10'000UL, 3UL << 20}) {
    const std::string content(size, 'a');
    std::string other = content;
    other[size / 2] = 'b';
    EXPECT_EQ(Difference(Of(content), Of(other), false), "");
    EXPECT_THAT(Difference(Of(content, true), Of(other, true), false),
                HasSubstr("its bytes are others"));
    EXPECT_EQ(Difference(Of(content, true), Of(content, true), false), "");
  }
}

TEST_F(FileWitnessTest, OnOneHostTheSameFileIsTheSame) {
  FileWitness mine = Of("abc");
  FileWitness theirs = mine;
  theirs.ends = 0;  // not compared
  EXPECT_EQ(Difference(mine, theirs, true), "");
  EXPECT_NE(Difference(mine, theirs, false), "");
  for (std::int64_t FileWitness::*time : {&FileWitness::mtime_ns, &FileWitness::ctime_ns}) {
    FileWitness touched = theirs;
    touched.*time += 1;
    EXPECT_NE(Difference(mine, touched, true), "");
  }
}

TEST_F(FileWitnessTest, WhatIsNoFileIsRefused) {
  EXPECT_EQ(ReadWitness(path_, false).status().code(), Code::kNotFound);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(ReadWitness(path_, false).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace headrace
