#include "remote/credential_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "remote/http_fixture.h"

namespace headrace::remote {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

// 2026-11-28T19:00:00Z.
constexpr std::int64_t kBegin = 1'795'892'400'000;

class CredentialKeeperTest : public ::testing::Test {
 protected:
  Status Look() { return keeper_.Look(now_, WallMillis()); }
  [[nodiscard]] bool Asks() { return keeper_.TakeCall(now_).has_value(); }
  void Answer(const std::string& key, const std::string& expires) {
    keeper_.OnAnswer(R"({"AccessKeyId": ")" + key +
                         R"(", "SecretAccessKey": "s", "Token": "t", "Expiration": ")" + expires +
                         "\"}",
                     now_, WallMillis());
  }
  void Fails() { keeper_.OnAnswer(Unavailable("500"), now_, WallMillis()); }
  void Pass(Duration time) { now_ += time; }
  [[nodiscard]] std::int64_t WallMillis() const {
    return kBegin + std::chrono::duration_cast<std::chrono::milliseconds>(now_ - begin_).count();
  }
  [[nodiscard]] std::string Key() const {
    return keeper_.credentials() ? keeper_.credentials()->key_id : "";
  }

  std::map<std::string, std::string> variables_ = {
      {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/id"}};
  const SteadyTime begin_{seconds(1000)};
  SteadyTime now_ = begin_;
  CredentialKeeper keeper_{{[this](const char* name) {
                              const auto at = variables_.find(name);
                              return at == variables_.end()
                                         ? std::nullopt
                                         : std::optional<std::string>(at->second);
                            },
                            [](const std::string&) { return std::nullopt; }}};
};

TEST_F(CredentialKeeperTest, WhatIsSetIsUsedAndNobodyIsAsked) {
  variables_ = {{"AWS_ACCESS_KEY_ID", "AKIA"},
                {"AWS_SECRET_ACCESS_KEY", "s"},
                {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/id"}};
  EXPECT_TRUE(Look().ok());
  EXPECT_FALSE(keeper_.waits());
  EXPECT_FALSE(Asks());
  EXPECT_EQ(Key(), "AKIA");
}

TEST_F(CredentialKeeperTest, WithoutAnyRequestsAreNotSigned) {
  variables_.clear();
  EXPECT_TRUE(Look().ok());
  EXPECT_FALSE(keeper_.waits());
  EXPECT_EQ(keeper_.credentials(), std::nullopt);
}

TEST_F(CredentialKeeperTest, RequestsWaitForTheAnswerAndItIsAskedForOnce) {
  EXPECT_TRUE(Look().ok());
  EXPECT_TRUE(keeper_.waits());
  EXPECT_TRUE(Asks());
  EXPECT_FALSE(Asks());
  EXPECT_TRUE(Look().ok());
  EXPECT_TRUE(keeper_.waits());
  EXPECT_FALSE(Asks());
  Answer("ASIA1", "2026-11-28T20:00:00Z");
  EXPECT_TRUE(Look().ok());
  EXPECT_FALSE(keeper_.waits());
  EXPECT_EQ(Key(), "ASIA1");
}

TEST_F(CredentialKeeperTest, NewOnesComeBeforeTheOldExpireAndNobodyWaits) {
  EXPECT_TRUE(Look().ok() && Asks());
  Answer("ASIA1", "2026-11-28T20:00:00Z");
  Pass(minutes(54));
  EXPECT_TRUE(Look().ok());
  EXPECT_FALSE(Asks());
  Pass(minutes(2));
  EXPECT_TRUE(Look().ok());
  EXPECT_TRUE(Asks());
  EXPECT_FALSE(keeper_.waits());
  EXPECT_EQ(Key(), "ASIA1");
  Answer("ASIA2", "2026-11-28T21:00:00Z");
  EXPECT_TRUE(Look().ok());
  EXPECT_EQ(Key(), "ASIA2");
}

TEST_F(CredentialKeeperTest, OldOnesServeAsLongAsTheyLastWhenTheServiceFails) {
  EXPECT_TRUE(Look().ok() && Asks());
  Answer("ASIA1", "2026-11-28T20:00:00Z");
  Pass(minutes(56));
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(Look().ok());
    EXPECT_FALSE(keeper_.waits());
    EXPECT_EQ(Key(), "ASIA1");
    if (Asks()) Fails();
    Pass(seconds(1));
  }
  Pass(minutes(2));  // they are over
  while (Look().ok()) {
    EXPECT_TRUE(keeper_.waits());
    if (Asks()) Fails();
    Pass(seconds(1));
  }
  EXPECT_THAT(Look().message(), HasSubstr("the host of this container gave no credentials: 500"));
}

TEST_F(CredentialKeeperTest, ItIsAskedSomeTimesWithPausesAndThenAnewAfterAWhile) {
  std::vector<SteadyTime> asked;
  EXPECT_TRUE(Look().ok());
  while (Look().ok()) {
    if (Asks()) {
      asked.push_back(now_);
      EXPECT_EQ(keeper_.wakes_at(), std::nullopt);
      Fails();
      if (keeper_.wakes_at()) {
        EXPECT_GT(*keeper_.wakes_at(), now_);
      }
    }
    Pass(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(asked.size(), 4U);
  EXPECT_GE(asked[3] - asked[0], std::chrono::milliseconds(3500));
  EXPECT_EQ(Look().code(), Code::kUnavailable);
  Pass(seconds(11));
  EXPECT_TRUE(Look().ok());
  EXPECT_TRUE(keeper_.waits());
  EXPECT_TRUE(Asks());
}

TEST_F(CredentialKeeperTest, ThoseThatAStoreCallsExpiredAreReplaced) {
  EXPECT_TRUE(Look().ok() && Asks());
  Answer("ASIA1", "2026-11-28T20:00:00Z");
  const std::uint64_t first = keeper_.generation();
  keeper_.Renew(first);
  EXPECT_TRUE(Look().ok());
  EXPECT_TRUE(keeper_.waits());
  EXPECT_TRUE(Asks());
  keeper_.Renew(first);  // by another request that was signed with the same
  Answer("ASIA2", "2026-11-28T21:00:00Z");
  keeper_.Renew(first);  // by one that fails late
  EXPECT_TRUE(Look().ok());
  EXPECT_FALSE(keeper_.waits());
  EXPECT_FALSE(Asks());
  EXPECT_EQ(Key(), "ASIA2");
}

TEST_F(CredentialKeeperTest, ShortLivedOnesAreRenewedAtHalfTheirTime) {
  EXPECT_TRUE(Look().ok() && Asks());
  Answer("ASIA1", "2026-11-28T19:04:00Z");
  Pass(seconds(110));
  EXPECT_TRUE(Look().ok());
  EXPECT_FALSE(Asks());
  Pass(seconds(11));
  EXPECT_TRUE(Look().ok());
  EXPECT_TRUE(Asks());
}

// With the client, and a service and a store that are real servers.
TEST(CredentialService, AnObjectIsReadWithWhatAServiceGives) {
  std::atomic<int> given = 0;
  FakeHttp service([&](const FakeHttp::Query& query) {
    EXPECT_EQ(query.method, "POST");
    EXPECT_THAT(query.body, HasSubstr("&WebIdentityToken=jwt-of-test"));
    if (++given == 1) return FakeHttp::Reply{.status = 500};
    return FakeHttp::Reply{.body =
                               "<AccessKeyId>ASIAWEB</AccessKeyId><SecretAccessKey>s"
                               "</SecretAccessKey><SessionToken>session-of-web</SessionToken>"};
  });
  FakeHttp store([](const FakeHttp::Query& query) {
    if (query.Header("x-amz-security-token") != "session-of-web") {
      return FakeHttp::Reply{.status = 403, .body = "<Code>AccessDenied</Code>"};
    }
    return ReplyWith(query, "object", "\"v\"");
  });
  ClientOptions options = OptionsFor(store);
  options.credentials = {[&](const char* name) -> std::optional<std::string> {
                           if (std::string_view(name) == "AWS_WEB_IDENTITY_TOKEN_FILE")
                             return "/token";
                           if (std::string_view(name) == "AWS_ROLE_ARN") return "role";
                           if (std::string_view(name) == "AWS_ENDPOINT_URL_STS")
                             return service.url();
                           return std::nullopt;
                         },
                         [](const std::string& path) -> std::optional<std::string> {
                           if (path == "/token") return "jwt-of-test\n";
                           return std::nullopt;
                         }};
  ObjectClient client(options);
  const StoreSpec spec{.base = "s3://bucket", .endpoint = store.url()};
  for (const char* name : {"x", "y"}) {
    const ObjectAnswer answer = Ask(client, RequestFor(store, spec, name));
    ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
    EXPECT_EQ(AsText(answer.bytes), "object");
  }
  EXPECT_EQ(given, 2);
  EXPECT_EQ(store.queries().size(), 2U) << "none went before the credentials came";
}

TEST(CredentialService, ThatGivesNoneIsTheReasonAndIsNotInTheMessage) {
  FakeHttp service([](const FakeHttp::Query&) {
    return FakeHttp::Reply{.status = 403, .body = "<Code>InvalidIdentityToken</Code> jwt-of-test"};
  });
  FakeHttp store([](const FakeHttp::Query& query) { return ReplyWith(query, "o", "\"v\""); });
  ClientOptions options = OptionsFor(store);
  options.credentials = {[&](const char* name) -> std::optional<std::string> {
                           if (std::string_view(name) == "AWS_CONTAINER_CREDENTIALS_FULL_URI")
                             return service.url();
                           if (std::string_view(name) == "AWS_CONTAINER_AUTHORIZATION_TOKEN")
                             return "jwt-of-test";
                           return std::nullopt;
                         },
                         [](const std::string&) { return std::nullopt; }};
  ObjectClient client(options);
  const StoreSpec spec{.base = "s3://bucket", .endpoint = store.url()};
  const ObjectAnswer answer = Ask(client, RequestFor(store, spec, "x"));
  EXPECT_EQ(answer.status.code(), Code::kUnavailable);
  EXPECT_THAT(answer.status.message(), HasSubstr("InvalidIdentityToken"));
  EXPECT_THAT(answer.status.message(), Not(HasSubstr("jwt")));
  EXPECT_EQ(store.queries().size(), 0U);
}

}  // namespace
}  // namespace headrace::remote
