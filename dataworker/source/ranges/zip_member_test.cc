#include "dataworker/source/ranges/zip_member.h"

#include <random>
#include <string>

#include "dataworker/source/core/source.h"
#include "dataworker/source/ranges/zip_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

std::string LongText() {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += std::to_string(i * 7919) + (i % 7 == 0 ? "\n" : " ");
  return text;
}

Result<std::string> Unpacked(const std::string& range, const wire::ZipMember& member) {
  ScratchBuffer out;
  HR_TRY(const ByteSpan bytes, UnpackMember(AsBytes(range), member, out));
  return std::string(AsText(bytes));
}

TEST(ZipMember, StoredAndDeflatedMembersComeBack) {
  for (const bool deflated : {false, true}) {
    for (const std::string& text : {std::string(), std::string("x"), LongText()}) {
      const ZippedSample zipped = Zipped(text, deflated);
      // What follows it in the range is of no matter.
      for (const char* after : {"", "PK\x07\x08 and the next member"}) {
        const auto back = Unpacked(zipped.bytes + after, zipped.member);
        ASSERT_TRUE(back.ok()) << back.status().ToString();
        EXPECT_EQ(*back, text);
      }
    }
  }
}

TEST(ZipMember, ABombIsNoLargerThanItSays) {
  const ZippedSample zeros = Zipped(std::string(std::size_t{64} << 20, '\0'), true);
  ASSERT_LT(zeros.bytes.size(), 100'000U);
  for (const std::uint32_t size : {0U, 1U, 1000U, (64U << 20) - 1, (64U << 20) + 1}) {
    wire::ZipMember says = zeros.member;
    says.size = size;
    ScratchBuffer out;
    const auto back = UnpackMember(AsBytes(zeros.bytes), says, out);
    EXPECT_EQ(back.status().code(), Code::kDataLoss) << size;
    EXPECT_LE(out.capacity(), std::size_t{size} + 8192);
  }
  wire::ZipMember impossible = zeros.member;
  impossible.packed_size = 1000;
  ScratchBuffer out;
  EXPECT_THAT(UnpackMember(AsBytes(zeros.bytes), impossible, out).status().message(),
              HasSubstr("cannot be as large as it says"));
  impossible.packed_size = impossible.size = (1U << 30) + 1;
  EXPECT_EQ(UnpackMember(AsBytes(zeros.bytes), impossible, out).status().code(),
            Code::kUnsupported);
  EXPECT_EQ(out.capacity(), 0U);
  const auto head = UnpackHead(AsBytes(zeros.bytes), zeros.member, 5000, out);
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->size(), 5000U);
  EXPECT_LE(out.capacity(), 5000U + 8192);
}

TEST(ZipMember, WhatIsNoSuchMemberIsRefused) {
  const auto message = [](std::size_t at, char value, bool deflated = false) {
    ZippedSample zipped = Zipped(LongText(), deflated);
    zipped.bytes[at] = value;
    return Unpacked(zipped.bytes, zipped.member).status().message();
  };
  EXPECT_THAT(message(0, 'X'), HasSubstr("no member of a zip where"));
  EXPECT_THAT(message(6, 1), HasSubstr("encrypted"));
  EXPECT_THAT(message(8, 12), HasSubstr("packed by method 12"));
  EXPECT_THAT(message(8, 0, true), HasSubstr("contradict"));
  EXPECT_THAT(message(500, '#'), HasSubstr("checksum"));
  EXPECT_THAT(message(29, '\xff'), HasSubstr("goes on in the next one"));
  for (const bool deflated : {false, true}) {
    const ZippedSample zipped = Zipped(LongText(), deflated);
    for (const std::size_t size : {0, 29, 30, 38, 39, 500}) {
      EXPECT_EQ(Unpacked(zipped.bytes.substr(0, size), zipped.member).status().code(),
                Code::kDataLoss);
    }
  }
}

TEST(ZipMember, DamageIsNeverASample) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string text = LongText().substr(0, 3000);
  for (int time = 0; time < 2000; ++time) {
    ZippedSample zipped = Zipped(text, time % 2 == 0);
    const std::size_t at = 30 + 3 + 5 + random() % (zipped.bytes.size() - 38);
    zipped.bytes[at] = static_cast<char>(zipped.bytes[at] ^ (1 << random() % 8));
    const auto back = Unpacked(zipped.bytes, zipped.member);
    // A bit after the end of a deflated stream does not count.
    EXPECT_TRUE(!back.ok() || *back == text);
  }
}

TEST(ZipMember, AHeadIsWhatTheFirstBytesTell) {
  const std::string text = LongText();
  for (const bool deflated : {false, true}) {
    const ZippedSample zipped = Zipped(text, deflated);
    std::size_t before = 0;
    for (std::size_t size = 0; size <= zipped.bytes.size(); size += 101) {
      ScratchBuffer out;
      const auto head = UnpackHead(AsBytes(zipped.bytes).first(size), zipped.member, 4000, out);
      ASSERT_TRUE(head.ok()) << head.status().ToString();
      EXPECT_EQ(AsText(*head), text.substr(0, head->size()));
      EXPECT_GE(head->size(), before);
      before = head->size();
    }
    EXPECT_EQ(before, 4000U);
  }
}

}  // namespace
}  // namespace headrace::dataworker
