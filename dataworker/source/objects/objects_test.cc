// What only objects can do: change under an etag, lack one, lie elsewhere.
#include <atomic>
#include <memory>
#include <string>

#include "dataworker/source/core/remembered_source.h"
#include "dataworker/source/core/source_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "remote/http_fixture.h"

namespace headrace::dataworker {
namespace {

using remote::FakeHttp;
using std::chrono::seconds;
using testing::HasSubstr;

class ObjectsSource : public testing::Test {
 protected:
  Result<std::unique_ptr<Source>> Make(Args args, std::vector<std::string> roots = {}) {
    args.try_emplace("base", base_);
    const wire::FileTable table{.root = base_, .paths = names_, .labels = {1, 2, 3}};
    const SourceLeaf leaf{.source = "objects",
                          .args = std::move(args),
                          .rows = 3,
                          .table = blobs_.Add(wire::EncodeFileTable(table)),
                          .arrays = {}};
    return BuiltinSources().Make(
        leaf, {blobs_.lookup(), ReadTextHeader, std::move(roots), &TestIo(), &client_});
  }
  RowAnswer Get(const Source& source, Ask ask, std::int64_t row = 0) {
    const Answers answers(source, ask, {row});
    return answers.Wait(0);
  }

  std::atomic<int> version_ = 1;
  bool has_etag_ = true;
  FakeHttp server_{[this](const FakeHttp::Query& query) {
    std::string object = "4 " + std::to_string(version_) + "\n" + std::string(100, 'x');
    if (query.target.ends_with("far")) object = "far" + std::string(19'997, '.') + object;
    FakeHttp::Reply reply =
        remote::ReplyWith(query, object, "\"" + std::to_string(version_) + "\"");
    if (!has_etag_) reply.headers.erase(reply.headers.begin());
    return reply;
  }};
  remote::ObjectClient client_{remote::OptionsFor(server_)};
  const std::string base_ = server_.url() + "/data/";
  std::vector<std::string> names_ = {"a", "far", "../c"};
  BlobMap blobs_;
};

TEST_F(ObjectsSource, TheMeterPaysForAllThatIsReceived) {
  auto source = Make({});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  const auto remembered = Remembered(*std::move(source), Clock::Real());
  EXPECT_TRUE(remembered->is_metered());
  for (const Ask ask : {Ask::kIdentity, Ask::kSpec, Ask::kBytes}) {
    const auto meter = std::make_shared<CountingMeter>();
    const Answers answers(*remembered, ask, {1}, meter);  // its header is far from its start
    const RowAnswer answer = answers.Wait(0);
    ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
    const auto read = static_cast<std::int64_t>(answer.bytes_read);
    EXPECT_GT(meter->paid, read);
    EXPECT_LT(meter->paid, read + 1000) << "heads";
  }
}

TEST_F(ObjectsSource, EachVersionHasAnIdentityOfItsOwn) {
  const auto source = Make({{"valid_seconds", std::int64_t{7}}});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  const RowAnswer before = Get(**source, Ask::kIdentity);
  EXPECT_EQ(before.valid_for, seconds(7));
  EXPECT_EQ(before.bytes_read, 0U);
  version_ = 2;
  const RowAnswer after = Get(**source, Ask::kBytes);
  EXPECT_EQ(before.sample.content.place, after.sample.content.place);
  EXPECT_FALSE(before.sample.content == after.sample.content);
  EXPECT_EQ(after.sample.content, Get(**source, Ask::kIdentity).sample.content);
}

TEST_F(ObjectsSource, WithoutAnEtagNothingIsTakenForTheSame) {
  has_etag_ = false;
  const auto source = Make({{"valid_seconds", std::int64_t{7}}});
  ASSERT_TRUE(source.ok());
  const RowAnswer first = Get(**source, Ask::kBytes);
  const RowAnswer second = Get(**source, Ask::kBytes);
  ASSERT_TRUE(first.status.ok() && second.status.ok());
  EXPECT_FALSE(first.sample.content == second.sample.content);
  EXPECT_EQ(first.valid_for, Duration(0));
}

TEST_F(ObjectsSource, AHeaderThatIsFarOffIsReadWithASecondRequest) {
  const auto source = Make({});
  ASSERT_TRUE(source.ok());
  const RowAnswer near = Get(**source, Ask::kSpec, 0);
  ASSERT_TRUE(near.status.ok()) << near.status.ToString();
  EXPECT_EQ(server_.queries().size(), 1U);
  EXPECT_EQ(server_.queries()[0].Header("range"), "bytes=0-4095");
  const RowAnswer far = Get(**source, Ask::kSpec, 1);
  ASSERT_TRUE(far.status.ok()) << far.status.ToString();
  EXPECT_EQ(far.spec.dims[0], 4);
  EXPECT_EQ(server_.queries().size(), 3U);
  EXPECT_EQ(far.bytes_read, 4'096U + 20'032U);
}

TEST_F(ObjectsSource, ANameThatLeavesTheBaseIsNotAskedFor) {
  const auto source = Make({});
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(Get(**source, Ask::kBytes, 2).status.code(), Code::kInvalidArgument);
  names_[0] = "/etc/passwd";
  const auto absolute = Make({});
  ASSERT_TRUE(absolute.ok());
  EXPECT_EQ(Get(**absolute, Ask::kBytes, 0).status.code(), Code::kInvalidArgument);
  EXPECT_EQ(server_.queries().size(), 0U);
}

TEST_F(ObjectsSource, RootsOfTheOperatorBindIt) {
  EXPECT_EQ(Make({}, {"/data"}).status().code(), Code::kUnsupported);
  EXPECT_EQ(Make({}, {server_.url() + "/dat"}).status().code(), Code::kUnsupported);
  EXPECT_TRUE(Make({}, {"/data", server_.url() + "/data"}).ok());
  EXPECT_TRUE(Make({}, {server_.url()}).ok());
}

TEST_F(ObjectsSource, ItBearsNoWitnessAndTakesNoArgumentThatItDoesNotKnow) {
  const auto source = Make({});
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(Get(**source, Ask::kWitness).status.code(), Code::kUnsupported);
  EXPECT_EQ(Make({{"secret", std::string("x")}}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Make({{"base", std::string("file:///etc/")}}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Make({{"region", std::string("x")}}).status().code(), Code::kInvalidArgument);
}

TEST_F(ObjectsSource, AnObjectThatIsGoneIsNoSampleAndNamesItself) {
  FakeHttp gone([](const FakeHttp::Query&) { return FakeHttp::Reply{.status = 404}; });
  remote::ObjectClient client(remote::OptionsFor(gone));
  const std::string base = gone.url() + "/";
  const SourceLeaf leaf{
      .source = "objects",
      .args = {{"base", base}},
      .rows = 1,
      .table = blobs_.Add(wire::EncodeFileTable({.root = base, .paths = {"a"}, .labels = {1}})),
      .arrays = {}};
  const auto source =
      BuiltinSources().Make(leaf, {blobs_.lookup(), ReadTextHeader, {}, &TestIo(), &client});
  ASSERT_TRUE(source.ok());
  const RowAnswer answer = Get(**source, Ask::kBytes);
  EXPECT_EQ(answer.status.detail(), Detail::kNoFile);
  EXPECT_THAT(answer.status.message(), HasSubstr(base + "a"));
}

}  // namespace
}  // namespace headrace::dataworker
