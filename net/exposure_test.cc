#include "net/exposure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::net {
namespace {

TEST(Exposure, OnlyThisHostReachesUnixSocketsAndLoopback) {
  for (const char* local :
       {"ipc:///run/headrace/control", "inproc://x", "tcp://127.0.0.1:7070", "tcp://127.8.9.1:0",
        "tcp://localhost:7070", "tcp://[::1]:7070", "tcp://lo:*"}) {
    EXPECT_TRUE(IsLocalEndpoint(local)) << local;
    EXPECT_TRUE(CheckExposure(local, false, false).ok()) << local;
  }
}

TEST(Exposure, AnythingElseIsRemoteAndRefusedWithTheRemedy) {
  for (const char* remote :
       {"tcp://0.0.0.0:7070", "tcp://*:0", "tcp://[::]:7070", "tcp://10.0.0.1:7070", "tcp://eth0:1",
        "tcp://head:7070", "tcp://127.0.0.1.example.org:7070", "tcp://127.1:7070",
        "tcp://[fe80::1]:7070", "tcp://[::ffff:10.0.0.1]:7070", "tcp://localhost.example.org:1"}) {
    EXPECT_FALSE(IsLocalEndpoint(remote)) << remote;
    const Status refused = CheckExposure(remote, false, false);
    EXPECT_EQ(refused.code(), Code::kInvalidArgument) << remote;
    EXPECT_THAT(refused.message(),
                testing::AllOf(testing::HasSubstr(remote), testing::HasSubstr("headrace keys"),
                               testing::HasSubstr("--insecure")));
    EXPECT_TRUE(CheckExposure(remote, true, false).ok()) << remote;
    EXPECT_TRUE(CheckExposure(remote, false, true).ok()) << remote;
  }
}

TEST(Exposure, AnAbstractNameIsRefusedWithAndWithoutKeys) {
  for (const bool keys : {false, true}) {
    const Status refused = CheckExposure("ipc://@headrace", keys, false);
    EXPECT_EQ(refused.code(), Code::kInvalidArgument);
    EXPECT_THAT(refused.message(), testing::AllOf(testing::HasSubstr("ipc://@headrace"),
                                                  testing::HasSubstr("--insecure")));
    EXPECT_TRUE(CheckExposure("ipc://@headrace", keys, true).ok());
  }
  EXPECT_FALSE(IsAbstract("ipc:///run/@x"));
}

TEST(Exposure, LoopbackInsteadOfWhatWasGivenIsTold) {
  EXPECT_TRUE(LoopbackInstead("tcp://head:7070", "tcp://127.0.1.1:7070"));
  EXPECT_TRUE(LoopbackInstead("tcp://127.1:7070", "tcp://127.0.0.1:7070"));
  EXPECT_FALSE(LoopbackInstead("tcp://localhost:7070", "tcp://127.0.0.1:7070"));
  EXPECT_FALSE(LoopbackInstead("tcp://*:7070", "tcp://0.0.0.0:7070"));
  EXPECT_FALSE(LoopbackInstead("ipc:///x", "ipc:///x"));
}

TEST(Exposure, AllAddressesAreTold) {
  EXPECT_TRUE(IsAnyAddress("tcp://0.0.0.0:7070"));
  EXPECT_TRUE(IsAnyAddress("tcp://*:7070"));
  EXPECT_TRUE(IsAnyAddress("tcp://[::]:7070"));
  EXPECT_FALSE(IsAnyAddress("tcp://127.0.0.1:7070"));
  EXPECT_FALSE(IsAnyAddress("ipc:///*"));
}

TEST(Exposure, LoopbackIsReachedFromLoopback) {
  for (const char* endpoint : {"tcp://127.0.0.1:7070", "tcp://localhost:7070"}) {
    const Result<std::string> address = AddressTowards(endpoint);
    ASSERT_TRUE(address.ok()) << address.status().ToString();
    EXPECT_EQ(*address, "127.0.0.1") << endpoint;
  }
}

TEST(Exposure, AnUnknownHostIsNamed) {
  const Result<std::string> address = AddressTowards("tcp://no-such-host.invalid:7070");
  EXPECT_EQ(address.status().code(), Code::kUnavailable);
  EXPECT_THAT(address.status().message(), testing::HasSubstr("no-such-host.invalid"));
  for (const char* never : {"ipc:///x", "tcp://*:7070", "tcp://head"}) {
    EXPECT_EQ(AddressTowards(never).status().code(), Code::kInvalidArgument) << never;
  }
}

}  // namespace
}  // namespace headrace::net
