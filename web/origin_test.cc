#include "web/origin.h"

#include "gtest/gtest.h"

namespace headrace::web {
namespace {

TEST(NamesThisHostTest, AStrangersNameThatLeadsHereIsNone) {
  const auto names = [](std::string_view host) { return NamesThisHost(host, "127.0.0.1:9470"); };
  for (const char* own : {"localhost", "LocalHost:9470", "127.0.0.1:9470", "127.0.0.1",
                          "[::1]:9470", "10.1.2.3:80"}) {
    EXPECT_TRUE(names(own)) << own;
  }
  for (const char* strange :
       {"", ":9470", "evil.example", "evil.example:9470", "localhost.evil.example",
        "127.0.0.1.evil.example", "[::1", "[]", "1", "0x7f.1", "[::1].evil.example",
        "localhost:.evil.example", "localhost:", "localhost:80x", "[::1]80"}) {
    EXPECT_FALSE(names(strange)) << strange;
  }
  EXPECT_FALSE(names(std::string_view("localhost\0.evil.example", 23)));
  EXPECT_TRUE(NamesThisHost("head:80", "head:9470"));
  EXPECT_FALSE(NamesThisHost("head2:80", "head:9470"));
}

TEST(FromOwnPageTest, OtherPagesMayNotAct) {
  EXPECT_TRUE(FromOwnPage("", "", "head:9470")) << "no browser";
  EXPECT_TRUE(FromOwnPage("http://head:9470", "same-origin", "head:9470"));
  EXPECT_TRUE(FromOwnPage("https://HEAD:9470", "", "head:9470")) << "a proxy adds TLS";
  for (const char* site : {"cross-site", "same-site", "none", "x"}) {
    EXPECT_FALSE(FromOwnPage("http://head:9470", site, "head:9470")) << site;
  }
  for (const char* origin : {"null", "http://evil.example", "http://head:9471", "http://head",
                             "ftp://head:9470", "http://head:9470.evil.example", "head:9470"}) {
    EXPECT_FALSE(FromOwnPage(origin, "", "head:9470")) << origin;
  }
  EXPECT_FALSE(FromOwnPage("http://", "", ""));
}

TEST(ReadTargetTest, IsANumberAndAWord) {
  EXPECT_EQ(ReadTarget("17")->id, 17);
  EXPECT_EQ(ReadTarget("17")->verb, "");
  EXPECT_EQ(ReadTarget("017/drain")->id, 17);
  EXPECT_EQ(ReadTarget("0/drain")->verb, "drain");
  EXPECT_EQ(ReadTarget("999999999999999999")->id, 999999999999999999);
  EXPECT_EQ(ReadTarget("17/priority/-5")->value, -5);
  EXPECT_EQ(ReadTarget("17/priority")->value, std::nullopt);
  for (const char* none :
       {"1/a/", "1/a/+1", "1/a/2147483648", "1/a/1/", "1/a/1/2", "1/a/1 ", "1//1"}) {
    EXPECT_FALSE(ReadTarget(none).has_value()) << none;
  }
  for (const char* none : {"", "/", "x", "-1", "+1", " 1", "1 ", "1/", "1/Drain", "1/drain/",
                           "1/a/b", "1.5", "9999999999999999999", "/drain"}) {
    EXPECT_FALSE(ReadTarget(none).has_value()) << none;
  }
}

TEST(HasTagTest, OneOfAListIsEnough) {
  EXPECT_TRUE(HasTag("\"a\"", "\"a\""));
  EXPECT_TRUE(HasTag("\"b\", W/\"a\"", "\"a\""));
  for (const char* other : {"", "a", "\"b\"", ",", "\"a", "*", "W/"}) {
    EXPECT_FALSE(HasTag(other, "\"a\"")) << other;
  }
}

}  // namespace
}  // namespace headrace::web
