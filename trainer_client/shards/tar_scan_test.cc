#include "trainer_client/shards/tar_scan.h"

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void SetChecksum(std::string& block) {
  block.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  char text[9];
  std::snprintf(text, sizeof(text), "%06o", sum);
  block.replace(148, 7, std::string(text, 6) + '\0');
}

std::string HeaderOf(const std::string& name, std::uint64_t size, char type = '0') {
  std::string block(512, '\0');
  block.replace(0, std::min<std::size_t>(name.size(), 100), name.substr(0, 100));
  char text[13];
  std::snprintf(text, sizeof(text), "%011llo", static_cast<unsigned long long>(size));
  block.replace(124, 11, text, 11);
  block[156] = type;
  block.replace(257, 8,
                std::string("ustar\0"
                            "00",
                            8));
  SetChecksum(block);
  return block;
}

std::string Member(const std::string& name, const std::string& data, char type = '0') {
  std::string made = HeaderOf(name, data.size(), type) + data;
  made.resize(Padded(made.size()), '\0');
  return made;
}

const std::string kEnd(1024, '\0');

SampleRules RulesOfTest() { return {{"jpg", "png"}, {"cls", "json"}, "cls"}; }

// Lists a tar, with as many bytes at a time as are wanted and `more`.
struct Listed {
  Status status;
  TarSamples samples;
  std::uint64_t read = 0;
  explicit Listed(const std::string& tar, std::uint64_t more = 0,
                  SampleRules rules = RulesOfTest()) {
    TarScan scan(tar.size(), std::move(rules));
    while (const auto want = scan.wants()) {
      EXPECT_LE(want->first + want->bytes, tar.size());
      const auto bytes = AsBytes(tar).subspan(want->first);
      const auto given = bytes.first(std::min<std::uint64_t>(want->bytes + more, bytes.size()));
      read += given.size();
      status = scan.Take(given);
      if (!status.ok()) return;
    }
    samples = scan.samples();
  }
};

std::string TwoSamples() {
  return Member("d/a.jpg", std::string(3000, 'j')) + Member("d/a.cls", "7") +
         Member("d/b.PNG", "p") + Member("d/b.cls", "12\n") + kEnd;
}

