#include "ops/vision/tensor/tensor_mean.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "ops/vision/schema_util.h"

// tests/python/ops compares with torch.
namespace headrace::ops {
namespace {

float SumOf(const std::vector<std::uint8_t>& values, std::size_t piece) {
  TensorSum sum(values.size());
  for (std::size_t at = 0; at < values.size(); at += piece) {
    sum.Add(values.data() + at, std::min(piece, values.size() - at));
  }
  return sum.Total();
}

TEST(TensorSum, OfFewNumbersIsExactHoweverTheyCome) {
  std::mt19937 random(1);
  for (std::size_t count = 1; count < 300; ++count) {
    std::vector<std::uint8_t> values(count);
    float exact = 0;
    for (std::uint8_t& value : values) {
      value = static_cast<std::uint8_t>(random());
      exact += static_cast<float>(value);
    }
    for (const std::size_t piece : {1U, 7U, 32U, 45U, 300U}) EXPECT_EQ(SumOf(values, piece), exact);
  }
}

TEST(TensorSum, OfTheMostNumbersRoundsNoEarlierThanItSays) {
  // 32 sums of 16777215; the eight lanes are the even 4 * 16777216 then, the sum 8 times as much.
  const std::vector<std::uint8_t> values(static_cast<std::size_t>(kMostPixelsOfMean), 255);
  EXPECT_EQ(SumOf(values, 1000), 32.0F * 16777216.0F - 32.0F);
}

}  // namespace
}  // namespace headrace::ops
