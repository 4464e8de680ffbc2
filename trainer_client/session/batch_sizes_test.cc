#include "trainer_client/session/batch_sizes.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "trainer_client/session/batch_result.h"

namespace headrace::client {
namespace {

constexpr std::uint64_t kHint = 1 << 20;

PlannedBatch BatchOf(std::size_t samples) {
  PlannedBatch planned;
  planned.keys.resize(samples);
  return planned;
}

TEST(BatchSizes, OfPythonCodeTheLargestAnswerIsLearnt) {
  Plan plan;
  plan.has_python_stage = true;
  BatchSizes sizes(plan, {}, kHint);
  EXPECT_EQ(sizes.Estimate(BatchOf(2)), kHint);
  sizes.Learn(20'000, 2);
  sizes.Learn(10, 1);
  EXPECT_GE(sizes.Estimate(BatchOf(2)), 20'000U);
  EXPECT_LT(sizes.Estimate(BatchOf(2)), 30'000U);
  EXPECT_GE(sizes.Estimate(BatchOf(4)), 40'000U);
}

TEST(BatchSizes, OfANativePlanTheOutputTells) {
  Plan plan;
  plan.chain.emplace_back();
  plan.fields.emplace_back();
  const BatchSizes unknown(plan, {}, kHint);
  EXPECT_GE(unknown.Estimate(BatchOf(2)), kHint);
  const std::vector<TensorSpec> values{{DType::kU8, Layout::kHwc, {8, 8, 3}}};
  BatchSizes sizes(plan, values, kHint);
  EXPECT_EQ(sizes.Estimate(BatchOf(2)), BatchBytes(plan, 2, values));
  PlannedBatch drawn = BatchOf(2);
  drawn.values = {TensorSpec{DType::kU8, Layout::kHwc, {800, 8, 3}}};
  EXPECT_EQ(sizes.Estimate(drawn), BatchBytes(plan, 2, drawn.values));
  sizes.Learn(kHint, 1);
  EXPECT_GE(sizes.Estimate(BatchOf(2)), 2 * kHint) << "a worker said that it takes more";
}

TEST(BatchSizes, EachValueHasItsOwnSize) {
  Plan plan;
  plan.chain.resize(3);
  plan.chain[2].inputs = {0};
  plan.fields = {{FieldSpec::Kind::kValue, 2},
                 {FieldSpec::Kind::kArray, 1},
                 {FieldSpec::Kind::kValue, 1},
                 {FieldSpec::Kind::kValue, 2}};
  // In the order in which the fields name them.
  const std::vector<TensorSpec> values{{DType::kU8, Layout::kPlain, {64}},
                                       {DType::kF32, Layout::kPlain, {100}}};
  EXPECT_EQ(BatchBytes(plan, 2, values), 128U + 64 + 832 + 128);
  EXPECT_EQ(BatchBytes(plan, 2, {}), 64U);
  plan.fields[2].kind = FieldSpec::Kind::kList;
  EXPECT_EQ(BatchBytes(plan, 2, values), 128U + 64 + 2 * 448 + 128) << "each row is aligned";
}

}  // namespace
}  // namespace headrace::client