TEST(TarScan, MembersOfOneNameAreASampleAndOnlyHeadersAndTargetsAreRead) {
  for (const std::uint64_t more : {0, 1, 700, 100'000}) {
    const Listed listed(TwoSamples(), more);
    ASSERT_TRUE(listed.status.ok()) << listed.status.ToString();
    EXPECT_EQ(listed.samples.keys, "d/ad/b");
    EXPECT_THAT(listed.samples.key_ends, ElementsAre(3, 6));
    EXPECT_THAT(listed.samples.firsts, ElementsAre(512, 512 * 10));
    EXPECT_THAT(listed.samples.sizes, ElementsAre(3000, 1));
    EXPECT_EQ(listed.samples.kept, "712\n");
    EXPECT_THAT(listed.samples.kept_ends, ElementsAre(1, 4));
    if (more == 0) {
      EXPECT_LT(listed.read, 8U * 512);
    }
  }
}

TEST(TarScan, LongNamesComeFromGnuAndPaxHeaders) {
  const std::string name(300, 'n');
  const std::string jpg = "314 path=" + name + ".jpg\n";
  ASSERT_EQ(jpg.size(), 314U);
  const std::string tar = Member("PaxHeader", jpg, 'x') + Member("short", "jj") +
                          Member("././@LongLink", name + ".cls" + '\0', 'L') +
                          Member("short", "3") + kEnd;
  const Listed listed(tar);
  ASSERT_TRUE(listed.status.ok()) << listed.status.ToString();
  EXPECT_EQ(listed.samples.keys, name);
  EXPECT_EQ(listed.samples.kept, "3");
}

TEST(TarScan, ASizeInAPaxHeaderCounts) {
  std::string member = Member("a.jpg", std::string(600, 'j'));
  member.replace(124, 11, "00000000000");
  std::string block = member.substr(0, 512);
  SetChecksum(block);
  member.replace(0, 512, block);
  const Listed listed(Member("p", "12 size=600\n", 'x') + member + Member("a.cls", "1"));
  ASSERT_TRUE(listed.status.ok()) << listed.status.ToString();
  EXPECT_THAT(listed.samples.sizes, ElementsAre(600));
}

TEST(TarScan, ATornTarSaysWhere) {
  const std::string tar = TwoSamples();
  int whole = 0;
  // The first block of zeros ends it.
  for (std::size_t size = 0; size < tar.size() - 512; ++size) {
    const Listed listed(tar.substr(0, size));
    if (listed.status.ok()) {
      ++whole;
      EXPECT_EQ(size % 512, 0U);
      continue;
    }
    const bool is_told = listed.status.code() == Code::kDataLoss ||
                         listed.status.message().find("no target") != std::string::npos;
    EXPECT_TRUE(is_told) << listed.status.ToString();
  }
  EXPECT_EQ(whole, 2) << "after the first sample, and after the second";
  EXPECT_THAT(Listed(tar.substr(0, 2000)).status.message(),
              HasSubstr("at byte 0: the tar ends in 'd/a.jpg': it is torn"));
  EXPECT_THAT(Listed("").status.message(), HasSubstr("empty"));
}

TEST(TarScan, SizesThatOverflowAreRefused) {
  for (const std::string& size :
       {std::string("\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12),
        std::string("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12),
        std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe\x00", 12),
        std::string("777777777777"), std::string("-00000000001"), std::string("00000000009\0", 12),
        std::string("\x80\0\0\0\x0f\xff\xff\xff\xff\xff\xfe\x00", 12)}) {
    std::string block = HeaderOf("a.jpg", 0);
    block.replace(124, 12, size);
    SetChecksum(block);
    const Listed listed(block + kEnd);
    EXPECT_EQ(listed.status.code(), Code::kDataLoss) << listed.status.ToString();
  }
  const Listed pax(Member("p", "29 size=18446744073709551615\n", 'x') + Member("a.jpg", "j"));
  EXPECT_THAT(pax.status.message(), HasSubstr("impossible size"));
}

TEST(TarScan, WhatIsNoRangeOrNoSampleIsRefusedWithAReason) {
  const auto message = [](const std::string& tar) { return Listed(tar + kEnd).status.message(); };
  EXPECT_THAT(message(Member("a.jpg", "j", 'S')), HasSubstr("sparse"));
  EXPECT_THAT(message(Member("p", "22 GNU.sparse.major=1\n", 'x') + Member("a.jpg", "j")),
              HasSubstr("sparse"));
  EXPECT_THAT(message(Member("a.jpg", "", '1')), HasSubstr("is a link"));
  EXPECT_THAT(message(Member("a.jpg", "j") + Member("a.jpg", "j")), HasSubstr("a second 'a.jpg'"));
  EXPECT_THAT(message(Member("a.cls", "1")), HasSubstr("'a' has no image (.jpg, .png)"));
  EXPECT_THAT(message(Member("a.jpg", "1")), HasSubstr("'a' has no target (.cls, .json)"));
  EXPECT_THAT(message("\x1f\x8b" + std::string(1000, 'x')), HasSubstr("compressed"));
  EXPECT_THAT(message(std::string(1024, 'x')), HasSubstr("at byte 0: no header of a tar"));
  EXPECT_THAT(message(Member("a.cls", std::string((1 << 20) + 1, '1'))), HasSubstr("1 MiB"));
}

TEST(TarScan, DirectoriesHiddenFilesAndUnknownMembersArePassedOver) {
  const Listed listed(Member("d.jpg/", "", '5') + Member("d/._a.jpg", "x") + Member("README", "r") +
                      Member("a.jpg", "unknown", 'V') + Member("a.jpg", "j") +
                      Member("a.txt", "words") + Member("a.json", "{}") + kEnd);
  ASSERT_TRUE(listed.status.ok()) << listed.status.ToString();
  EXPECT_EQ(listed.samples.keys, "a");
  EXPECT_THAT(listed.samples.targets, ElementsAre(1));
}

TEST(TarScan, DamageIsAnErrorOrAListWithinTheTar) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string good = Member("p", "22 path=other/name.jpg\n", 'x') + TwoSamples();
  for (int time = 0; time < 3000; ++time) {
    std::string bad = good;
    const std::size_t begin = random() % (bad.size() / 512) * 512;
    for (int i = 0; i < 3; ++i) bad[begin + random() % 512] = static_cast<char>(random());
    std::string block = bad.substr(begin, 512);
    SetChecksum(block);
    if (random() % 2 == 0) bad.replace(begin, 512, block);
    const Listed listed(bad, random() % 2000);
    for (std::size_t i = 0; i < listed.samples.firsts.size(); ++i) {
      EXPECT_LE(listed.samples.firsts[i] + listed.samples.sizes[i], bad.size());
    }
  }
}

}  // namespace
}  // namespace headrace::client
