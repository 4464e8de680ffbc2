// What only ranges of objects can do: share a request, change below the ranges, come cut off.
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "dataworker/source/core/source_fixture.h"
#include "dataworker/source/ranges/range_fixture.h"
#include "dataworker/source/ranges/ranges.h"
#include "dataworker/source/ranges/zip_fixture.h"
#include "dataworker/source/ranges/zip_member.h"
#include "dataworker/source/stores/object_identity.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "remote/http_fixture.h"

namespace headrace::dataworker {
namespace {

using remote::FakeHttp;
using std::chrono::seconds;
using testing::HasSubstr;

// Rows of 8 bytes each in "a.tar", and one far from them; and one in "b.tar".
class ObjectRangesSource : public testing::Test {
 protected:
  void SetUp() override {
    Put("....1 1\nxxxx2 2\nxxxx3 3\nxxxx" + std::string(100'000, '.') + "4 4\nxxxx");
  }
  void Put(std::string object) {
    const std::lock_guard lock(mutex_);
    object_ = std::move(object);
  }
  std::string Object() {
    const std::lock_guard lock(mutex_);
    return object_;
  }
  Result<std::unique_ptr<Source>> Make(Args args = {}, std::vector<std::string> roots = {}) {
    args.try_emplace("base", base_);
    const std::vector<ShardRow> rows = {
        {4, 8, 0}, {12, 8, 1}, {20, 8, 2}, {100'028, 8, 3}, {100'028, 9, 4}};
    const SourceLeaf leaf{.source = "object_ranges",
                          .args = std::move(args),
                          .rows = 6,
                          .table = blobs_.Add(RangeTableOf(
                              base_, {{"a.tar", listed_, rows}, {"b.tar", listed_, {{4, 8, 5}}}})),
                          .arrays = {}};
    return BuiltinSources().Make(
        leaf, {blobs_.lookup(), ReadTextHeader, std::move(roots), &TestIo(), &client_, &clock_});
  }
  static RowAnswer Get(const Source& source, Ask ask, std::int64_t row = 0) {
    return Answers(source, ask, {row}).Wait(0);
  }

  FakeClock clock_;
  std::mutex mutex_;
  std::string object_;  // guarded by mutex_
  std::string listed_ = "\"1\"";
  std::atomic<int> version_ = 1;
  std::atomic<bool> ignores_ranges_ = false, wrong_start_ = false;
  std::atomic<int> cuts_ = 0;
  FakeHttp server_{[this](const FakeHttp::Query& query) {
    if (ignores_ranges_) return FakeHttp::Reply{.headers = {"ETag: \"1\""}, .body = Object()};
    FakeHttp::Query asked = query;
    if (wrong_start_) asked.headers["range"] = "bytes=3-10";
    FakeHttp::Reply reply =
        remote::ReplyWith(asked, Object(), "\"" + std::to_string(version_) + "\"");
    if (cuts_ > 0) {
      --cuts_;
      reply.cut_at = 5;
    }
    return reply;
  }};
  remote::ObjectClient client_{remote::OptionsFor(server_)};
  const std::string base_ = server_.url() + "/data/";
  BlobMap blobs_;
};

TEST_F(ObjectRangesSource, NeighboursShareARequest) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  const Answers answers(**source, Ask::kBytes, {2, 3, 0, 1});
  const char* const wanted[] = {"3 3\nxxxx", "4 4\nxxxx", "1 1\nxxxx", "2 2\nxxxx"};
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const RowAnswer answer = answers.Wait(i);
    ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
    EXPECT_EQ(AsText(answer.sample.bytes), wanted[i]);
    bytes += answer.bytes_read;
  }
  EXPECT_EQ(bytes, 32U);
  std::vector<std::string> ranges;
  for (const FakeHttp::Query& query : server_.queries()) ranges.push_back(query.Header("range"));
  EXPECT_THAT(ranges, testing::UnorderedElementsAre("bytes=4-27", "bytes=100028-100035"));
}

// The plan calls the shard by its bucket, and chooses the store. What one store answers must not stand for
// another's.
TEST_F(ObjectRangesSource, TheIdentityIsOfTheStoreThatAnswered) {
  const std::string bucket = "s3://pictures/";
  const SourceLeaf leaf{
      .source = "object_ranges",
      .args = {{"base", bucket}, {"endpoint", server_.url()}, {"anonymous", std::int64_t{1}}},
      .rows = 1,
      .table = blobs_.Add(RangeTableOf(bucket, {{"a.tar", listed_, {{4, 8, 0}}}})),
      .arrays = {}};
  const auto source = BuiltinSources().Make(
      leaf, {blobs_.lookup(), ReadTextHeader, {}, &TestIo(), &client_, &clock_});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  const RowAnswer answer = Get(**source, Ask::kIdentity);
  ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
  const auto url = remote::ObjectUrl::Parse(server_.url() + "/pictures/a.tar");
  EXPECT_EQ(answer.sample.content, IdentityOfRange(IdentityOfObject(*url, listed_), {4, 8}));
}

TEST_F(ObjectRangesSource, TheMeterPaysForAllThatIsReceived) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_TRUE((*source)->is_metered());
  for (const Ask ask : {Ask::kIdentity, Ask::kSpec, Ask::kBytes}) {
    const auto meter = std::make_shared<CountingMeter>();
    const Answers answers(**source, ask, {1}, meter);
    ASSERT_TRUE(answers.Wait(0).status.ok());
    EXPECT_GT(meter->paid, ask == Ask::kIdentity ? 0 : 8);
    EXPECT_LT(meter->paid, 500) << "a head, and the range";
  }
}

TEST_F(ObjectRangesSource, ManyRowsOfAShardAskForItsVersionOnceAndForAsLongAsItHolds) {
  const auto source = Make({{"valid_seconds", std::int64_t{7}}});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  const Answers first(**source, Ask::kIdentity, {0, 1, 2, 3});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(first.Wait(i).valid_for, seconds(7));
  EXPECT_EQ(server_.queries().size(), 1U);
  EXPECT_EQ(server_.queries()[0].method, "HEAD");
  clock_.Advance(seconds(5));
  EXPECT_EQ(Get(**source, Ask::kIdentity, 1).valid_for, seconds(2));
  EXPECT_EQ(server_.queries().size(), 1U);
  EXPECT_EQ(Get(**source, Ask::kIdentity, 5).valid_for, seconds(7)) << "another shard";
  EXPECT_EQ(server_.queries().size(), 2U);
  clock_.Advance(seconds(2));
  (void)Get(**source, Ask::kIdentity, 1);
  EXPECT_EQ(server_.queries().size(), 3U);
}

TEST_F(ObjectRangesSource, WithoutATimeEachUseAsks) {
  const auto source = Make();
  ASSERT_TRUE(source.ok());
  (void)Get(**source, Ask::kBytes);
  EXPECT_EQ(Get(**source, Ask::kIdentity).valid_for, Duration(0));
  (void)Get(**source, Ask::kIdentity);
  EXPECT_EQ(server_.queries().size(), 3U);
}

TEST_F(ObjectRangesSource, AShardThatHasChangedSinceItWasListedIsRefusedWhateverIsAsked) {
  const auto source = Make();
  ASSERT_TRUE(source.ok());
  EXPECT_TRUE(Get(**source, Ask::kBytes).status.ok());
  version_ = 2;
  for (const Ask ask : {Ask::kIdentity, Ask::kSpec, Ask::kBytes}) {
    const Status status = Get(**source, ask).status;
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr(base_ + "a.tar has changed since"));
  }
}

