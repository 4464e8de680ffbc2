#include "base/file_group.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace headrace {
namespace {

Bytes GroupOf(const std::vector<std::string>& files) {
  std::vector<std::size_t> sizes;
  for (const std::string& file : files) sizes.push_back(file.size());
  Bytes group(FileGroup::BytesOf(sizes), std::byte{0xab});
  const std::vector<MutableByteSpan> places = FileGroup::Lay(sizes, group);
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::ranges::copy(AsBytes(files[i]), places[i].begin());
  }
  return group;
}

TEST(FileGroup, GivesEachFileBackWithReadableBytesAfterIt) {
  const std::vector<std::string> files{"first", "", std::string(1000, 'x'), "last"};
  const Bytes group = GroupOf(files);
  const Result<FileGroup> opened = FileGroup::Open(group);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  ASSERT_EQ(opened->size(), files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const ByteSpan file = (*opened)[i];
    EXPECT_EQ(AsText(file), files[i]);
    EXPECT_EQ((file.data() - group.data()) % 64, 0);
    EXPECT_GE(group.data() + group.size() - (file.data() + file.size()),
              static_cast<std::ptrdiff_t>(ScratchBuffer::kSlack));
  }
}

TEST(FileGroup, WhatIsBetweenFilesIsAlwaysTheSame) {
  EXPECT_EQ(GroupOf({"a", "bc"}), GroupOf({"a", "bc"}));
  const Bytes group = GroupOf({"a", "bc"});
  EXPECT_EQ(std::ranges::count(group, std::byte{0xab}), 0);
}

TEST(FileGroup, OtherBytesAreRefused) {
  const Bytes group = GroupOf({"abc", "de"});
  for (std::size_t bytes = 0; bytes < group.size(); ++bytes) {
    EXPECT_EQ(FileGroup::Open(ByteSpan(group).first(bytes)).status().code(), Code::kDataLoss);
  }
  Bytes longer = group;
  longer.push_back({});
  EXPECT_FALSE(FileGroup::Open(longer).ok());
  for (std::size_t at = 0; at < 32; ++at) {  // magic, count, sizes
    for (const int bit : {0, 6, 7}) {
      Bytes damaged = group;
      damaged[at] ^= std::byte{1} << bit;
      const Result<FileGroup> opened = FileGroup::Open(damaged);
      if (!opened.ok()) continue;
      EXPECT_GE(at, 16U) << "a size may differ by less than the alignment";
      for (std::size_t i = 0; i < opened->size(); ++i) {
        EXPECT_LE((*opened)[i].data() + (*opened)[i].size() + ScratchBuffer::kSlack,
                  damaged.data() + damaged.size());
      }
    }
  }
}

}  // namespace
}  // namespace headrace
