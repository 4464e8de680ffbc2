#include "ops/core/numpy_generator.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::ops {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint32_t> Chosen(NumpyGenerator& rng, std::uint32_t n, std::size_t count) {
  std::vector<std::uint32_t> out(count);
  rng.Choose(n, out);
  return out;
}

std::vector<std::uint32_t> Weighted(NumpyGenerator& rng, const std::vector<double>& weights,
                                    std::size_t count) {
  std::vector<std::uint32_t> out(count);
  rng.ChooseWeighted(weights, out);
  return out;
}

// The numbers are NumPy's: tests/python/ops/test_numpy_generator.py compares many more.
TEST(NumpyGenerator, ChoosesAsNumpy) {
  NumpyGenerator rng(7);
  EXPECT_THAT(Chosen(rng, 15, 6), ElementsAre(4, 9, 6, 3, 3, 7));
  EXPECT_THAT(Chosen(rng, 15, 6), ElementsAre(7, 12, 9, 14, 7, 8));
  const std::uint64_t drawn = rng.draws();
  EXPECT_THAT(Chosen(rng, 1, 2), ElementsAre(0, 0));
  EXPECT_EQ(rng.draws(), drawn);  // nothing is drawn for one
}

TEST(NumpyGenerator, ChoosesByWeightsWithoutReplacement) {
  const std::vector<double> weights = {3 / 8.25, 2 / 8.25, 2 / 8.25, 1 / 8.25, .25 / 8.25};
  NumpyGenerator rng(7);
  EXPECT_THAT(Weighted(rng, weights, 3), ElementsAre(0, 2, 1));
  EXPECT_THAT(Weighted(rng, weights, 3), ElementsAre(2, 4, 1));
  EXPECT_THAT(Weighted(rng, weights, 3), ElementsAre(1, 0, 2));
  EXPECT_THAT(Weighted(rng, weights, 3), ElementsAre(2, 1, 0));
}

TEST(NumpyGenerator, WorkersAreSeededAsTorchDoes) {
  NumpyGenerator rng = NumpyGenerator::OfWorker(1234567890123, 3);
  const Bytes state = rng.State();
  EXPECT_NE(state, NumpyGenerator::OfWorker(1234567890123, 2).State());
  EXPECT_NE(state, NumpyGenerator::OfWorker(1234567890124, 3).State());
  // The first output of RandomState(_generate_state(1234567890123, 3)), in its low 4 bits.
  EXPECT_THAT(Chosen(rng, 16, 1), ElementsAre(15));
}

TEST(NumpyGenerator, APositionLeadsThereAgain) {
  const NumpyGenerator begin(11);
  NumpyGenerator rng = begin;
  (void)Chosen(rng, 15, 1000);
  EXPECT_EQ(begin.At(rng.position()).State(), rng.State());
  NumpyGenerator other(3);
  ASSERT_TRUE(other.SetState(rng.State()).ok());
  EXPECT_FALSE(other.resumable());
  EXPECT_EQ(Chosen(other, 15, 20), Chosen(rng, 15, 20));
}

}  // namespace
}  // namespace headrace::ops
