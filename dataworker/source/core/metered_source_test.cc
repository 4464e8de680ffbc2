#include "dataworker/source/core/metered_source.h"

#include <string>
#include <utility>

#include "dataworker/source/core/source_fixture.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

TEST(MeteredSource, CountsWhatItsThreadReads) {
  const TemporaryDirectory directory;
  directory.Write("small", "4 1\n" + std::string(96, 'x'));
  directory.Write("far", "far" + std::string(19'997, ' ') + "4 2\n" + std::string(30'000, ' '));
  BlobMap blobs;
  const wire::FileTable table{
      .root = directory.path(), .paths = {"small", "far", "gone"}, .labels = {1, 2, 3}};
  const SourceLeaf leaf{.source = "local_dir",
                        .rows = 3,
                        .table = blobs.Add(wire::EncodeFileTable(table)),
                        .arrays = {}};
  auto made = BuiltinSources().Make(leaf, {blobs.lookup(), MeteredHeaders(ReadTextHeader)});
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  const std::unique_ptr<Source> source = Metered(std::move(made).value());

  ScratchBuffer buffer;
  std::uint64_t before = SourceBytesOfThisThread();
  const auto taken = [&] {
    return SourceBytesOfThisThread() - std::exchange(before, SourceBytesOfThisThread());
  };
  ASSERT_TRUE(source->Read(0, buffer).ok());
  EXPECT_EQ(taken(), 100U);
  ASSERT_TRUE(source->Describe(0, buffer).ok());
  EXPECT_EQ(taken(), 100U);
  ASSERT_TRUE(source->Describe(1, buffer).ok());
  EXPECT_EQ(taken(), Source::kHeadBytes + 20'032);  // it starts over
  EXPECT_FALSE(source->Read(2, buffer).ok());
  ASSERT_TRUE(source->Identify(0).ok());
  EXPECT_EQ(taken(), 0U);
}

TEST(MeteredSource, WhatLiesInMemoryIsNotRead) {
  BlobMap blobs;
  const SourceLeaf leaf{
      .source = "arrays",
      .rows = 5,
      .table = {},
      .arrays = {{.blob = blobs.Add(Bytes(5 * 12)), .dtype = DType::kU8, .row_shape = {2, 2, 3}}}};
  auto made = BuiltinSources().Make(leaf, {blobs.lookup(), ReadTextHeader});
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  const std::unique_ptr<Source> source = Metered(std::move(made).value());
  ScratchBuffer buffer;
  const std::uint64_t before = SourceBytesOfThisThread();
  ASSERT_TRUE(source->Read(0, buffer).ok());
  EXPECT_EQ(SourceBytesOfThisThread(), before);
}

}  // namespace
}  // namespace headrace::dataworker
