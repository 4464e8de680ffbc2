#include "trainer_client/shards/zip_scan.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Little(std::uint64_t number, int bytes) {
  std::string made;
  for (int i = 0; i < bytes; ++i) made += static_cast<char>(number >> (8 * i));
  return made;
}

// One member, and what may be wrong with its entry in the directory.
struct Entry {
  std::string name, data;
  unsigned method = 0, flags = 0x800;
  std::optional<std::uint32_t> size = std::nullopt;    // else the data's
  std::optional<std::uint64_t> offset = std::nullopt;  // else where it is
  bool in64 = false;                                   // all numbers in an extra field
};

std::string ZipOf(const std::vector<Entry>& entries, bool end64 = false) {
  std::string zip, directory;
  for (const Entry& one : entries) {
    const std::uint64_t first = one.offset.value_or(zip.size());
    const std::uint32_t size = one.size.value_or(static_cast<std::uint32_t>(one.data.size()));
    zip += "PK\x03\x04" + std::string(22, '\0') + Little(one.name.size(), 2) + Little(4, 2) +
           one.name + "xtra" + one.data;
    std::string extra;
    if (one.in64) {
      extra = Little(9, 2) + Little(3, 2) + "abc" + Little(1, 2) + Little(24, 2) + Little(size, 8) +
              Little(one.data.size(), 8) + Little(first, 8);
    }
    const auto number = [&](std::uint64_t plain) {
      return Little(one.in64 ? 0xffffffff : plain, 4);
    };
    directory += "PK\x01\x02" + Little(20, 2) + Little(20, 2) + Little(one.flags, 2) +
                 Little(one.method, 2) + Little(0, 4) + Little(0x1234, 4) +
                 number(one.data.size()) + number(size) + Little(one.name.size(), 2) +
                 Little(extra.size(), 2) + Little(2, 2) + Little(0, 8) + number(first) + one.name +
                 extra + "cc";
  }
  const std::size_t begin = zip.size(), count = entries.size();
  zip += directory;
  if (end64) {
    zip += "PK\x06\x06" + Little(44, 8) + Little(45, 2) + Little(45, 2) + Little(0, 8) +
           Little(count, 8) + Little(count, 8) + Little(directory.size(), 8) + Little(begin, 8);
    zip += "PK\x06\x07" + Little(0, 4) + Little(begin + directory.size(), 8) + Little(1, 4);
  }
  const auto of_end = [&](std::uint64_t plain, int bytes) {
    return Little(end64 ? ~std::uint64_t{0} : plain, bytes);
  };
  return zip + "PK\x05\x06" + Little(0, 4) + of_end(count, 2) + of_end(count, 2) +
         of_end(directory.size(), 4) + of_end(begin, 4) + Little(0, 2);
}

struct ListedZip {
  Status status;
  ZipSamples samples;
  std::vector<std::string> names;
  explicit ListedZip(const std::string& zip, std::uint64_t more = 0, std::string folder = "",
                     bool by_class = true) {
    ZipScan scan(zip.size(), {{"jpg", "png"}, std::move(folder), by_class});
    while (const auto want = scan.wants()) {
      EXPECT_LE(want->first + want->bytes, zip.size());
      const auto bytes = AsBytes(zip).subspan(want->first);
      status = scan.Take(bytes.first(std::min<std::uint64_t>(want->bytes + more, bytes.size())));
      if (!status.ok()) return;
    }
    samples = scan.samples();
    std::size_t begin = 0;
    for (const std::int64_t end : samples.key_ends) {
      names.push_back(samples.keys.substr(begin, static_cast<std::size_t>(end) - begin));
      begin = static_cast<std::size_t>(end);
    }
  }
};

std::vector<Entry> Folders() {
  return {{"dog/b.JPG", "bbb"},    {"cat/", ""},         {"cat/sub/z.jpg", "z"},
          {"cat/sub-2/y.jpg", ""}, {"cat-2/x.png", "x"}, {"README.md", "words"},
          {"root.jpg", "r"},       {"cat/q.jpg", "qq"},  {"__MACOSX/cat/._q.jpg", "mac"}};
}

