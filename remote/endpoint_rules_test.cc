#include "remote/endpoint_rules.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cstring>

namespace headrace::remote {
namespace {

sockaddr_storage Address(const char* text) {
  sockaddr_storage storage{};
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (::inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
    storage.ss_family = AF_INET;
  } else {
    EXPECT_EQ(::inet_pton(AF_INET6, text, &v6->sin6_addr), 1) << text;
    storage.ss_family = AF_INET6;
  }
  return storage;
}

bool IsInternal(const char* text) {
  const sockaddr_storage address = Address(text);
  return IsInternalAddress(reinterpret_cast<const sockaddr&>(address));
}

TEST(EndpointRules, InternalAddressesInEveryForm) {
  for (const char* text : {"127.0.0.1",
                           "127.255.255.254",
                           "0.0.0.0",
                           "0.1.2.3",
                           "169.254.169.254",
                           "169.254.170.2",
                           "100.100.100.200",
                           "168.63.129.16",
                           "192.0.0.192",
                           "224.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::127.0.0.1",
                           "::ffff:127.0.0.1",
                           "::ffff:169.254.169.254",
                           "::ffff:0:127.0.0.1",
                           "64:ff9b::a9fe:a9fe",
                           "2002:7f00:1::",
                           "2002:a9fe:a9fe::1",
                           "2001::1",
                           "fe80::1",
                           "fec0::1",
                           "ff02::1",
                           "fd00:ec2::254",
                           "fd20:ce::254"}) {
    EXPECT_TRUE(IsInternal(text)) << text;
  }
  for (const char* text : {"1.1.1.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.100.100.201",
                           "126.255.255.255", "128.0.0.0", "169.253.0.1", "223.255.255.255",
                           "2606:4700::1", "fd12::1", "::ffff:10.0.0.1", "64:ff9b::101:101"}) {
    EXPECT_FALSE(IsInternal(text)) << text;
  }
  sockaddr local{};
  local.sa_family = AF_UNIX;
  EXPECT_TRUE(IsInternalAddress(local));
}

TEST(EndpointRules, WhatIsNamedMayBeReachedPlainlyAndIsSignedFor) {
  const Result<EndpointRules> rules = EndpointRules::Make(
      {"store", "127.0.0.1:9000", "http://[::1]:7480", "https://Other.example", ".below.example"});
  ASSERT_TRUE(rules.ok()) << rules.status().ToString();
  const sockaddr_storage here = Address("127.0.0.1");
  const auto named = [&](const char* text) {
    const Result<ObjectUrl> url = ObjectUrl::Parse(text);
    EXPECT_TRUE(url.ok());
    const bool names = rules->Names(*url);
    EXPECT_EQ(rules->MayReach(*url, reinterpret_cast<const sockaddr&>(here)), names);
    EXPECT_EQ(rules->MayBePlain(*url), names);
    EXPECT_EQ(rules->MaySign(*url), names);
    return names;
  };
  for (const char* text :
       {"http://store/x", "https://store:1/", "http://127.0.0.1:9000/b", "http://[::1]:7480/",
        "https://other.example/", "https://b.below.example"}) {
    EXPECT_TRUE(named(text)) << text;
  }
  for (const char* text :
       {"http://127.0.0.1:9001/", "http://[::1]/", "http://other.example/", "https://astore/",
        "https://store.evil.example/", "https://xbelow.example", "https://localhost:9000/",
        "https://amazonaws.com.evil.example/"}) {
    EXPECT_FALSE(named(text)) << text;
  }
}

TEST(EndpointRules, AwsIsSignedForOverTlsAlone) {
  const EndpointRules rules;
  EXPECT_TRUE(rules.MaySign(*ObjectUrl::Parse("https://b.s3.eu-west-1.amazonaws.com/x")));
  EXPECT_TRUE(rules.MaySign(*ObjectUrl::Parse("https://s3.cn-north-1.amazonaws.com.cn/x")));
  EXPECT_FALSE(rules.MaySign(*ObjectUrl::Parse("http://b.s3.eu-west-1.amazonaws.com/x")));
  EXPECT_FALSE(rules.MaySign(*ObjectUrl::Parse("https://b.s3.eu-west-1.amazonaws.com:8443/x")));
  EXPECT_FALSE(rules.MaySign(*ObjectUrl::Parse("https://evilamazonaws.com/x")));
}

TEST(EndpointRules, GcsIsSignedForWithItsOwnKeys) {
  const EndpointRules rules;
  for (const char* text :
       {"https://storage.googleapis.com/b/x", "https://b.storage.googleapis.com/x"}) {
    const ObjectUrl url = *ObjectUrl::Parse(text);
    EXPECT_TRUE(rules.MaySign(url, "GOOG1EXAMPLE"));
    EXPECT_FALSE(rules.MaySign(url, "AKIAEXAMPLE"));
    EXPECT_TRUE(EndpointRules::Make({url.Authority()})->MaySign(url, "AKIAEXAMPLE"));
  }
  for (const char* text :
       {"http://storage.googleapis.com/b/x", "https://evilstorage.googleapis.com",
        "https://storage.googleapis.com:8443/b/x", "https://googleapis.com/"}) {
    EXPECT_FALSE(rules.MaySign(*ObjectUrl::Parse(text), "GOOG1EXAMPLE")) << text;
  }
  const ObjectUrl aws = *ObjectUrl::Parse("https://b.s3.eu-west-1.amazonaws.com/x");
  EXPECT_TRUE(rules.MaySign(aws, "AKIAEXAMPLE"));
}

TEST(EndpointRules, WhatIsNoEndpointIsRefused) {
  for (const char* text : {"", "host/", "host/path", "http://host/path", "a b", "user@host",
                           "host:port", "host:0", "ftp://host", "host?x"}) {
    EXPECT_FALSE(EndpointRules::Make({text}).ok()) << text;
  }
}

}  // namespace
}  // namespace headrace::remote
