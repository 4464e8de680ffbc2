#include "schemas/wire/message.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "schemas/wire/convert_internal.h"
#include "schemas/wire/random_body_internal.h"

namespace headrace::wire {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kBodies = std::variant_size_v<Body>;

std::uint64_t Seed() {
  const char* given = std::getenv("HEADRACE_TEST_SEED");
  return given == nullptr ? 20240607 : std::strtoull(given, nullptr, 10);
}

Result<Body> RoundTrip(const Body& body) {
  const EncodedMessage message = Encode(body);
  return Decode(message.header, message.body);
}

Status DecodeError(const Body& body) { return RoundTrip(body).status(); }

TEST(Message, EveryTypeComesBackEqual) {
  for (std::size_t index = 0; index < kBodies; ++index) {
    for (std::uint64_t round = 0; round < 200; ++round) {
      SCOPED_TRACE("HEADRACE_TEST_SEED=" + std::to_string(Seed() + round));
      const Body body = RandomBody(Seed() + round).Make(index);
      ASSERT_EQ(body.index(), index);
      const Result<Body> back = RoundTrip(body);
      ASSERT_TRUE(back.ok()) << back.status().ToString();
      ASSERT_TRUE(*back == body) << "type " << index;
    }
  }
}

TEST(Message, DefaultsComeBackEqual) {
  Body body = BatchRequest{};
  EXPECT_TRUE(*RoundTrip(body) == body);
  body = BatchDone{};
  EXPECT_TRUE(*RoundTrip(body) == body);
  body = Attach{};
  EXPECT_TRUE(*RoundTrip(body) == body);
  body = ClusterStatus{};
  EXPECT_TRUE(*RoundTrip(body) == body);
}

TEST(Message, NumbersThatAreNoneAreRefused) {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::nan(""), -1.0}) {
    WorkerHeartbeat beat;
    beat.cpu_seconds = bad;
    const Status error = DecodeError(beat);
    EXPECT_EQ(error.code(), Code::kInvalidArgument) << bad;
    EXPECT_THAT(error.message(), HasSubstr("cpu_seconds"));
  }
}

TEST(Message, TypeOfANewerPeerIsMonostate) {
  EncodedMessage message = Encode(Ping{.sequence = 1});
  message.header[4] = std::byte{200};
  const Result<Body> body = Decode(message.header, message.body);
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(body->index(), 0u);
}

TEST(Message, CodeOfANewerPeerIsUnknown) {
  const auto body = RoundTrip(SessionOpened{.status = Status(static_cast<Code>(77), "x")});
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(std::get<SessionOpened>(*body).status.code(), Code::kUnknown);
}

TEST(Message, DetailOfANewerPeerIsUnknown) {
  const auto body =
      RoundTrip(SessionOpened{.status = Status(Code::kNotFound, "x", static_cast<Detail>(77))});
  ASSERT_TRUE(body.ok());
  const Status& status = std::get<SessionOpened>(*body).status;
  EXPECT_EQ(status.detail(), Detail::kUnknown);
  EXPECT_FALSE(IsNoSession(status));
}

TEST(Message, AnOlderWorkersFlagIsADetail) {
  Builder builder;
  const auto failure = fb::CreateSampleFailure(builder, 0, fb::Code::Unavailable, 0, true);
  const auto failures = builder.CreateVector(&failure, 1);
  fb::BatchDoneBuilder done(builder);
  done.add_session(1), done.add_iteration(1), done.add_batch(1);
  done.add_failures(failures);
  builder.Finish(done.Finish(), "HR47");
  const Result<Body> body = Decode(Encode(BatchDone{}).header, TakeBody(builder));
  ASSERT_TRUE(body.ok()) << body.status().ToString();
  EXPECT_EQ(std::get<BatchDone>(*body).failures.at(0).detail, Detail::kOtherSpec);
}

TEST(Message, OtherVersionIsAnotherReleaseAndNamesBoth) {
  EncodedMessage message = Encode(Ping{});
  message.header[3] = std::byte{9};
  const Status status = Decode(message.header, message.body).status();
  EXPECT_EQ(status.code(), Code::kOtherRelease);
  EXPECT_THAT(status.message(), HasSubstr("wire version 9, this is 1"));
}

