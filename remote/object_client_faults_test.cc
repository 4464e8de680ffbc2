#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/hash.h"
#include "remote/http_fixture.h"
#include "remote/object_client.h"

namespace headrace::remote {
namespace {

using testing::HasSubstr;
using testing::Not;
using What = ObjectRequest::What;

// Answers the first queries as listed, and the object after them.
class Faults {
 public:
  explicit Faults(std::vector<FakeHttp::Reply> first)
      : first_(std::move(first)), server_([this](const FakeHttp::Query& query) {
          const std::size_t at = asked_++;
          return at < first_.size() ? first_[at] : ReplyWith(query, "the object", "\"v\"");
        }) {}
  FakeHttp& server() { return server_; }
  [[nodiscard]] std::size_t asked() const { return asked_; }

 private:
  const std::vector<FakeHttp::Reply> first_;
  std::atomic<std::size_t> asked_ = 0;
  FakeHttp server_;
};

const FakeHttp::Reply kBusy{.status = 503, .body = "<Error><Code>SlowDown</Code></Error>"};

TEST(ObjectClientFaults, WhatPassesIsTriedAgain) {
  Faults faults({kBusy,
                 {.status = 500},
                 {.headers = {"ETag: \"v\""}, .body = "the object", .cut_at = 4},  // truncated
                 {.body = "the object", .tells_length = false, .cut_at = 0},  // no end that is told
                 {.status = 429}});
  ObjectClient client(OptionsFor(faults.server()));
  const ObjectAnswer first = Ask(client, RequestFor(faults.server(), {}, "x", What::kWhole, 100));
  EXPECT_EQ(first.status.code(), Code::kUnavailable) << "an end that is not told";
  EXPECT_EQ(faults.asked(), 4U);
  const ObjectAnswer answer = Ask(client, RequestFor(faults.server(), {}, "x"));
  ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
  EXPECT_EQ(AsText(answer.bytes), "the object");
  EXPECT_EQ(faults.asked(), 6U);
}

TEST(ObjectClientFaults, TriesEndAndTheErrorNamesTheObject) {
  Faults faults(std::vector<FakeHttp::Reply>(100, kBusy));
  ClientOptions options = OptionsFor(faults.server());
  options.retry.most_tries = 4;
  ObjectClient client(options);
  const ObjectAnswer answer = Ask(client, RequestFor(faults.server(), {}, "x"));
  EXPECT_EQ(answer.status.message(),
            faults.server().url() + "/data/x: 503 SlowDown, after 4 tries");
  EXPECT_EQ(faults.asked(), 4U);
}

TEST(ObjectClientFaults, WhatStaysIsAskedOnce) {
  Faults faults({{.status = 404, .body = "<Code>NoSuchKey</Code>"}, {.status = 403}});
  ObjectClient client(OptionsFor(faults.server()));
  EXPECT_EQ(Ask(client, RequestFor(faults.server(), {}, "x")).status.detail(), Detail::kNoFile);
  EXPECT_EQ(Ask(client, RequestFor(faults.server(), {}, "x")).status.code(), Code::kUnavailable);
  EXPECT_EQ(faults.asked(), 2U);
}

TEST(ObjectClientFaults, AStormEndsTheRetriesOfAll) {
  Faults faults(std::vector<FakeHttp::Reply>(10'000, kBusy));
  ObjectClient client(OptionsFor(faults.server()));
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(Ask(client, RequestFor(faults.server(), {}, "x")).status.ok());
  }
  EXPECT_EQ(faults.asked(), 50U + RetryBudget::kFull / RetryBudget::kOfRetry);
}

TEST(ObjectClientFaults, ASilentStoreIsGivenUp) {
  Faults faults({{.silent = true}, {.silent = true}});
  ClientOptions options = OptionsFor(faults.server());
  options.limits.whole = std::chrono::milliseconds(50);
  ObjectClient client(options);
  const ObjectAnswer answer = Ask(client, RequestFor(faults.server(), {}, "x"));
  EXPECT_EQ(answer.status.code(), Code::kUnavailable);
  EXPECT_THAT(answer.status.message(), HasSubstr("too slow"));
}

TEST(ObjectClientFaults, AStoreThatAsksForPatienceBeyondTheLimitIsGivenUp) {
  Faults faults({{.status = 503, .headers = {"Retry-After: 3600"}}});
  ObjectClient client(OptionsFor(faults.server()));
  EXPECT_FALSE(Ask(client, RequestFor(faults.server(), {}, "x")).status.ok());
  EXPECT_EQ(faults.asked(), 1U);
}

TEST(ObjectClientFaults, DamagedBytesAreReadAgain) {
  // The checksum is that of "123456789".
  const FakeHttp::Reply right{.headers = {"x-amz-checksum-crc32: y/Q5Jg=="}, .body = "123456789"};
  FakeHttp::Reply wrong = right;
  wrong.body = "123456780";
  Faults faults({wrong, wrong, right});
  ObjectClient client(OptionsFor(faults.server()));
  const ObjectAnswer answer = Ask(client, RequestFor(faults.server(), {}, "x"));
  ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
  EXPECT_EQ(AsText(answer.bytes), "123456789");
  EXPECT_EQ(faults.asked(), 3U);
  EXPECT_EQ(answer.received, 27U);
}

TEST(ObjectClientFaults, APartThatFailsIsReadAgainAlone) {
  std::string object(100'000, 'x');
  for (std::size_t i = 0; i < object.size(); ++i) object[i] = static_cast<char>(MixBits(i));
  std::atomic<int> asked = 0;
  FakeHttp server([&](const FakeHttp::Query& query) {
    FakeHttp::Reply reply = ReplyWith(query, object, "\"v\"");
    const int number = ++asked;
    if (number % 3 == 1) reply.cut_at = 100;  // the first, too
    if (number % 7 == 3) reply = kBusy;
    return reply;
  });
  ClientOptions options = OptionsFor(server);
  options.part_bytes = 8192;
  options.retry.most_tries = 20;
  ObjectClient client(options);
  const ObjectAnswer answer = Ask(client, RequestFor(server, {}, "x"));
  ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
  EXPECT_EQ(AsText(answer.bytes), object);
  EXPECT_LT(answer.received, 2 * object.size());
}

TEST(ObjectClientFaults, ExpiredCredentialsAreLookedUpAgainOnce) {
  for (const What what : {What::kWhole, What::kHead}) {
    std::atomic<int> lookups = 0;
    FakeHttp server([&](const FakeHttp::Query& query) {
      if (query.Header("x-amz-security-token") == "fresh") return ReplyWith(query, "x", "\"v\"");
      return FakeHttp::Reply{.status = 400, .body = "<Code>ExpiredToken</Code>"};
    });
    ClientOptions options = OptionsFor(server);
    options.credentials = TestCredentials();
    options.credentials.variable = [&, usual = options.credentials.variable](const char* name) {
      if (std::string_view(name) != "AWS_SESSION_TOKEN") return usual(name);
      return std::optional<std::string>(++lookups == 1 ? "stale" : "fresh");
    };
    ObjectClient client(options);
    const StoreSpec spec{.base = "s3://bucket", .endpoint = server.url()};
    const ObjectAnswer answer = Ask(client, RequestFor(server, spec, "x", what));
    EXPECT_TRUE(answer.status.ok()) << answer.status.ToString();
    EXPECT_EQ(lookups, 2);
  }
}

TEST(ObjectClientFaults, AClockThatIsWrongIsPutRight) {
  for (const What what : {What::kWhole, What::kHead}) {
    FakeHttp server([&](const FakeHttp::Query& query) {
      if (query.Header("x-amz-date").starts_with("20130524T0000")) {
        return ReplyWith(query, "x", "\"v\"");
      }
      return FakeHttp::Reply{.status = 403,
                             .headers = {"Date: Fri, 24 May 2013 00:00:00 GMT"},
                             .body = "<Code>RequestTimeTooSkewed</Code>"};
    });
    ClientOptions options = OptionsFor(server);
    options.credentials = TestCredentials();
    ObjectClient client(options);
    const StoreSpec spec{.base = "s3://bucket", .endpoint = server.url()};
    const ObjectAnswer answer = Ask(client, RequestFor(server, spec, "x", what));
    EXPECT_TRUE(answer.status.ok()) << answer.status.ToString();
    EXPECT_EQ(server.queries().size(), 2U);
  }
}

// Of a bucket in eu-west-1. Its answers to HEADs have a body's length and no body, as with all of HTTP.
FakeHttp::Reply InEuWest(const FakeHttp::Query& query, const FakeHttp::Reply& refusal) {
  const bool right = query.Header("authorization").find("/eu-west-1/s3/") != std::string::npos;
  return right ? ReplyWith(query, "x", "\"v\"") : refusal;
}

TEST(ObjectClientFaults, TheRegionIsLearntOnceForABucket) {
  const FakeHttp::Reply refusals[] = {
      {.status = 301, .headers = {"x-amz-bucket-region: eu-west-1"}},
      {.status = 307,
       .headers = {"x-amz-bucket-region: eu-west-1", "Location: http://127.0.0.1:1/"}},
      {.status = 400, .headers = {"x-amz-bucket-region: eu-west-1"}},
      {.status = 400,
       .body = "<Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region>"}};
  for (const FakeHttp::Reply& refusal : refusals) {
    for (const What what : {What::kWhole, What::kHead, What::kRange, What::kText}) {
      FakeHttp server([&](const FakeHttp::Query& query) { return InEuWest(query, refusal); });
      ClientOptions options = OptionsFor(server);
      options.credentials = TestCredentials();
      ObjectClient client(options);
      const StoreSpec spec{.base = "s3://bucket", .endpoint = server.url()};
      for (int i = 0; i < 3; ++i) {
        const ObjectAnswer answer = Ask(client, RequestFor(server, spec, "x", what, 100));
        EXPECT_TRUE(answer.status.ok()) << answer.status.ToString();
        EXPECT_EQ(answer.size, 1U);
      }
      // A HEAD that is not told the region by the head asks by a GET.
      const bool asks = what == What::kHead && !refusal.body.empty();
      EXPECT_EQ(server.queries().size(), asks ? 5U : 4U);
    }
  }
}

TEST(ObjectClientFaults, ARegionThatChangesWithEachAnswerIsGivenUp) {
  std::atomic<int> asked = 0;
  FakeHttp server([&](const FakeHttp::Query&) {
    return FakeHttp::Reply{.status = 301,
                           .headers = {"x-amz-bucket-region: r-" + std::to_string(++asked)}};
  });
  ClientOptions options = OptionsFor(server);
  options.credentials = TestCredentials();
  ObjectClient client(options);
  const StoreSpec spec{.base = "s3://bucket", .endpoint = server.url()};
  EXPECT_THAT(Ask(client, RequestFor(server, spec, "x")).status.message(),
              HasSubstr("the bucket is in the region r-2, not r-1"));
  EXPECT_EQ(asked, 2);
}

TEST(ObjectClientFaults, ARedirectsTargetTeachesNoRegion) {
  FakeHttp other([&](const FakeHttp::Query&) {
    return FakeHttp::Reply{.status = 403, .headers = {"x-amz-bucket-region: eu-west-1"}};
  });
  FakeHttp server([&](const FakeHttp::Query&) {
    return FakeHttp::Reply{.status = 302, .headers = {"Location: " + other.url() + "/x"}};
  });
  ClientOptions options = OptionsFor(server);
  options.rules = *EndpointRules::Make({server.authority(), other.authority()});
  ObjectClient client(options);
  const StoreSpec spec{.base = "s3://bucket", .endpoint = server.url(), .anonymous = true};
  const ObjectAnswer answer = Ask(client, RequestFor(server, spec, "x"));
  EXPECT_THAT(answer.status.message(), HasSubstr("403"));
  EXPECT_THAT(answer.status.message(), Not(HasSubstr("eu-west-1")));
  EXPECT_EQ(server.queries().size(), 1U);
  EXPECT_EQ(other.queries().size(), 1U);
}

TEST(ObjectClientFaults, AHeadThatIsRefusedSaysWhy) {
  FakeHttp server([&](const FakeHttp::Query&) {
    return FakeHttp::Reply{.status = 400, .body = "<Code>InvalidToken</Code>"};
  });
  ClientOptions options = OptionsFor(server);
  options.credentials = TestCredentials();
  ObjectClient client(options);
  const StoreSpec spec{.base = "s3://bucket", .endpoint = server.url()};
  EXPECT_THAT(Ask(client, RequestFor(server, spec, "x", What::kHead)).status.message(),
              HasSubstr("400 InvalidToken"));
  EXPECT_EQ(server.queries().size(), 2U);
}

TEST(ObjectClientFaults, ARefusalThatPassesWhileAHeadAsksWhyIsNoEnd) {
  for (const std::string object : {"x", ""}) {
    std::atomic<int> asked = 0;
    FakeHttp server([&](const FakeHttp::Query& query) {
      return ++asked == 1 ? FakeHttp::Reply{.status = 400} : ReplyWith(query, object, "\"v\"");
    });
    ClientOptions options = OptionsFor(server);
    options.credentials = TestCredentials();
    ObjectClient client(options);
    const StoreSpec spec{.base = "s3://bucket", .endpoint = server.url()};
    const ObjectAnswer answer = Ask(client, RequestFor(server, spec, "x", What::kHead));
    EXPECT_TRUE(answer.status.ok()) << answer.status.ToString();
    EXPECT_EQ(answer.size, object.size());
    EXPECT_EQ(asked, 3);
  }
}

// radosgw and moto tell no size of an object with a range that is after its end.
TEST(ObjectClientFaults, ARangeAfterTheEndIsEmptyThoughTheStoreTellsNoSize) {
  for (const std::string object : {"object", ""}) {
    FakeHttp server([&](const FakeHttp::Query& query) {
      FakeHttp::Reply reply = ReplyWith(query, object, "\"v\"");
      if (reply.status == 416) reply.headers.clear();
      return reply;
    });
    ObjectClient client(OptionsFor(server));
    ObjectRequest request = RequestFor(server, {}, "x", What::kRange, 10);
    request.first = object.size();
    const ObjectAnswer answer = Ask(client, request);
    ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
    EXPECT_EQ(answer.size, object.size());
    EXPECT_EQ(answer.version, "\"v\"");
    EXPECT_TRUE(answer.bytes.empty());
    EXPECT_EQ(server.queries().size(), 2U);
  }
}

// What a refusal tells fails all requests that are on their way: more than the budget of retries has.
TEST(ObjectClientFaults, ManyRequestsArePutRightTogether) {
  const FakeHttp::Reply refusals[] = {
      {.status = 400, .headers = {"x-amz-bucket-region: eu-west-1"}},
      {.status = 400, .body = "<Code>ExpiredToken</Code>"},
      {.status = 403,
       .headers = {"Date: Fri, 24 May 2013 00:00:00 GMT"},
       .body = "<Code>RequestTimeTooSkewed</Code>"}};
  constexpr std::size_t kMany = RetryBudget::kFull / RetryBudget::kOfRetry + 10;
  for (const FakeHttp::Reply& refusal : refusals) {
    std::mutex mutex;
    std::condition_variable changed;
    std::set<std::string> refused;
    FakeHttp server([&](const FakeHttp::Query& query) {
      const std::lock_guard lock(mutex);
      return refused.insert(query.target).second ? refusal : ReplyWith(query, "x", "\"v\"");
    });
    ClientOptions options = OptionsFor(server);
    options.credentials = TestCredentials();
    options.host_requests = kMany;
    options.retry.most_tries = 1;
    ObjectClient client(options);
    const StoreSpec spec{.base = "s3://bucket", .endpoint = server.url()};
    std::size_t answers = 0, good = 0;
    for (std::size_t i = 0; i < kMany; ++i) {
      client.Begin(RequestFor(server, spec, std::to_string(i)), [&](const ObjectAnswer& answer) {
        const std::lock_guard lock(mutex);
        ++answers;
        if (answer.status.ok()) ++good;
        changed.notify_all();
      });
    }
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return answers == kMany; });
    EXPECT_EQ(good, kMany);
  }
}

TEST(ObjectClientFaults, NoErrorTellsACredentialOrAQuery) {
  Faults faults(std::vector<FakeHttp::Reply>(
      100, {.status = 403, .body = "<Code>SignatureDoesNotMatch</Code> AKIATEST"}));
  ClientOptions options = OptionsFor(faults.server());
  options.credentials = TestCredentials();
  ObjectClient client(options);
  const StoreSpec spec{.base = "s3://bucket", .endpoint = faults.server().url()};
  ObjectRequest listing = RequestFor(faults.server(), spec, "x", What::kText);
  listing.url = listing.store->BucketUrl("continuation-token=word&list-type=2");
  for (const ObjectRequest& request : {RequestFor(faults.server(), spec, "x"), listing}) {
    const std::string message = Ask(client, request).status.message();
    EXPECT_THAT(message, HasSubstr("403 SignatureDoesNotMatch"));
    for (const char* secret :
         {"AKIATEST", "secret-of-test", "token-of-test", "word", "Signature="}) {
      EXPECT_THAT(message, Not(HasSubstr(secret)));
    }
  }
}

TEST(ObjectClientFaults, CredentialsThatAreWrongInThemselvesAreAnError) {
  FakeHttp server([&](const FakeHttp::Query& query) { return ReplyWith(query, "x", "\"v\""); });
  ClientOptions options = OptionsFor(server);
  options.credentials.variable = [](const char* name) {
    return std::string_view(name) == "AWS_ACCESS_KEY_ID" ? std::optional<std::string>("AKIA")
                                                         : std::nullopt;
  };
  ObjectClient client(options);
  const StoreSpec spec{.base = "s3://bucket", .endpoint = server.url()};
  EXPECT_EQ(Ask(client, RequestFor(server, spec, "x")).status.code(), Code::kInvalidArgument);
  EXPECT_EQ(server.queries().size(), 0U);
}

}  // namespace
}  // namespace headrace::remote
