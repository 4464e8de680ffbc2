#include "ops/elastic_transform/elastic_transform.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

// tests/python/ops compares it with torchvision.
namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

Node Elastic(Args more = {}) {
  Args args{{"alpha", std::vector<double>{0, 0}}, {"known_sums", std::int64_t{1}}};
  args.merge(more);
  return MakeNode("elastic_transform", std::move(args));
}

TEST(ElasticTransform, DrawsTwoNumbersForEachPixelAndKeepsTheStateBefore) {
  TorchGenerator rng(1);
  rng.Discard(630);
  const Mt19937 before = rng.engine();
  const auto params = DrawNode(Elastic(), GraySpec(4, 5), rng);
  ASSERT_TRUE(params.ok()) << params.status().ToString();
  EXPECT_EQ(rng.draws(), 630U + 40U);
  const auto read = ElasticTransformSchema::Read(*params);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->words(), before.words());
  EXPECT_EQ(read->next(), before.next());
}

TEST(ElasticTransform, WithoutStrengthPixelsStay) {
  TorchGenerator rng(1);
  const auto params = DrawNode(Elastic(), GraySpec(1, 4), rng);
  ASSERT_TRUE(params.ok());
  EXPECT_THAT(RunPixels({Elastic()}, GraySpec(1, 4), {10, 20, 30, 40}, *params).values,
              ElementsAre(10, 20, 30, 40));
}

TEST(ElasticTransform, RefusesAStateThatNoDrawMakes) {
  for (const std::int32_t next : {-1, 625}) {
    std::vector<std::int32_t> params(625);
    params.back() = next;
    EXPECT_EQ(RunPixels({Elastic()}, GraySpec(1, 1), {1}, params).status.code(),
              Code::kInvalidArgument);
  }
}

TEST(ElasticTransform, RefusesWhatNoClientSends) {
  const auto code = [](Args more) {
    const std::vector<std::int32_t> params(625);
    return RunPixels({Elastic(std::move(more))}, GraySpec(9, 9), std::vector<std::uint8_t>(81),
                     params)
        .status.code();
  };
  using Numbers = std::vector<double>;
  const auto blur = [](Numbers columns, Numbers rows) {
    return Args{{"across_columns", std::move(columns)}, {"across_rows", std::move(rows)}};
  };
  EXPECT_EQ(code({}), Code::kOk);
  EXPECT_EQ(code(blur({0.25, 0.25, 0, 0.25, 0.25}, {0, 0, 1, 0, 0})), Code::kOk);
  EXPECT_EQ(code(blur({0.5, 0.5}, {1})), Code::kInvalidArgument);
  EXPECT_EQ(code(blur({1, 1, 1}, {1})), Code::kInvalidArgument);
  EXPECT_EQ(code(blur({-1, 0, 1}, {1})), Code::kInvalidArgument);
  EXPECT_EQ(code({{"across_columns", Numbers{1}}}), Code::kInvalidArgument);
  EXPECT_EQ(code(blur(Numbers(257, 0.001), {1})), Code::kUnsupported);
  EXPECT_EQ(code(blur({0.2, 0.6, 0.2}, {1})), Code::kUnsupported);  // a product of matrices
  EXPECT_EQ(code({{"interpolation", std::string("bicubic")}}), Code::kUnsupported);
}

TEST(ElasticTransform, IsNotNativeWhereTorchHasOtherBits) {
  const Node unknown = MakeNode("elastic_transform", {{"alpha", std::vector<double>{1, 1}}});
  EXPECT_EQ(RunPixels({unknown}, GraySpec(1, 1), {1}, std::vector<std::int32_t>(625)).status.code(),
            Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
