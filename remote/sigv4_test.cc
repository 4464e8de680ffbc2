#include "remote/sigv4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::remote {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// Source: Amazon S3 API Reference, "Signature Calculations for the Authorization Header", whose
// examples have these keys, this time and these signatures.
const Credentials kExample{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
constexpr const char* kTime = "20130524T000000Z";

std::string Sign(SigningRequest request) {
  request.headers.emplace_back("host", "examplebucket.s3.amazonaws.com");
  request.headers.emplace_back("x-amz-date", kTime);
  request.headers.emplace_back("x-amz-content-sha256", std::string(request.payload_hash));
  return Authorization(request, kExample, "us-east-1", "s3", kTime);
}

TEST(SigV4, SignsAPartOfAnObject) {
  const std::string made = Sign({.method = "GET",
                                 .path = "/test.txt",
                                 .query = "",
                                 .headers = {{"range", "bytes=0-9"}},
                                 .payload_hash = kEmptyHash});
  EXPECT_THAT(made, HasSubstr("AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"));
  EXPECT_THAT(made, HasSubstr("SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"));
  EXPECT_THAT(made, EndsWith("Signature="
                             "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
}

TEST(SigV4, SignsAListing) {
  EXPECT_THAT(Sign({.method = "GET",
                    .path = "/",
                    .query = "max-keys=2&prefix=J",
                    .headers = {},
                    .payload_hash = kEmptyHash}),
              EndsWith("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST(SigV4, SignsAQueryWithoutAValue) {
  EXPECT_THAT(Sign({.method = "GET",
                    .path = "/",
                    .query = "lifecycle=",
                    .headers = {},
                    .payload_hash = kEmptyHash}),
              EndsWith("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST(SigV4, SignsAnObjectWithAHashOfItsOwn) {
  EXPECT_THAT(
      Sign({.method = "PUT",
            .path = "/test%24file.text",
            .query = "",
            .headers = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                        {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
            .payload_hash = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"}),
      EndsWith("98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST(SigV4, TheTimeIsInUniversalTime) {
  EXPECT_EQ(SigningTime(1'369'353'600'999), kTime);
  EXPECT_EQ(SigningTime(0), "19700101T000000Z");
}

}  // namespace
}  // namespace headrace::remote