TEST(Message, ForeignOrMaimedHeaderIsRefused) {
  const EncodedMessage good = Encode(Ping{});
  EXPECT_EQ(Decode({}, good.body).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Decode(AsBytes("GET / HT"), good.body).status().code(), Code::kInvalidArgument);
  EncodedMessage reserved = good;
  reserved.header[7] = std::byte{1};
  EXPECT_EQ(Decode(reserved.header, reserved.body).status().code(), Code::kInvalidArgument);
}

TEST(Message, BodyOfAnotherTypeIsRefused) {
  EncodedMessage message = Encode(Ping{.sequence = 3});
  message.header[4] = static_cast<std::byte>(MessageType::kPong);
  EXPECT_EQ(Decode(message.header, message.body).status().code(), Code::kInvalidArgument);
}

TEST(Message, BodyAtAnOddAddressIsRead) {
  const Body body = RandomBody(Seed()).Make(22);
  const EncodedMessage message = Encode(body);
  Bytes shifted(message.body.size() + 1);
  std::copy(message.body.begin(), message.body.end(), shifted.begin() + 1);
  const auto back = Decode(message.header, ByteSpan(shifted).subspan(1));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(*back == body);
}

TEST(Message, ContradictingContentIsRefusedByName) {
  EXPECT_THAT(DecodeError(BatchRequest{.keys = {1, 2}, .seeds = {1}}).message(),
              HasSubstr("seeds and keys"));
  EXPECT_THAT(DecodeError(BatchRequest{.keys = {1, 2}, .params = {1, 2, 3}}).message(),
              HasSubstr("params"));
  EXPECT_THAT(DecodeError(BatchRequest{.params = {1}}).message(), HasSubstr("params"));
  EXPECT_THAT(DecodeError(BatchRequest{.keys = {1}, .skip = {1}}).message(), HasSubstr("skip"));
  EXPECT_THAT(DecodeError(BatchRequest{.slot_offset = ~0ULL, .slot_bytes = 1}).message(),
              HasSubstr("slot"));
  EXPECT_THAT(DecodeError(BatchRequest{.session = SessionId(-2)}).message(), HasSubstr("session"));
  EXPECT_THAT(DecodeError(BatchRequest{.keys = {1, 2}, .specs = {TensorSpec{}}}).message(),
              HasSubstr("sizes and keys"));
  const TensorSpec any{DType::kU8, Layout::kHwc, {Dims::kAny, 4, 3}};
  EXPECT_THAT(DecodeError(Described{.specs = {any}}).message(), HasSubstr("dimension"));
  EXPECT_THAT(DecodeError(OpenJob{.wanted_workers = -1}).message(), HasSubstr("wanted_workers"));
  EXPECT_THAT(DecodeError(JobOpened{.heartbeat_ms = 0}).message(), HasSubstr("heartbeat_ms"));
  EXPECT_THAT(DecodeError(Attach{.split = {.worker_nodes = 1}}).message(), HasSubstr("split"));
  EXPECT_THAT(DecodeError(SessionOpened{.split = {.worker_nodes = 1, .cache_node = 2}}).message(),
              HasSubstr("cache point"));
  EXPECT_THAT(DecodeError(SessionOpened{.split = {.worker_nodes = 1, .tail_node = 2}}).message(),
              HasSubstr("tail outside"));
  EXPECT_THAT(DecodeError(BatchRequest{.tail_node = -1}).message(), HasSubstr("tail_node"));
  EXPECT_THAT(DecodeError(BatchDone{.tail_node = -1}).message(), HasSubstr("tail_node"));
  EXPECT_THAT(DecodeError(BlobPart{.total_bytes = 1, .offset = 2}).message(), HasSubstr("offset"));
}

