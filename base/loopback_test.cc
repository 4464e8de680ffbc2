#include "base/loopback.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(Loopback, LeadsEachHostToItself) {
  for (const char* own :
       {"localhost", "localhost.", "bucket.localhost", "127.0.0.1", "127.1", "0x7f.1", "2130706433",
        "0.0.0.0", "169.254.169.254", "::1", "::", "fe80::1", "::ffff:127.0.0.1", "::127.0.0.1"}) {
    EXPECT_TRUE(IsOwnHost(own)) << own;
  }
  for (const char* others :
       {"s3.amazonaws.com", "localhost.example.com", "notlocalhost", "10.0.0.7", "192.168.1.1",
        "minio", "fd00::7", "::ffff:10.0.0.7", ""}) {
    EXPECT_FALSE(IsOwnHost(others)) << others;
  }
}

}  // namespace
}  // namespace headrace