TEST(ZipScan, SamplesAreThoseOfAnImageFolderInItsOrder) {
  const std::string zip = ZipOf(Folders());
  for (const std::uint64_t more : {0, 1, 60, 100'000}) {
    const ListedZip listed(zip, more);
    ASSERT_TRUE(listed.status.ok()) << listed.status.ToString();
    EXPECT_THAT(listed.names, ElementsAre("cat/q.jpg", "cat/sub/z.jpg", "cat/sub-2/y.jpg",
                                          "cat-2/x.png", "dog/b.JPG"));
    EXPECT_EQ(listed.samples.firsts.back(), 0U);
    EXPECT_EQ(listed.samples.sizes.back(), 30U + 9 + 4 + 3) << "up to the next member";
    EXPECT_THAT(listed.samples.members[4], (wire::ZipMember{3, 3, 0x1234}));
  }
  EXPECT_THAT(ListedZip(zip, 0, "cat/").names, ElementsAre("cat/sub/z.jpg", "cat/sub-2/y.jpg"));
  EXPECT_THAT(ListedZip(zip, 0, "cat/", false).names,
              ElementsAre("cat/q.jpg", "cat/sub/z.jpg", "cat/sub-2/y.jpg"));
  EXPECT_EQ(ListedZip(zip, 0, "", false).names.size(), 6U);
  EXPECT_TRUE(ListedZip(ZipOf({})).status.ok());
}

TEST(ZipScan, Zip64AndWhatStandsBeforeOrAfterTheZipAreNoMatter) {
  std::vector<Entry> entries = Folders();
  for (Entry& one : entries) one.in64 = true;
  const std::string comment = ZipOf(Folders());
  // A comment that has the end of a zip in it.
  const std::string with_comment = comment.substr(0, comment.size() - 2) + Little(30'000, 2) +
                                   std::string(30'000 - 30, 'P') +
                                   comment.substr(comment.size() - 22) + "comments";
  const ListedZip plain(comment);
  for (const std::string& zip :
       {ZipOf(entries), ZipOf(entries, true), ZipOf(Folders(), true), with_comment}) {
    const ListedZip listed(zip);
    ASSERT_TRUE(listed.status.ok()) << listed.status.ToString();
    EXPECT_EQ(listed.names, plain.names);
    EXPECT_EQ(listed.samples.firsts, plain.samples.firsts);
    EXPECT_EQ(listed.samples.members, plain.samples.members);
  }
  const ListedZip shifted("#!/bin/sh\n" + comment);
  ASSERT_TRUE(shifted.status.ok());
  EXPECT_EQ(shifted.samples.firsts.back(), 10U);
}

TEST(ZipScan, NamesWithoutAMarkAreOfCodePage437) {
  const ListedZip listed(ZipOf({{"\x81/\xe1\xff.jpg", "u", 0, 0}}));
  EXPECT_THAT(listed.names, ElementsAre("ü/ß\u00a0.jpg"));
}

TEST(ZipScan, WhatNoWorkerCouldReadIsRefusedWithAReason) {
  const auto message = [](const std::vector<Entry>& entries) {
    return ListedZip(ZipOf(entries)).status.message();
  };
  EXPECT_THAT(message({{"a/b.jpg", "j", 0, 1}}), HasSubstr("'a/b.jpg' is encrypted"));
  EXPECT_EQ(message({{"a/b.txt", "j", 0, 1}}), "") << "it is no sample";
  EXPECT_THAT(message({{"a/b.jpg", "j", 93}}), HasSubstr("packed by method 93"));
  EXPECT_THAT(message({{"a/b.jpg", "j", 8, 0, (1U << 30) + 1}}), HasSubstr("larger than 1 GiB"));
  EXPECT_THAT(message({{"a/b.jpg", "j", 8, 0, 1U << 30}}), HasSubstr("cannot have the sizes"));
  EXPECT_THAT(message({{"a/b.jpg", "j", 0, 0, 2}}), HasSubstr("cannot have the sizes"));
  EXPECT_THAT(message({{"a/b.jpg", "j"}, {"a/b.jpg", "j"}}), HasSubstr("a second 'a/b.jpg'"));
  for (const std::string& name :
       {std::string("/a/b.jpg"), std::string("a/../b.jpg"), std::string("a//b.jpg"),
        std::string("a/./b.jpg"), std::string("a/b\0c.jpg", 9)}) {
    EXPECT_THAT(message({{name, "j"}}), HasSubstr("is no name of a file below a folder")) << name;
  }
  EXPECT_THAT(message({{"a/\x1b[2J.jpg", "j", 0, 1}}), HasSubstr("'a/?[2J.jpg' is encrypted"));
}

TEST(ZipScan, MembersThatShareBytesAreABomb) {
  const auto message = [](std::uint64_t offset, const char* other) {
    const std::string zip = ZipOf(
        {{"a/b.jpg", std::string(100, 'j')}, {other, std::string(100, 'j'), 0, 0x800, {}, offset}});
    return ListedZip(zip).status.message();
  };
  EXPECT_THAT(message(0, "a/c.jpg"), HasSubstr("overlaps another member"));
  EXPECT_THAT(message(0, "words"), HasSubstr("overlaps another member"));
  EXPECT_THAT(message(50, "a/c.jpg"), HasSubstr("overlaps another member"));
  EXPECT_THAT(message(200, "a/c.jpg"), HasSubstr("overlaps another member"));
  EXPECT_THAT(message(1 << 20, "a/c.jpg"), HasSubstr("begins after the end"));
  EXPECT_THAT(message(0xffffffff, "words"), HasSubstr("begins after the end"));
}

TEST(ZipScan, ATornZipIsToldFromAWholeOne) {
  const std::string zip = ZipOf(Folders());
  for (std::size_t size = 0; size < zip.size(); ++size) {
    EXPECT_EQ(ListedZip(zip.substr(0, size)).status.code(), Code::kDataLoss) << size;
  }
  EXPECT_THAT(ListedZip("").status.message(), HasSubstr("torn, or no zip"));
  EXPECT_EQ(ListedZip(zip.substr(20)).status.code(), Code::kDataLoss) << "its start is missing";
}

TEST(ZipScan, DamageIsAnErrorOrAListWithinTheZip) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int time = 0; time < 3000; ++time) {
    std::vector<Entry> entries = Folders();
    for (Entry& one : entries) one.in64 = random() % 2 == 0;
    std::string bad = ZipOf(entries, random() % 2 == 0);
    const std::size_t from = bad.rfind("PK\x01\x02") - 300;
    for (int i = 0; i < 3; ++i) {
      bad[from + random() % (bad.size() - from)] = static_cast<char>(random());
    }
    const ListedZip listed(bad, random() % 200);
    for (std::size_t i = 0; i < listed.samples.firsts.size(); ++i) {
      EXPECT_LE(listed.samples.firsts[i] + listed.samples.sizes[i], bad.size());
      EXPECT_LE(listed.samples.members[i].packed_size + 30, listed.samples.sizes[i]);
    }
  }
}

}  // namespace
}  // namespace headrace::client
