#include "remote/object_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/hash.h"
#include "remote/http_fixture.h"

namespace headrace::remote {
namespace {

using testing::HasSubstr;
using testing::Not;
using What = ObjectRequest::What;

std::string RandomText(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(MixBits(i));
  return text;
}

TEST(ObjectClient, ReadsAnObjectItsStartAndItsVersion) {
  const std::string object = RandomText(5000);
  FakeHttp server([&](const FakeHttp::Query& query) { return ReplyWith(query, object, "\"v\""); });
  ObjectClient client(OptionsFor(server));
  const ObjectAnswer whole = Ask(client, RequestFor(server, {}, "a b/1"));
  ASSERT_TRUE(whole.status.ok()) << whole.status.ToString();
  EXPECT_EQ(AsText(whole.bytes), object);
  EXPECT_EQ(whole.size, 5000U);
  EXPECT_EQ(whole.received, 5000U);
  EXPECT_EQ(whole.version, "\"v\"");
  const ObjectAnswer start = Ask(client, RequestFor(server, {}, "a b/1", What::kStart, 100));
  ASSERT_TRUE(start.status.ok()) << start.status.ToString();
  EXPECT_EQ(AsText(start.bytes), object.substr(0, 100));
  EXPECT_EQ(start.size, 5000U);
  EXPECT_EQ(start.version, "\"v\"");
  const ObjectAnswer head = Ask(client, RequestFor(server, {}, "a b/1", What::kHead));
  ASSERT_TRUE(head.status.ok()) << head.status.ToString();
  EXPECT_EQ(head.size, 5000U);
  EXPECT_EQ(head.version, "\"v\"");
  EXPECT_EQ(server.queries()[0].target, "/data/a%20b/1");
  EXPECT_EQ(server.queries()[2].method, "HEAD");
  EXPECT_EQ(server.connections(), 1U) << "connections are used again";
}

TEST(ObjectClient, ALargeObjectComesInPartsOfOneVersion) {
  const std::string object = RandomText(100'000);
  FakeHttp server([&](const FakeHttp::Query& query) { return ReplyWith(query, object, "\"v\""); });
  ClientOptions options = OptionsFor(server);
  options.part_bytes = 8192;
  ObjectClient client(options);
  const ObjectAnswer answer = Ask(client, RequestFor(server, {}, "x"));
  ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
  EXPECT_EQ(AsText(answer.bytes), object);
  std::size_t matched = 0;
  for (const FakeHttp::Query& query : server.queries()) {
    matched += query.Header("if-match") == "\"v\"" ? 1 : 0;
  }
  EXPECT_EQ(matched, 12U);
  EXPECT_EQ(server.queries().size(), 13U);
}

TEST(ObjectClient, AnObjectThatChangesWhileItIsReadIsReadAgain) {
  const std::string before = RandomText(100'000);
  const std::string after(100'000, 'y');
  std::atomic<int> asked = 0;
  FakeHttp server([&](const FakeHttp::Query& query) {
    return ++asked <= 4 ? ReplyWith(query, before, "\"v1\"") : ReplyWith(query, after, "\"v2\"");
  });
  ClientOptions options = OptionsFor(server);
  options.part_bytes = 8192;
  ObjectClient client(options);
  const ObjectAnswer answer = Ask(client, RequestFor(server, {}, "x"));
  ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
  EXPECT_EQ(answer.version, "\"v2\"");
  EXPECT_EQ(AsText(answer.bytes), after);
}

TEST(ObjectClient, PartsOfAnotherVersionAreNoticedWhereTheStoreIgnoresConditions) {
  const std::string before = RandomText(100'000);
  const std::string after(100'000, 'y');
  std::atomic<int> asked = 0;
  FakeHttp server([&](FakeHttp::Query query) {
    query.headers.erase("if-match");
    return ++asked <= 4 ? ReplyWith(query, before, "\"v1\"") : ReplyWith(query, after, "\"v2\"");
  });
  ClientOptions options = OptionsFor(server);
  options.part_bytes = 8192;
  ObjectClient client(options);
  EXPECT_EQ(AsText(Ask(client, RequestFor(server, {}, "x")).bytes), after);
}

TEST(ObjectClient, AStoreThatIgnoresRangesIsReadWhole) {
  const std::string object = RandomText(100'000);
  FakeHttp server([&](const FakeHttp::Query&) {
    return FakeHttp::Reply{.headers = {"ETag: \"v\""}, .body = object};
  });
  ClientOptions options = OptionsFor(server);
  options.part_bytes = 8192;
  ObjectClient client(options);
  EXPECT_EQ(AsText(Ask(client, RequestFor(server, {}, "x")).bytes), object);
  const ObjectAnswer start = Ask(client, RequestFor(server, {}, "x", What::kStart, 10));
  EXPECT_EQ(AsText(start.bytes), object.substr(0, 10));
  EXPECT_EQ(start.size, 100'000U);
}

TEST(ObjectClient, AnEmptyObjectIsNoError) {
  FakeHttp server([&](const FakeHttp::Query& query) { return ReplyWith(query, "", "\"v\""); });
  ObjectClient client(OptionsFor(server));
  for (const What what : {What::kWhole, What::kStart, What::kHead}) {
    const ObjectAnswer answer = Ask(client, RequestFor(server, {}, "x", what, 100));
    EXPECT_TRUE(answer.status.ok()) << answer.status.ToString();
    EXPECT_EQ(answer.size, 0U);
    EXPECT_EQ(answer.bytes.size(), 0U);
  }
}

TEST(ObjectClient, AnObjectBeyondTheLimitIsNotTaken) {
  FakeHttp server([&](const FakeHttp::Query& query) {
    return ReplyWith(query, std::string(1000, 'x'), "\"v\"");
  });
  ObjectClient client(OptionsFor(server));
  const ObjectAnswer answer = Ask(client, RequestFor(server, {}, "x", What::kWhole, 999));
  EXPECT_EQ(answer.status.code(), Code::kUnsupported);
  EXPECT_EQ(server.queries().size(), 1U);
}

TEST(ObjectClient, ToOneHostGoOnlySoManyRequestsAtATime) {
  std::mutex mutex;
  int now = 0, most = 0;
  FakeHttp server([&](const FakeHttp::Query& query) {
    {
      const std::lock_guard lock(mutex);
      most = std::max(most, ++now);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::lock_guard lock(mutex);
    --now;
    return ReplyWith(query, "x", "\"v\"");
  });
  ClientOptions options = OptionsFor(server);
  options.host_requests = 4;
  ObjectClient client(options);
  std::condition_variable changed;
  int answered = 0;
  for (int i = 0; i < 40; ++i) {
    client.Begin(RequestFor(server, {}, "x"), [&](ObjectAnswer answer) {
      EXPECT_TRUE(answer.status.ok());
      const std::lock_guard lock(mutex);
      ++answered;
      changed.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return answered == 40; });
  EXPECT_LE(most, 4);
  EXPECT_LE(server.connections(), 4U);
}

TEST(ObjectClient, StopAndCancelAnswerWhatIsOpen) {
  FakeHttp server([&](const FakeHttp::Query&) { return FakeHttp::Reply{.silent = true}; });
  ObjectClient client(OptionsFor(server));
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> answered;
  const int owners[2] = {};
  for (int i = 0; i < 2; ++i) {
    ObjectRequest request = RequestFor(server, {}, "x");
    request.owner = &owners[i];
    client.Begin(std::move(request), [&, i](ObjectAnswer answer) {
      EXPECT_EQ(answer.status.code(), Code::kUnavailable);
      const std::lock_guard lock(mutex);
      answered.push_back(i);
      changed.notify_all();
    });
  }
  server.AwaitQueries(2);
  client.Cancel(&owners[1]);
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !answered.empty(); });
    EXPECT_THAT(answered, testing::ElementsAre(1));
  }
  client.Stop();
  EXPECT_THAT(answered, testing::ElementsAre(1, 0));
  EXPECT_EQ(Ask(client, RequestFor(server, {}, "x")).status.code(), Code::kUnavailable);
  client.Stop();
}

TEST(ObjectClient, AForkedCopyIsInert) {
  FakeHttp server([&](const FakeHttp::Query& query) { return ReplyWith(query, "x", "\"v\""); });
  auto client = std::make_unique<ObjectClient>(OptionsFor(server));
  EXPECT_TRUE(Ask(*client, RequestFor(server, {}, "x")).status.ok());
  const pid_t child = ::fork();
  if (child == 0) {
    const bool inert =
        Ask(*client, RequestFor(server, {}, "x")).status.code() == Code::kUnavailable;
    client->Cancel(nullptr);
    client->Stop();
    client.reset();
    ::_exit(inert ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(Ask(*client, RequestFor(server, {}, "x")).status.ok());
}

TEST(ObjectClient, AnInternalAddressIsRefusedWhereItIsConnectedTo) {
  FakeHttp server([&](const FakeHttp::Query& query) { return ReplyWith(query, "x", "\"v\""); });
  ClientOptions options = OptionsFor(server);
  options.rules = {};
  options.retry.most_tries = 1;
  options.limits.whole = std::chrono::seconds(2);
  ObjectClient client(options);
  // Also by a name that only the resolver turns into one. TLS, since plain requests go nowhere else.
  for (const char* host :
       {"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "2130706433"}) {
    const std::string port = server.authority().substr(server.authority().find(':'));
    const ObjectAnswer answer =
        Ask(client, RequestFor(server, {.base = "https://" + std::string(host) + port}, "x"));
    EXPECT_EQ(answer.status.detail(), Detail::kNotAllowed) << answer.status.ToString();
  }
  const ObjectAnswer plain = Ask(client, RequestFor(server, {}, "x"));
  EXPECT_EQ(plain.status.detail(), Detail::kNotAllowed) << plain.status.ToString();
  EXPECT_THAT(plain.status.message(), HasSubstr("without TLS"));
  EXPECT_EQ(server.connections(), 0U);
}

TEST(ObjectClient, CredentialsAreNotEvenLookedUpForOtherEndpoints) {
  FakeHttp server([&](const FakeHttp::Query& query) { return ReplyWith(query, "x", "\"v\""); });
  ClientOptions options = OptionsFor(server);
  options.rules = {};
  std::atomic<int> lookups = 0;
  options.credentials.variable = [&](const char*) {
    ++lookups;
    return std::optional<std::string>("word");
  };
  ObjectClient client(options);
  const StoreSpec spec{.base = "s3://bucket", .endpoint = "https://" + server.authority()};
  EXPECT_FALSE(Ask(client, RequestFor(server, spec, "x")).status.ok());
  EXPECT_EQ(lookups, 0);
}

TEST(ObjectClient, RequestsAreSignedForEndpointsThatAreNamedAlone) {
  FakeHttp server([&](const FakeHttp::Query& query) {
    if (query.Header("authorization").empty()) return FakeHttp::Reply{.status = 403};
    return ReplyWith(query, "x", "\"v\"");
  });
  ClientOptions options = OptionsFor(server);
  options.credentials = TestCredentials();
  ObjectClient client(options);
  const StoreSpec spec{.base = "s3://bucket/p", .endpoint = server.url(), .region = "here"};
  EXPECT_TRUE(Ask(client, RequestFor(server, spec, "x")).status.ok());
  const FakeHttp::Query query = server.queries().at(0);
  EXPECT_EQ(query.target, "/bucket/p/x");
  EXPECT_THAT(query.Header("authorization"), HasSubstr("/here/s3/aws4_request"));
  EXPECT_EQ(query.Header("x-amz-security-token"), "token-of-test");
  EXPECT_EQ(query.Header("x-amz-checksum-mode"), "ENABLED");
  // A base by https has no credentials, whoever is named.
  EXPECT_EQ(Ask(client, RequestFor(server, {}, "x")).status.code(), Code::kUnavailable);
  EXPECT_EQ(server.queries().at(1).Header("authorization"), "");
  const StoreSpec anonymous{.base = spec.base, .endpoint = spec.endpoint, .anonymous = true};
  EXPECT_EQ(Ask(client, RequestFor(server, anonymous, "x")).status.code(), Code::kUnavailable);
}

TEST(ObjectClient, RedirectsAreFollowedWithoutCredentialsAndNotToInternalAddresses) {
  FakeHttp target([&](const FakeHttp::Query& query) { return ReplyWith(query, "x", "\"t\""); });
  FakeHttp server([&](const FakeHttp::Query& query) {
    const bool loop = query.target.ends_with("loop");
    return FakeHttp::Reply{
        .status = 302,
        .headers = {"Location: " + (loop ? query.target : target.url() + "/t?Signature=word")}};
  });
  ClientOptions options = OptionsFor(server);
  options.credentials = TestCredentials();
  {
    ObjectClient strict(options);
    const ObjectAnswer answer = Ask(strict, RequestFor(server, {}, "x"));
    EXPECT_EQ(answer.status.code(), Code::kUnavailable);
    EXPECT_THAT(answer.status.message(), Not(HasSubstr("word")));
    EXPECT_EQ(target.connections(), 0U);
  }
  options.rules = *EndpointRules::Make({server.authority(), target.authority()});
  ObjectClient client(options);
  const ObjectAnswer answer = Ask(client, RequestFor(server, {}, "x"));
  ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
  EXPECT_EQ(target.queries().at(0).target, "/t?Signature=word");
  EXPECT_THAT(Ask(client, RequestFor(server, {}, "loop")).status.message(), HasSubstr("redirects"));
  // A signed request is of one host, and goes to no other.
  const StoreSpec spec{.base = "s3://bucket", .endpoint = server.url()};
  EXPECT_THAT(Ask(client, RequestFor(server, spec, "x")).status.message(), HasSubstr("redirects"));
  EXPECT_EQ(target.queries().size(), 1U);
}

}  // namespace
}  // namespace headrace::remote
