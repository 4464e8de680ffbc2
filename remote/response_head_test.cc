#include "remote/response_head.h"

#include <gtest/gtest.h>

namespace headrace::remote {
namespace {

using std::chrono::seconds;

ResponseHead Read(std::initializer_list<const char*> lines) {
  ResponseHead head;
  for (const char* line : lines) head.Read(line);
  return head;
}

TEST(ResponseHead, ReadsWhatObjectsNeed) {
  const ResponseHead head =
      Read({"HTTP/1.1 206 Partial Content\r\n", "Content-Length: 10\r\n",
            "Content-Range: bytes 20-29/100\r\n", "ETag: \"ab\"\r\n", "x-amz-version-id: v1\r\n",
            "Retry-After: 7\r\n", "Date: Fri, 24 May 2013 00:00:00 GMT\r\n",
            "x-amz-checksum-crc32: y/Q5Jg==\r\n"});
  EXPECT_EQ(head.status, 206);
  EXPECT_EQ(head.length, 10U);
  EXPECT_EQ(head.first, 20U);
  EXPECT_EQ(head.whole, 100U);
  EXPECT_EQ(head.etag, "\"ab\"");
  EXPECT_EQ(head.version, "v1");
  EXPECT_EQ(head.retry_after, seconds(7));
  EXPECT_EQ(head.date_millis, 1'369'353'600'000);
  EXPECT_TRUE(head.checksum);
}

TEST(ResponseHead, AStatusLineBeginsAnew) {
  const ResponseHead head = Read({"HTTP/1.1 100 Continue", "etag: \"old\"", "HTTP/2 200", "X: y"});
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.etag, "");
}

TEST(ResponseHead, WhatIsDamagedOrWeakIsPassedOver) {
  const ResponseHead head =
      Read({"HTTP/1.1 200 OK", "Content-Length: -1", "ETag: W/\"ab\"", "Content-Range: bytes x",
            "Retry-After: soon", "no header", "x-amz-version-id: null"});
  EXPECT_FALSE(head.length || head.whole || head.retry_after);
  EXPECT_EQ(head.etag + head.version, "");
  EXPECT_EQ(Read({"HTTP/1.1 416 x", "Content-Range: bytes */0"}).whole, 0U);
  EXPECT_FALSE(Read({"HTTP/1.1 200 OK", "Accept-Ranges: none"}).takes_ranges);
}

TEST(ResponseHead, ChecksumsOfGcsAreOfTheBytesThatAreSent) {
  const char* const hash = "x-goog-hash: crc32c=n03x6A==,md5=Ojk9c3dhfxgoKVVHYwFbHQ==";
  const auto checksum = Read({"HTTP/1.1 200 OK", hash}).checksum;
  ASSERT_TRUE(checksum);
  EXPECT_EQ(checksum->kind, Checksum::Kind::kCrc32c);
  EXPECT_EQ(checksum->value, "\x9f\x4d\xf1\xe8");
  const char* const packed = "x-goog-stored-content-encoding: gzip";
  EXPECT_FALSE(Read({"HTTP/1.1 200 OK", hash, packed}).checksum);
  EXPECT_FALSE(Read({"HTTP/1.1 200 OK", packed, hash}).checksum);
  EXPECT_TRUE(Read({"HTTP/1.1 200 OK", hash, "x-goog-stored-content-encoding: identity"}).checksum);
  EXPECT_FALSE(Read({"HTTP/1.1 200 OK", "x-goog-hash: md5=Ojk9c3dhfxgoKVVHYwFbHQ=="}).checksum);
}

TEST(ResponseHead, TheRegionOfAnErrorIsARegion) {
  EXPECT_EQ(ErrorRegion("<Code>x</Code><Region>eu-west-1</Region>"), "eu-west-1");
  EXPECT_EQ(ErrorRegion("<Region>evil.example/</Region>"), "");
  EXPECT_EQ(ErrorRegion("<Region>eu-west-1"), "");
  EXPECT_EQ(Read({"HTTP/1.1 301 x", "x-amz-bucket-region: evil.example"}).region, "");
}

TEST(ResponseHead, TheCodeOfAnErrorIsLettersAlone) {
  EXPECT_EQ(ErrorCode("<Error><Code>SlowDown</Code><Message>x</Message></Error>"), "SlowDown");
  EXPECT_EQ(ErrorCode("<Code>Slow\nDown</Code>"), "");
  EXPECT_EQ(ErrorCode("<Code>SlowDown"), "");
  EXPECT_EQ(ErrorCode("busy"), "");
}

}  // namespace
}  // namespace headrace::remote
