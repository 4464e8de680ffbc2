#include "trainer_client/session/batch_sizes.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "trainer_client/session/batch_result.h"

namespace headrace::client {
namespace {

constexpr std::uint64_t kHint = 1 << 20;

PlannedBatch Of(std::size_t samples) {
  PlannedBatch planned;
  planned.keys.resize(samples);
  return planned;
}

TEST(BatchSizes, OfPythonCodeTheLargestAnswerIsLearnt) {
  Plan plan;
  plan.has_python_stage = true;
  BatchSizes sizes(plan, {}, kHint);
  EXPECT_EQ(sizes.Estimate(Of(2)), kHint);
  sizes.Learn(20'000, 2);
  sizes.Learn(10, 1);
  EXPECT_GE(sizes.Estimate(Of(2)), 20'000U);
  EXPECT_LT(sizes.Estimate(Of(2)), 30'000U);
  EXPECT_GE(sizes.Estimate(Of(4)), 40'000U);
}

TEST(BatchSizes, OfANativePlanTheOutputTells) {
  Plan plan;
  plan.chain.emplace_back();
  plan.fields.emplace_back();
  const BatchSizes unknown(plan, std::nullopt, kHint);
  EXPECT_GE(unknown.Estimate(Of(2)), kHint);
  const TensorSpec output{DType::kU8, Layout::kHwc, {8, 8, 3}};
  BatchSizes sizes(plan, output, kHint);
  EXPECT_EQ(sizes.Estimate(Of(2)), BatchBytes(plan, 2, output));
  PlannedBatch drawn = Of(2);
  drawn.output = TensorSpec{DType::kU8, Layout::kHwc, {800, 8, 3}};
  EXPECT_EQ(sizes.Estimate(drawn), BatchBytes(plan, 2, drawn.output));
  sizes.Learn(kHint, 1);
  EXPECT_GE(sizes.Estimate(Of(2)), 2 * kHint) << "a worker said that it takes more";
}

}  // namespace
}  // namespace headrace::client
