#include "trainer_client/plans/npy_header.h"

#include <algorithm>
#include <string>

#include "base/test_draws.h"
#include "gtest/gtest.h"

namespace headrace::client {
namespace {

std::string HeadOf(const std::string& fields, char version = 1) {
  std::string head = std::string("\x93NUMPY") + version + '\0';
  const int width = version == 1 ? 2 : 4;
  for (int i = 0; i < width; ++i) head += static_cast<char>((fields.size() >> (8 * i)) & 255);
  return head + fields;
}

constexpr const char* kFields = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4, 5), }\n";

TEST(NpyHeader, IsRead) {
  for (const char version : {1, 2, 3}) {
    const std::string head = HeadOf(kFields, version);
    const auto read = ReadNpyHeader(AsBytes(head + "elements"));
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->bytes, head.size());
    EXPECT_EQ(read->elements, "<f4");
    EXPECT_EQ(read->shape, (std::vector<std::int64_t>{3, 4, 5}));
  }
  const auto scalar =
      ReadNpyHeader(AsBytes(HeadOf("{'descr': '|u1', 'fortran_order': False, 'shape': (), }")));
  ASSERT_TRUE(scalar.ok());
  EXPECT_TRUE(scalar->shape.empty());
  const auto one =
      ReadNpyHeader(AsBytes(HeadOf("{'descr': '|u1', 'fortran_order': False, 'shape': (7,), }")));
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->shape, std::vector<std::int64_t>{7});
}

TEST(NpyHeader, WhatHasNoRowsIsRefused) {
  const auto code = [](const std::string& fields) {
    return ReadNpyHeader(AsBytes(HeadOf(fields))).status().code();
  };
  EXPECT_EQ(code("{'descr': '<f4', 'fortran_order': True, 'shape': (3,), }"), Code::kUnsupported);
  EXPECT_EQ(code("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }"),
            Code::kUnsupported);
  EXPECT_EQ(code("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }"), Code::kDataLoss);
  EXPECT_EQ(code("{'descr': '<f4', 'fortran_order': False, 'shape': 3, }"), Code::kDataLoss);
  EXPECT_EQ(code("{'descr': '<f4', 'fortran_order': False}"), Code::kDataLoss);
  EXPECT_EQ(ReadNpyHeader(AsBytes(HeadOf(kFields, 9))).status().code(), Code::kUnsupported);
  EXPECT_EQ(ReadNpyHeader(AsBytes("PK\x03\x04 no array at all")).status().code(), Code::kDataLoss);
  EXPECT_EQ(ReadNpyHeader({}).status().code(), Code::kDataLoss);
}

// Of bytes of any kind: no crash, and what is read lies inside.
TEST(NpyHeader, AnyBytesAreAnArrayOrNone) {
  const unsigned seed = test_draws::SeedOr(20);
  SCOPED_TRACE("HEADRACE_TEST_SEED=" + std::to_string(seed));
  test_draws::Random random(seed);
  for (int round = 0; round < 20'000; ++round) {
    std::string head = HeadOf(kFields, static_cast<char>(test_draws::Between(random, 1, 3)));
    for (std::int64_t i = test_draws::Between(random, 1, 4); i > 0; --i) {
      const auto at =
          static_cast<std::size_t>(test_draws::Between(random, 0, std::ssize(head) - 1));
      head[at] = static_cast<char>(test_draws::Between(random, 0, 255));
    }
    head.resize(static_cast<std::size_t>(test_draws::Between(random, 0, std::ssize(head))));
    const auto read = ReadNpyHeader(AsBytes(head));
    if (!read.ok()) continue;
    EXPECT_LE(read->bytes, head.size());
    EXPECT_TRUE(std::ranges::all_of(read->shape, [](std::int64_t side) { return side >= 0; }));
  }
}

}  // namespace
}  // namespace headrace::client
