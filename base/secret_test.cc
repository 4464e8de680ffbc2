#include "base/secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace headrace {
namespace {

using ::testing::MatchesRegex;

TEST(Secret, TokensAre128BitsAndNeverTheSame) {
  std::set<std::string> made;
  for (int i = 0; i < 1000; ++i) made.insert(MakeToken());
  EXPECT_EQ(made.size(), 1000U);
  for (const std::string& token : made) EXPECT_THAT(token, MatchesRegex("[0-9a-f]{32}"));
}

TEST(Secret, OnlyTheSameWordIsTheSame) {
  const std::string token = MakeToken();
  EXPECT_TRUE(SameSecret(token, std::string(token)));
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = other[i] == '0' ? '1' : '0';
    EXPECT_FALSE(SameSecret(token, other)) << i;
    EXPECT_FALSE(SameSecret(token, token.substr(0, i))) << i;
  }
  EXPECT_FALSE(SameSecret(token, token + "0"));
  EXPECT_FALSE(SameSecret("", "")) << "no secret";
}

}  // namespace
}  // namespace headrace
