#include "remote/checksum.h"

#include <gtest/gtest.h>

namespace headrace::remote {
namespace {

bool Fits(const char* header, const char* value, std::string_view text) {
  const auto checksum = Checksum::OfHeader(header, value);
  EXPECT_TRUE(checksum) << header;
  return checksum && checksum->Fits(AsBytes(text));
}

// Source: the check values of the catalogue of CRCs, of "123456789"; FIPS 180-4 for SHA-256 of "abc".
TEST(Checksum, KnownValues) {
  constexpr std::string_view kNine = "123456789";
  EXPECT_TRUE(Fits("x-amz-checksum-crc32", "y/Q5Jg==", kNine));          // cbf43926
  EXPECT_TRUE(Fits("x-amz-checksum-crc32c", "4waSgw==", kNine));         // e3069283
  EXPECT_TRUE(Fits("x-amz-checksum-crc64nvme", "rosUhgp5mIg=", kNine));  // ae8b14860a799888
  EXPECT_TRUE(Fits("x-amz-checksum-sha256", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=", "abc"));
  EXPECT_FALSE(Fits("x-amz-checksum-crc32", "y/Q5Jg==", "123456780"));
}

TEST(Checksum, WhatIsNoneOfWholeBytesIsLeftOut) {
  EXPECT_FALSE(Checksum::OfHeader("x-amz-checksum-crc32", "y/Q5Jg==-3"));
  EXPECT_FALSE(Checksum::OfHeader("x-amz-checksum-crc32", "y/Q5"));
  EXPECT_FALSE(Checksum::OfHeader("x-amz-checksum-crc32", "y/Q5JgAA"));
  EXPECT_FALSE(Checksum::OfHeader("x-amz-checksum-sha1", "qUqP5cyxm6YcTAhz05Hph5gvu9M="));
  EXPECT_FALSE(Checksum::OfHeader("etag", "y/Q5Jg=="));
}

}  // namespace
}  // namespace headrace::remote
