#include "trainer_client/draws/batch_draws.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::client {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kRaisingWidth = 13;  // the framework raises on it

// As many draws as the image is high; the last one is the parameter.
Status Draw(const TensorSpec& in, ops::Generators& rng, ops::MutableParams params,
            std::vector<TensorSpec>* values) {
  for (std::int64_t i = 0; i < in.dims[0]; ++i)
    params[0] = static_cast<std::int32_t>(rng.torch.Next());
  if (in.dims[1] == kRaisingWidth) return InvalidArgument("too small");
  *values = {in, in};
  return Status::Ok();
}

TensorSpec Spec(std::int64_t height, std::int64_t width = 5) {
  return {DType::kU8, Layout::kHwc, {height, width, 3}};
}

class BatchDrawsTest : public testing::Test {
 protected:
  void Begin(std::size_t samples) { draws_.Begin(generator_, samples, 1); }

  BatchDraws draws_;
  ops::Generators generator_{7};
};

TEST_F(BatchDrawsTest, EachSampleDrawsAfterTheOneBefore) {
  EXPECT_FALSE(draws_.begun());
  Begin(2);
  EXPECT_TRUE(draws_.begun());
  EXPECT_TRUE(draws_.Draw(Spec(2), Draw, generator_));
  EXPECT_EQ(draws_.next(), 1U);
  EXPECT_TRUE(draws_.Draw(Spec(3), Draw, generator_));
  EXPECT_EQ(draws_.next(), 2U);
  EXPECT_THAT(draws_.specs(), ElementsAre(Spec(2), Spec(3)));
  EXPECT_THAT(draws_.values(), ElementsAre(Spec(3), Spec(3)));
  EXPECT_EQ(draws_.Before(0, Draw).torch.draws(), 0U);
  EXPECT_EQ(draws_.Before(1, Draw).torch.draws(), 2U);
  EXPECT_EQ(draws_.Before(2, Draw).torch.draws(), 5U);
  ops::TorchGenerator stock(7);
  (void)stock.Next();
  EXPECT_EQ(draws_.TakeParams()[0], static_cast<std::int32_t>(stock.Next()));
}

TEST_F(BatchDrawsTest, WhereTheFrameworkRaisesNothingIsDrawn) {
  Begin(2);
  EXPECT_TRUE(draws_.Draw(Spec(2), Draw, generator_));
  EXPECT_FALSE(draws_.Draw(Spec(4, kRaisingWidth), Draw, generator_));
  EXPECT_EQ(draws_.next(), 1U);
  EXPECT_EQ(generator_.torch.draws(), 2U);
  EXPECT_THAT(draws_.specs(), ElementsAre(Spec(2), std::nullopt));
}

TEST_F(BatchDrawsTest, AfterASampleOfTheTrainerItsStateCounts) {
  Begin(3);
  EXPECT_TRUE(draws_.Draw(Spec(2), Draw, generator_));
  generator_.torch.Discard(100);
  draws_.Resolve(generator_, false);
  EXPECT_TRUE(draws_.Draw(Spec(1), Draw, generator_));
  EXPECT_EQ(draws_.end(), -1);
  EXPECT_EQ(draws_.resolved().at(0).position, 1);
  EXPECT_EQ(draws_.Before(1, Draw).torch.draws(), 2U);
  EXPECT_EQ(draws_.Before(2, Draw).torch.draws(), 102U);
  EXPECT_EQ(draws_.Before(3, Draw).torch.draws(), 103U);
}

// A draw may take as long as a picture has pixels.
TEST_F(BatchDrawsTest, QuestionsInOrderDrawEachSampleOnce) {
  constexpr std::int32_t kSamples = 40;
  Begin(kSamples);
  for (std::int32_t i = 0; i < kSamples; ++i) {
    ASSERT_TRUE(draws_.Draw(Spec(i + 1), Draw, generator_));
  }
  int drawn = 0;
  const auto counted = [&](const TensorSpec& in, ops::Generators& rng, ops::MutableParams params,
                           std::vector<TensorSpec>* values) {
    ++drawn;
    return Draw(in, rng, params, values);
  };
  std::uint64_t expected = 0;
  for (std::int32_t i = 0; i < kSamples; ++i) {
    EXPECT_EQ(draws_.Before(i, counted).torch.draws(), expected);
    expected += static_cast<std::uint64_t>(i) + 1;
    EXPECT_EQ(draws_.Before(i + 1, counted).torch.draws(), expected);
  }
  EXPECT_EQ(drawn, kSamples);
  EXPECT_EQ(draws_.Before(1, counted).torch.draws(), 1U) << "an earlier one";
}

TEST_F(BatchDrawsTest, NothingAfterASampleThatRaisedIsDrawn) {
  Begin(3);
  EXPECT_TRUE(draws_.Draw(Spec(2), Draw, generator_));
  draws_.Resolve(generator_, true);
  EXPECT_EQ(draws_.end(), 1);
  EXPECT_EQ(draws_.next(), 3U);
  draws_.Clear();
  EXPECT_FALSE(draws_.begun());
  EXPECT_EQ(draws_.next(), 0U);
  EXPECT_EQ(draws_.end(), -1);
  EXPECT_TRUE(draws_.resolved().empty());
}

}  // namespace
}  // namespace headrace::client
