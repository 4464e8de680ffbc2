#include "dataworker/source/stores/object_identity.h"

#include <gtest/gtest.h>

#include "dataworker/source/ranges/ranges.h"

namespace headrace::dataworker {
namespace {

remote::ObjectUrl Url(const std::string& base, const std::string& endpoint = "") {
  const remote::Store store = *remote::Store::Make({.base = base, .endpoint = endpoint});
  return *store.UrlOf(store.base() + "7.jpg");
}

TEST(ObjectIdentity, HoldsEverywhereUnlessTheAddressIsEachHostsOwn) {
  EXPECT_TRUE(IdentityOfObject(Url("s3://pictures"), "v").holds_everywhere());
  EXPECT_TRUE(IdentityOfObject(Url("https://data.example.com/a"), "v").holds_everywhere());
  EXPECT_TRUE(
      IdentityOfObject(Url("s3://pictures", "http://10.0.0.7:9000"), "v").holds_everywhere());
  for (const char* own : {"http://localhost:9000", "http://127.0.0.1:9000", "http://[::1]:9000"}) {
    EXPECT_FALSE(IdentityOfObject(Url("s3://pictures", own), "v").holds_everywhere()) << own;
  }
  // An object without a version equals no other, so nobody should send it anywhere.
  const ContentIdentity unknown = IdentityOfObject(Url("s3://pictures"), "");
  EXPECT_FALSE(unknown.holds_everywhere());
  EXPECT_NE(unknown, IdentityOfObject(Url("s3://pictures"), ""));
}

// A plan says which store it means by its endpoint. Its answers must not stand for another store's.
TEST(ObjectIdentity, IsOfTheStoreThatAnswered) {
  const ContentIdentity real = IdentityOfObject(Url("s3://pictures"), "v");
  EXPECT_EQ(real, IdentityOfObject(Url("s3://pictures"), "v"));
  EXPECT_NE(real, IdentityOfObject(Url("s3://pictures"), "w"));
  EXPECT_NE(real.place,
            IdentityOfObject(Url("s3://pictures", "https://evil.example.com"), "v").place);
}

TEST(ObjectIdentity, ARangeIsKnownWhereItsShardIs) {
  const FileRange range{100, 20};
  EXPECT_TRUE(
      IdentityOfRange(IdentityOfObject(Url("s3://pictures"), "v"), range).holds_everywhere());
  for (std::uint64_t inode = 0; inode < 64; ++inode) {  // whatever the digest is
    const ContentIdentity file{.place = {1, inode}, .version = {2, 3, 4}};
    EXPECT_FALSE(IdentityOfRange(file, range).holds_everywhere());
  }
}

}  // namespace
}  // namespace headrace::dataworker
