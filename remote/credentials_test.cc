#include "remote/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace headrace::remote {
namespace {

using testing::HasSubstr;
using testing::Not;

Result<std::optional<Credentials>> Find(std::map<std::string, std::string> variables,
                                        std::map<std::string, std::string> files = {}) {
  const auto look = [](const auto& all, const std::string& name) {
    const auto at = all.find(name);
    return at == all.end() ? std::nullopt : std::optional<std::string>(at->second);
  };
  const CredentialPlaces places = {[&](const char* name) { return look(variables, name); },
                                   [&](const std::string& path) { return look(files, path); }};
  Result<std::optional<Credentials>> found = EnvironmentCredentials(places);
  return found.ok() && !*found ? ProfileCredentials(places) : found;
}

constexpr const char* kFile =
    "# comment = 1\n[default]\naws_access_key_id = AKIADEFAULT\n"
    "aws_secret_access_key=def/ault+secret=\n\n[ lab ]\r\naws_access_key_id=AKIALAB\r\n"
    "aws_secret_access_key = lab-secret\r\naws_session_token = lab-token\r\n[half]\n"
    "aws_access_key_id = AKIAHALF\n";

TEST(Credentials, TheEnvironmentComesBeforeAProfile) {
  const auto found = Find({{"AWS_ACCESS_KEY_ID", "AKIAENV"},
                           {"AWS_SECRET_ACCESS_KEY", "env-secret"},
                           {"AWS_SESSION_TOKEN", "env-token"},
                           {"HOME", "/u"}},
                          {{"/u/.aws/credentials", kFile}});
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_EQ(**found, (Credentials{"AKIAENV", "env-secret", "env-token"}));
}

TEST(Credentials, AProfileIsFoundByItsName) {
  const auto usual = Find({{"HOME", "/u"}}, {{"/u/.aws/credentials", kFile}});
  ASSERT_TRUE(usual.ok() && *usual);
  EXPECT_EQ(**usual, (Credentials{"AKIADEFAULT", "def/ault+secret=", ""}));
  const auto lab =
      Find({{"AWS_SHARED_CREDENTIALS_FILE", "/c"}, {"AWS_PROFILE", "lab"}}, {{"/c", kFile}});
  ASSERT_TRUE(lab.ok() && *lab);
  EXPECT_EQ(**lab, (Credentials{"AKIALAB", "lab-secret", "lab-token"}));
}

TEST(Credentials, NoneIsNoError) {
  for (const auto& found : {Find({}), Find({{"HOME", "/u"}})}) {
    ASSERT_TRUE(found.ok());
    EXPECT_FALSE(*found);
  }
}

TEST(Credentials, HalfOfThemAndAMissingProfileAreErrorsThatTellNoSecret) {
  const std::map<std::string, std::string> files = {{"/c", kFile}};
  for (const auto& found :
       {Find({{"AWS_SECRET_ACCESS_KEY", "env-secret"}}),
        Find({{"AWS_ACCESS_KEY_ID", "AKIAENV"}, {"AWS_SECRET_ACCESS_KEY", "env\nsecret"}}),
        Find({{"AWS_SHARED_CREDENTIALS_FILE", "/c"}, {"AWS_PROFILE", "half"}}, files),
        Find({{"AWS_SHARED_CREDENTIALS_FILE", "/c"}, {"AWS_PROFILE", "absent"}}, files)}) {
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(found.status().message(), Not(HasSubstr("secret")));
    EXPECT_THAT(found.status().message(), Not(HasSubstr("AKIA")));
  }
}

}  // namespace
}  // namespace headrace::remote
