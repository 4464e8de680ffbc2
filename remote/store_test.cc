#include "remote/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::remote {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string UrlOf(const StoreSpec& spec, const std::string& name) {
  const Result<Store> store = Store::Make(spec);
  if (!store.ok()) return store.status().ToString();
  const Result<ObjectUrl> url = store->UrlOf(name);
  return url.ok() ? url->Text() : url.status().ToString();
}

TEST(Store, AwsHasTheBucketInTheHostUnlessItHasDots) {
  EXPECT_EQ(UrlOf({.base = "s3://data/train", .region = "eu-west-1"}, "s3://data/train/a/1.jpg"),
            "https://data.s3.eu-west-1.amazonaws.com/train/a/1.jpg");
  EXPECT_EQ(UrlOf({.base = "s3://my.data/"}, "s3://my.data/a b+c%.jpg"),
            "https://s3.us-east-1.amazonaws.com/my.data/a%20b%2Bc%25.jpg");
  EXPECT_EQ(UrlOf({.base = "s3://data", .region = "cn-north-1"}, "s3://data/x"),
            "https://data.s3.cn-north-1.amazonaws.com.cn/x");
}

TEST(Store, AnEndpointHasItInThePathUnlessAsked) {
  StoreSpec spec{.base = "s3://data/train", .endpoint = "http://[::1]:9000"};
  EXPECT_EQ(UrlOf(spec, "s3://data/train/\xc3\xa4"), "http://[::1]:9000/data/train/%C3%A4");
  spec.endpoint = "https://Store.Example";
  spec.addressing = "virtual";
  EXPECT_EQ(UrlOf(spec, "s3://data/train/x"), "https://data.store.example/train/x");
  EXPECT_EQ(UrlOf({.base = "https://host:8443/a"}, "https://host:8443/a/b c"),
            "https://host:8443/a/b%20c");
}

TEST(Store, GcsIsSpokenToAsS3) {
  EXPECT_EQ(UrlOf({.base = "gs://my_data.x/train"}, "gs://my_data.x/train/a b"),
            "https://storage.googleapis.com/my_data.x/train/a%20b");
  const Store store = *Store::Make({.base = "gs://data"});
  EXPECT_TRUE(store.s3() && store.is_signed() && !store.asks_for_checksums());
  EXPECT_EQ(store.region(), "auto");
  EXPECT_EQ(store.bucket(), "data");
  EXPECT_EQ(UrlOf({.base = "gs://data", .addressing = "virtual"}, "gs://data/x"),
            "https://data.storage.googleapis.com/x");
  EXPECT_EQ(UrlOf({.base = "gs://data", .endpoint = "http://[::1]:9000"}, "gs://data/x"),
            "http://[::1]:9000/data/x");
  EXPECT_FALSE(Store::Make({.base = "gs:///x"}).ok());
  EXPECT_FALSE(Store::Make({.base = "gss://data/x"}).ok());
}

TEST(Store, OnlyAwsHasAHostForEachRegion) {
  const Store aws = *Store::Make({.base = "s3://data"});
  EXPECT_EQ(aws.InRegion(aws.BucketUrl("list-type=2"), "cn-north-1").Text(),
            "https://data.s3.cn-north-1.amazonaws.com.cn/?list-type=2");
  for (const StoreSpec& spec : {StoreSpec{.base = "gs://data"},
                                StoreSpec{.base = "s3://data", .endpoint = "https://store"}}) {
    const Store store = *Store::Make(spec);
    const ObjectUrl url = store.BucketUrl("");
    EXPECT_EQ(store.InRegion(url, "eu-west-1").Text(), url.Text());
  }
}

TEST(Store, ARegionThatAStoreTellsIsAWordOfAHost) {
  for (const char* text : {"eu-west-1", "auto", "us-gov-east-1", "RegionOne"}) {
    EXPECT_TRUE(IsRegion(text)) << text;
  }
  const std::string evil(41, 'a');
  for (const char* text : {"", "evil.com/", "a.b", "a b", "a@b", "a:1", evil.c_str()}) {
    EXPECT_FALSE(IsRegion(text)) << text;
  }
}

TEST(Store, NamesStayBelowTheBase) {
  const StoreSpec spec{.base = "s3://data/train"};
  for (const char* name : {"s3://data/trainx", "s3://data/other/x", "s3://data/train/../x", "/x",
                           "s3://data/train/a/./x", "s3://data/train/.."}) {
    EXPECT_THAT(UrlOf(spec, name), HasSubstr("InvalidArgument")) << name;
  }
}

TEST(Store, WhatWouldNameAnotherHostIsRefused) {
  for (const StoreSpec& spec : std::vector<StoreSpec>{
           {.base = "s3://"},
           {.base = "s3://a@b/"},
           {.base = "s3://../x"},
           {.base = "s3://data", .region = "x.evil.example/"},
           {.base = "s3://data", .endpoint = "https://user:word@host"},
           {.base = "s3://data", .endpoint = "https://host/path"},
           {.base = "s3://data", .endpoint = "ftp://host"},
           {.base = "s3://data", .endpoint = "https://host:0"},
           {.base = "s3://data", .endpoint = "https://10.0.0.1", .addressing = "virtual"},
           {.base = "s3://data", .addressing = "other"},
           {.base = "https://host/a?signature=word"},
           {.base = "https://host/../a"},
           {.base = "file:///etc"},
           {.base = "https://host\r\nX: y/"}}) {
    const Result<Store> made = Store::Make(spec);
    ASSERT_FALSE(made.ok()) << spec.base << " " << spec.endpoint;
    EXPECT_EQ(made.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(made.status().message(), Not(HasSubstr("word")));
  }
}

TEST(Store, TheBucketItselfHasAQuery) {
  const Result<Store> store = Store::Make({.base = "s3://data/x", .endpoint = "http://host:1"});
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(store->BucketUrl("list-type=2&prefix=x").Text(),
            "http://host:1/data?list-type=2&prefix=x");
  EXPECT_EQ(Store::Make({.base = "s3://data"})->BucketUrl("a=").Text(),
            "https://data.s3.us-east-1.amazonaws.com/?a=");
}

}  // namespace
}  // namespace headrace::remote