TEST(Message, GrantsAndUsageOfImpossibleJobsAreRefused) {
  WorkerDirective directive;
  directive.grants = {{.job = JobId(-2)}};
  EXPECT_THAT(DecodeError(directive).message(), HasSubstr("job of a grant"));
  directive.grants.assign(kMaxJobsOfWorker, {.job = JobId(1)});
  EXPECT_TRUE(DecodeError(directive).ok());
  directive.grants.push_back({.job = JobId(1)});
  EXPECT_THAT(DecodeError(directive).message(), HasSubstr("grants"));
  WorkerHeartbeat beat;
  beat.usage = {{.job = JobId(-2)}};
  EXPECT_THAT(DecodeError(beat).message(), HasSubstr("job of usage"));
  beat.usage.assign(kMaxJobsOfWorker + 1, {.job = JobId(1)});
  EXPECT_THAT(DecodeError(beat).message(), HasSubstr("usage"));
}

TEST(Message, SamplesOfMoreNamesThanAllowedAreRefused) {
  WorkerHeartbeat beat;
  JobUsage usage{.job = JobId(1), .tiers = {}, .sampled = {}};
  usage.sampled.assign(kMaxSampledNames, 7);
  beat.usage = {usage};
  EXPECT_TRUE(DecodeError(beat).ok());
  beat.usage.assign(kMaxSampledOfWorker / kMaxSampledNames + 1, usage);
  EXPECT_THAT(DecodeError(beat).message(), HasSubstr("sampled names")) << "of all together";
  usage.sampled.push_back(8);
  beat.usage = {usage};
  EXPECT_THAT(DecodeError(beat).message(), HasSubstr("sampled names"));
}

TEST(Message, MorePoolsThanAllowedAreRefused) {
  ClusterStatus status;
  status.pools.resize(kMaxPools);
  EXPECT_TRUE(DecodeError(status).ok());
  status.pools.emplace_back();
  EXPECT_THAT(DecodeError(status).message(), HasSubstr("pools"));
  status.pools.resize(1);
  status.pools[0].cores = -1;
  EXPECT_THAT(DecodeError(status).message(), HasSubstr("cores"));
}

// A word for each kind that a Status may have, also one of a newer peer.
TEST(Message, EachTroubleOfAPoolHasItsWord) {
  std::set<std::string_view> words;
  for (int kind = static_cast<int>(Detail::kQuota); kind <= static_cast<int>(Detail::kWorkersFail);
       ++kind) {
    words.insert(TroubleWord(Unavailable("x").WithDetail(static_cast<Detail>(kind))));
  }
  EXPECT_EQ(words.size(), 7U);
  EXPECT_FALSE(words.contains("other") || words.contains(""));
  EXPECT_EQ(TroubleWord(Unavailable("x")), "other");
  EXPECT_EQ(TroubleWord(Unavailable("x").WithDetail(Detail::kUnknown)), "other");
  EXPECT_EQ(TroubleWord(Status::Ok()), "");
}

TEST(Message, BatchThatLeavesItsSlotIsRefused) {
  BatchDone done{.used_bytes = 100};
  done.fields = {{.dtype = DType::kF32, .shape = {5, 5}, .offset = 0}};
  EXPECT_TRUE(DecodeError(done).ok());
  done.fields[0].offset = 1;
  EXPECT_THAT(DecodeError(done).message(), HasSubstr("field outside"));
  done.fields[0] = {.dtype = DType::kF64, .shape = {1LL << 62, 1LL << 62}, .offset = 0};
  EXPECT_THAT(DecodeError(done).message(), HasSubstr("field shape"));
  done.fields[0] = {.dtype = static_cast<DType>(99), .shape = {1}, .offset = 0};
  EXPECT_THAT(DecodeError(done).message(), HasSubstr("dtype"));
  done.fields[0] = {DType::kU8, {2, -1, -1}, 0, {4, 9, 6, 6}};
  EXPECT_TRUE(DecodeError(done).ok()) << "the rows end at the last byte";
  done.fields[0].row_sizes = {4, 9, 6, 7};
  EXPECT_THAT(DecodeError(done).message(), HasSubstr("field outside"));
  done.fields[0].row_sizes = {4, 9, 6};
  EXPECT_THAT(DecodeError(done).message(), HasSubstr("field shape"));
  done.fields[0].row_sizes = {4, 9, 6, -1};
  EXPECT_THAT(DecodeError(done).message(), HasSubstr("field shape"));
  done.fields.clear();
  done.buffer_offsets = {90};
  EXPECT_THAT(DecodeError(done).message(), HasSubstr("buffer offsets"));
  done.buffer_sizes = {11};
  EXPECT_THAT(DecodeError(done).message(), HasSubstr("buffer outside"));
}