TEST_F(ObjectRangesSource, EachVersionHasAnIdentityOfItsOwn) {
  listed_ = "";
  const auto source = Make();
  ASSERT_TRUE(source.ok());
  const ContentIdentity before = Get(**source, Ask::kIdentity).sample.content;
  version_ = 2;
  const ContentIdentity after = Get(**source, Ask::kBytes).sample.content;
  EXPECT_EQ(before.place, after.place);
  EXPECT_FALSE(before == after);
}

TEST_F(ObjectRangesSource, ACutBodyIsAskedForAgain) {
  const auto source = Make();
  ASSERT_TRUE(source.ok());
  cuts_ = 2;
  const RowAnswer answer = Get(**source, Ask::kBytes, 1);
  ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
  EXPECT_EQ(AsText(answer.sample.bytes), "2 2\nxxxx");
  EXPECT_EQ(server_.queries().size(), 3U);
  EXPECT_EQ(answer.bytes_read, 5U + 5U + 8U);
}

TEST_F(ObjectRangesSource, AnotherRangeThanTheOneAskedForIsNoAnswer) {
  const auto source = Make();
  ASSERT_TRUE(source.ok());
  wrong_start_ = true;
  EXPECT_EQ(Get(**source, Ask::kBytes, 1).status.code(), Code::kUnavailable);
  wrong_start_ = false;
  const Status shorter = Get(**source, Ask::kBytes, 4).status;
  EXPECT_THAT(shorter.message(), HasSubstr("ends before the sample does: " + base_ + "a.tar"));
  Put(Object().substr(0, 1000));
  EXPECT_THAT(Get(**source, Ask::kBytes, 3).status.message(), HasSubstr("has changed since"));
}

