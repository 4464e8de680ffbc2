#include "remote/credential_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace headrace::remote {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

CredentialPlaces Places(std::map<std::string, std::string> variables,
                        std::map<std::string, std::string> files = {}) {
  const auto look = [](const auto& all, const std::string& name) {
    const auto at = all.find(name);
    return at == all.end() ? std::nullopt : std::optional<std::string>(at->second);
  };
  return {[=](const char* name) { return look(variables, name); },
          [=](const std::string& path) { return look(files, path); }};
}

const std::map<std::string, std::string> kTokens = {{"/token", "a.b+c/d==\n"}};

TEST(WebIdentityCall, IsAPostToTheServiceOfTheRegion) {
  const auto found = FindWebIdentityCall(Places({{"AWS_WEB_IDENTITY_TOKEN_FILE", "/token"},
                                                 {"AWS_ROLE_ARN", "arn:aws:iam::1:role/reader"},
                                                 {"AWS_REGION", "eu-west-1"}},
                                                kTokens));
  ASSERT_TRUE(found && found->ok());
  const CredentialCall& call = **found;
  EXPECT_EQ(call.url.Text(), "https://sts.eu-west-1.amazonaws.com/");
  EXPECT_EQ(call.body,
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15"
            "&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Freader&RoleSessionName=headrace"
            "&WebIdentityToken=a.b%2Bc%2Fd%3D%3D");
  EXPECT_THAT(call.place, Not(HasSubstr("a.b")));
}

TEST(WebIdentityCall, AnotherServiceAndSessionAreNamed) {
  const auto found = FindWebIdentityCall(Places({{"AWS_WEB_IDENTITY_TOKEN_FILE", "/token"},
                                                 {"AWS_ROLE_ARN", "r"},
                                                 {"AWS_ROLE_SESSION_NAME", "night run"},
                                                 {"AWS_ENDPOINT_URL_STS", "http://sts:9000"}},
                                                kTokens));
  ASSERT_TRUE(found && found->ok());
  EXPECT_EQ((*found)->url.Text(), "http://sts:9000/");
  EXPECT_THAT((*found)->body, HasSubstr("&RoleSessionName=night%20run&"));
}

TEST(WebIdentityCall, IsRefusedWithoutARoleOrAToken) {
  EXPECT_FALSE(FindWebIdentityCall(Places({{"AWS_ROLE_ARN", "r"}})));
  for (const auto& places :
       {Places({{"AWS_WEB_IDENTITY_TOKEN_FILE", "/token"}}, kTokens),
        Places({{"AWS_WEB_IDENTITY_TOKEN_FILE", "/none"}, {"AWS_ROLE_ARN", "r"}}, kTokens),
        Places({{"AWS_WEB_IDENTITY_TOKEN_FILE", "/e"}, {"AWS_ROLE_ARN", "r"}}, {{"/e", " \n"}}),
        Places({{"AWS_WEB_IDENTITY_TOKEN_FILE", "/e"}, {"AWS_ROLE_ARN", "r"}}, {{"/e", "a\nb"}})}) {
    const auto found = FindWebIdentityCall(places);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->status().code(), Code::kInvalidArgument);
  }
}

TEST(ContainerCall, LeadsToTheHostOfTheContainer) {
  const auto ecs =
      FindContainerCall(Places({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/id?x=1"}}));
  ASSERT_TRUE(ecs && ecs->ok());
  EXPECT_EQ((*ecs)->url.Text(), "http://169.254.170.2/v2/id?x=1");
  EXPECT_THAT((*ecs)->headers, IsEmpty());
  const auto eks = FindContainerCall(
      Places({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"},
              {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/token"},
              {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "old"}},
             kTokens));
  ASSERT_TRUE(eks && eks->ok());
  EXPECT_THAT((*eks)->headers, ElementsAre("Authorization: a.b+c/d=="));
  EXPECT_EQ((*eks)->body, "");
}

TEST(ContainerCall, GoesNowhereElseWithoutTlsAndSendsNoForgedHeader) {
  EXPECT_FALSE(FindContainerCall(Places({})));
  const auto full = [](const char* url, const char* token) {
    return FindContainerCall(Places({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", url},
                                     {"AWS_CONTAINER_AUTHORIZATION_TOKEN", token}}));
  };
  EXPECT_TRUE(full("https://elsewhere/creds", "t")->ok());
  EXPECT_TRUE(full("http://localhost:8080/creds", "t")->ok());
  EXPECT_FALSE(full("http://elsewhere/creds", "t")->ok());
  EXPECT_FALSE(full("http://169.254.169.254/creds", "t")->ok());
  EXPECT_FALSE(full("http://localhost/creds", "t\r\nX: y")->ok());
  EXPECT_FALSE(full("localhost", "t")->ok());
}

constexpr char kXml[] =
    "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
    "<AssumeRoleWithWebIdentityResult><Credentials>\n <SessionToken>tok/en+1==</SessionToken>"
    "<SecretAccessKey>sec/ret+</SecretAccessKey><Expiration>2026-11-28T20:00:00Z</Expiration>"
    "<AccessKeyId>ASIAWEB</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>"
    "</AssumeRoleWithWebIdentityResponse>";

TEST(CredentialAnswer, IsReadFromXmlAndFromJson) {
  const auto web = ReadCredentialAnswer({.kind = CredentialCall::Kind::kWebIdentity}, kXml);
  ASSERT_TRUE(web.ok()) << web.status().ToString();
  EXPECT_EQ(*web, (Credentials{"ASIAWEB", "sec/ret+", "tok/en+1==", 1'795'896'000'000}));
  const auto host = ReadCredentialAnswer(
      {.kind = CredentialCall::Kind::kContainer},
      R"({"AccessKeyId": "ASIAC", "SecretAccessKey": "s", "Token": "t", "RoleArn": "r",
          "Expiration": "2026-11-28T20:00:00.123Z"})");
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(*host, (Credentials{"ASIAC", "s", "t", 1'795'896'000'000}));
}

TEST(CredentialAnswer, AnythingElseIsAnErrorThatTellsNothingOfIt) {
  const CredentialCall web{.kind = CredentialCall::Kind::kWebIdentity, .place = "here"};
  const CredentialCall host{.kind = CredentialCall::Kind::kContainer, .place = "here"};
  const std::string xml = kXml;
  for (const auto& [call, answer] : std::vector<std::pair<CredentialCall, std::string>>{
           {web, ""},
           {web, "<AccessKeyId>ASIASECRET"},
           {web, xml.substr(0, xml.find("<AccessKeyId>"))},
           {web, "<AccessKeyId>ASIA SECRET</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"},
           {host, ""},
           {host, "{"},
           {host, "[1]"},
           {host, R"({"AccessKeyId": 1, "SecretAccessKey": "s"})"},
           {host, R"({"AccessKeyId": "ASIASECRET", "SecretAccessKey": "s\r\nX: y"})"},
           {host,
            R"({"AccessKeyId": "ASIASECRET", "SecretAccessKey": "s", "Expiration": "soon"})"}}) {
    const auto read = ReadCredentialAnswer(call, answer);
    ASSERT_FALSE(read.ok()) << answer;
    EXPECT_THAT(read.status().message(), HasSubstr("here answered with"));
    EXPECT_THAT(read.status().message(), Not(HasSubstr("SECRET")));
  }
}

}  // namespace
}  // namespace headrace::remote