TEST(Plan, EqualPlansHaveEqualBytesAndComeBack) {
  for (std::uint64_t round = 0; round < 300; ++round) {
    SCOPED_TRACE("HEADRACE_TEST_SEED=" + std::to_string(Seed() + round));
    const Plan plan = RandomBody(Seed() + round).MakePlan();
    const Bytes bytes = EncodePlan(plan);
    EXPECT_EQ(bytes, EncodePlan(Plan(plan)));
    const Result<Plan> back = DecodePlan(bytes);
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(*back, plan);
  }
}

// A peer that knows neither inputs nor the kind Value refuses the plan for its fields.
TEST(Plan, AGraphThatAnOlderPeerWouldTakeForAChainIsRefused) {
  using Kind = FieldSpec::Kind;
  const auto refused = [](std::vector<std::int32_t> inputs, FieldSpec field) {
    Plan plan;
    plan.chain = {{.op = "decode"}, {.op = "flip"}, {.op = "gray"}};
    plan.chain[2].inputs = std::move(inputs);
    plan.fields = {field};
    return DecodePlan(EncodePlan(plan)).status().message();
  };
  EXPECT_THAT(refused({}, {Kind::kChain, 0}), IsEmpty());
  EXPECT_THAT(refused({0}, {Kind::kValue, 2}), IsEmpty());
  EXPECT_THAT(refused({0}, {Kind::kChain, 0}), HasSubstr("numbers of nodes"));
  EXPECT_THAT(refused({2}, {Kind::kValue, 2}), HasSubstr("numbers of nodes"));
  EXPECT_THAT(refused({Node::kSource}, {Kind::kValue, 2}), IsEmpty());
  EXPECT_THAT(refused({Node::kSource}, {Kind::kChain, 0}), HasSubstr("numbers of nodes"));
  EXPECT_THAT(refused({-2}, {Kind::kValue, 2}), HasSubstr("numbers of nodes"));
  EXPECT_THAT(refused({1}, {Kind::kValue, 2}), HasSubstr("numbers of nodes"));
  EXPECT_THAT(refused({0}, {Kind::kValue, 3}), HasSubstr("numbers of nodes"));
  EXPECT_THAT(refused({0}, {Kind::kList, 2}), IsEmpty());
  EXPECT_THAT(refused({0}, {Kind::kList, 3}), HasSubstr("numbers of nodes"));
}

TEST(Plan, NegativeZeroKeepsItsSign) {
  Plan plan;
  plan.chain = {{.op = "gain", .args = {{"by", -0.0}}}};
  const Result<Plan> back = DecodePlan(EncodePlan(plan));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(std::signbit(std::get<double>(back->chain[0].args.at("by"))));
}

TEST(Plan, BadNumbersAreRefused) {
  EXPECT_THAT(DecodePlan(EncodePlan(Plan{.lanes = 0})).status().message(), HasSubstr("lanes"));
  Plan plan;
  plan.leaves = {{.rows = -1}};
  EXPECT_THAT(DecodePlan(EncodePlan(plan)).status().message(), HasSubstr("rows"));
  plan.leaves = {{.rows = std::numeric_limits<std::int64_t>::max()}, {.rows = 1}};
  EXPECT_THAT(DecodePlan(EncodePlan(plan)).status().message(), HasSubstr("rows in all"));
  EXPECT_EQ(DecodePlan(AsBytes("hello")).status().code(), Code::kInvalidArgument);
}

TEST(Message, ABatchBehindTheEndOfItsLaneIsRefused) {
  BatchDone done{.samples = 0, .lane_ended = true};
  EXPECT_TRUE(DecodeError(done).ok());
  done.pickle = Bytes(3);
  EXPECT_THAT(DecodeError(done).message(), HasSubstr("after the lane's end"));
  done.pickle.clear();
  done.python_error = Bytes(3);
  EXPECT_THAT(DecodeError(done).message(), HasSubstr("after the lane's end"));
  done = BatchDone{.samples = -2};
  EXPECT_THAT(DecodeError(done).message(), HasSubstr("samples"));
}

}  // namespace
}  // namespace headrace::wire