TEST_F(ObjectRangesSource, AStoreThatIgnoresRangesIsNoPlaceForShards) {
  const auto source = Make();
  ASSERT_TRUE(source.ok());
  ignores_ranges_ = true;
  const Status status = Get(**source, Ask::kBytes, 1).status;
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("sends whole objects whatever range"));
  EXPECT_EQ(server_.queries().size(), 1U);
}

TEST_F(ObjectRangesSource, ASpecIsReadFromTheStartOfTheRange) {
  std::string object = "....far" + std::string(19'997, '.') + "6 6\n" + std::string(90'000, '.');
  object.replace(100'028, 4, "5 5\n");
  Put(object);
  const std::vector<ShardRow> rows = {{4, 50'000, 0}, {100'028, 8'000, 1}};
  const SourceLeaf leaf{.source = "object_ranges",
                        .args = {{"base", base_}},
                        .rows = 2,
                        .table = blobs_.Add(RangeTableOf(base_, {{"a.tar", listed_, rows}})),
                        .arrays = {}};
  const auto source =
      BuiltinSources().Make(leaf, {blobs_.lookup(), ReadTextHeader, {}, &TestIo(), &client_});
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(Get(**source, Ask::kSpec, 1).spec.dims[0], 5);
  EXPECT_EQ(server_.queries()[0].Header("range"), "bytes=100028-104123");
  EXPECT_EQ(Get(**source, Ask::kSpec, 0).spec.dims[0], 6);
  EXPECT_EQ(server_.queries().size(), 3U);
}

TEST_F(ObjectRangesSource, AMemberOfAZipIsDescribedAndComesAsItLiesInTheZip) {
  const std::string far = "far" + std::string(19'997, '.') + "6 7\n" + std::string(30'000, 'x');
  for (const bool deflated : {false, true}) {
    const ZippedSample zipped[] = {Zipped("3 4\nmore", deflated), Zipped(far, deflated, 60'000)};
    std::vector<ShardRow> rows;
    std::string zip = "....";
    for (const ZippedSample& one : zipped) {
      rows.push_back({zip.size(), static_cast<std::uint32_t>(one.bytes.size()), 1, one.member});
      zip += one.bytes;
    }
    Put(zip);
    const SourceLeaf leaf{.source = "object_ranges",
                          .args = {{"base", base_}, {"members", std::int64_t{1}}},
                          .rows = 2,
                          .table = blobs_.Add(RangeTableOf(base_, {{"a.zip", listed_, rows}})),
                          .arrays = {}};
    auto made =
        BuiltinSources().Make(leaf, {blobs_.lookup(), ReadTextHeader, {}, &TestIo(), &client_});
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    const auto source = std::move(made).value();
    EXPECT_EQ(Get(*source, Ask::kSpec, 0).spec.dims[1], 4);
    EXPECT_EQ(Get(*source, Ask::kSpec, 1).spec.dims[1], 7);
    for (std::int64_t row = 0; row < 2; ++row) {
      const RowAnswer answer = Get(*source, Ask::kBytes, row);
      ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
      EXPECT_EQ(answer.sample.content, Get(*source, Ask::kIdentity, row).sample.content);
      ScratchBuffer out;
      ASSERT_EQ(answer.sample.member, zipped[row].member);
      const auto sample = UnpackMember(answer.sample.bytes, *answer.sample.member, out);
      ASSERT_TRUE(sample.ok()) << sample.status().ToString();
      EXPECT_EQ(AsText(*sample), row == 0 ? "3 4\nmore" : far);
    }
  }
}

TEST_F(ObjectRangesSource, RootsOfTheOperatorBindIt) {
  EXPECT_EQ(Make({}, {"/data"}).status().code(), Code::kUnsupported);
  EXPECT_TRUE(Make({}, {server_.url() + "/data"}).ok());
  EXPECT_EQ(Make({{"secret", std::string("x")}}).status().code(), Code::kInvalidArgument);
}

TEST_F(ObjectRangesSource, AShardThatLeavesTheBaseIsNotAskedFor) {
  const std::vector<ShardRow> rows = {{4, 8, 0}};
  const SourceLeaf leaf{.source = "object_ranges",
                        .args = {{"base", base_}},
                        .rows = 1,
                        .table = blobs_.Add(RangeTableOf(base_, {{"../a.tar", "", rows}})),
                        .arrays = {}};
  const auto source =
      BuiltinSources().Make(leaf, {blobs_.lookup(), ReadTextHeader, {}, &TestIo(), &client_});
  ASSERT_TRUE(source.ok());
  for (const Ask ask : {Ask::kIdentity, Ask::kSpec, Ask::kBytes}) {
    EXPECT_EQ(Get(**source, ask).status.code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(server_.queries().size(), 0U);
}

}  // namespace
}  // namespace headrace::dataworker
