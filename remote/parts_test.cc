#include "remote/parts.h"

#include <gtest/gtest.h>

#include <numeric>

namespace headrace::remote {
namespace {

TEST(Parts, CoverAllBytesOnceInEvenPieces) {
  for (const std::uint64_t size : {0ULL, 1ULL, 7ULL, 8ULL, 9ULL, 63ULL, 64ULL, 65ULL, 1000ULL}) {
    for (const std::uint64_t from : {0ULL, 1ULL, 8ULL, 2000ULL}) {
      std::uint64_t at = from;
      std::uint64_t least = 8, most = 0;
      for (const ByteRange& part : DivideIntoParts(from, size, 8)) {
        EXPECT_EQ(part.first, at);
        at += part.size;
        least = std::min(least, part.size);
        most = std::max(most, part.size);
      }
      EXPECT_EQ(at, std::max(from, size));
      EXPECT_LE(most, 8U);
      EXPECT_LE(most, least + 1);
    }
  }
  EXPECT_EQ(DivideIntoParts(0, 17, 8), (std::vector<ByteRange>{{0, 6}, {6, 6}, {12, 5}}));
}

}  // namespace
}  // namespace headrace::remote
