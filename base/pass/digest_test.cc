#include "base/pass/digest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headrace {
namespace {

Digest Of(const std::vector<std::string>& texts) {
  std::vector<ByteSpan> parts;
  for (const std::string& text : texts) parts.push_back(AsBytes(text));
  return DigestOf(parts);
}

TEST(DigestTest, WherePartsBeginCounts) {
  EXPECT_EQ(Of({"ab", "c"}), Of({"ab", "c"}));
  EXPECT_NE(Of({"ab", "c"}), Of({"a", "bc"}));
  EXPECT_NE(Of({"ab", "c"}), Of({"abc"}));
  EXPECT_NE(Of({"abc", ""}), Of({"abc"}));
  EXPECT_NE(Of({}), Of({""}));
}

// Python: b2 = hashlib.blake2b; struct.unpack("<4Q", b2(struct.pack("<Q", 3) + b"abc", digest_size=32).digest())
TEST(DigestTest, IsBlake2b) {
  EXPECT_EQ(Of({"abc"}), (Digest{0x783b5ed6cf62dc3bU, 0xbf1ea9e0320ed9e3U, 0x6a4ee5ab309c22bcU,
                                 0x7bdbf0ded4c516bdU}));
}

}  // namespace
}  // namespace headrace
