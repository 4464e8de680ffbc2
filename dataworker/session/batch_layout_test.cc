#include "dataworker/session/batch_layout.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kBatch = 3;

TensorSpec Picture(std::int64_t height, std::int64_t width) {
  return {DType::kF32, Layout::kChw, {3, height, width}};
}

class BatchLayoutTest : public ::testing::Test {
 protected:
  Result<BatchLayout> Make(std::vector<std::vector<TensorSpec>> each, bool before_tail = false) {
    return BatchLayout::Make(fields_, kBatch, BatchValues(std::move(each)), before_tail);
  }
  const Source::Column label_{DType::kI64, {}, 8};
  std::vector<BatchLayout::Field> fields_{{.value = 0, .list = true}, {.column = &label_}};
};

TEST_F(BatchLayoutTest, EachSampleOfAListHasItsPlace) {
  const auto layout = Make({{Picture(5, 7)}, {}, {Picture(2, 2)}});
  ASSERT_TRUE(layout.ok()) << layout.status().ToString();
  EXPECT_THAT(layout->fields()[0].shape, ElementsAre(3, -1, -1, -1));
  EXPECT_THAT(layout->fields()[0].row_sizes, ElementsAre(3, 5, 7, 0, 0, 0, 3, 2, 2));
  EXPECT_EQ(layout->At(0, 0).bytes, 420U);
  EXPECT_EQ(layout->At(0, 1).bytes, 0U) << "not made: no memory";
  EXPECT_EQ(layout->At(0, 2).offset, 448U);
  EXPECT_EQ(layout->At(0, 2).bytes, 48U);
  EXPECT_THAT(layout->fields()[1].shape, ElementsAre(3));
  EXPECT_EQ(layout->fields()[1].offset, 512U);
  EXPECT_EQ(layout->At(1, 2).offset, 528U);
  EXPECT_EQ(layout->bytes(), 536U);
}

TEST_F(BatchLayoutTest, AStackBesideAListNeedsOneShape) {
  fields_.push_back({.value = 1});
  const auto layout = Make({{Picture(5, 7), Picture(4, 4)}, {}, {Picture(2, 2), Picture(4, 4)}});
  ASSERT_TRUE(layout.ok()) << layout.status().ToString();
  EXPECT_THAT(layout->fields()[2].shape, ElementsAre(3, 3, 4, 4));
  EXPECT_EQ(layout->At(2, 1).bytes, 192U) << "the trainer writes it there";
  EXPECT_EQ(
      Make({{Picture(5, 7), Picture(4, 4)}, {}, {Picture(2, 2), Picture(4, 5)}}).status().code(),
      Code::kUnsupported);
}

TEST_F(BatchLayoutTest, SamplesThatAreAlikeAreSaidOnce) {
  fields_ = {{.value = 0, .list = true}, {.value = 0}};
  const auto layout =
      BatchLayout::Make(fields_, kBatch, BatchValues(std::vector{Picture(5, 7)}), false);
  ASSERT_TRUE(layout.ok()) << layout.status().ToString();
  EXPECT_THAT(layout->fields()[0].row_sizes, ElementsAre(3, 5, 7, 3, 5, 7, 3, 5, 7));
  EXPECT_EQ(layout->At(0, 2).offset, 896U);
  EXPECT_EQ(layout->At(1, 2).offset, layout->fields()[1].offset + 840) << "a stack is dense";
}

TEST_F(BatchLayoutTest, ValuesBeforeTheTailAreBytes) {
  fields_ = {{.value = 0}, {.column = &label_}};
  const auto layout =
      BatchLayout::Make(fields_, kBatch, BatchValues(std::vector{Picture(5, 7)}), true);
  ASSERT_TRUE(layout.ok()) << layout.status().ToString();
  EXPECT_EQ(layout->fields()[0].dtype, DType::kU8);
  EXPECT_EQ(layout->At(0, 1).bytes, 105U);
  EXPECT_EQ(layout->fields()[1].dtype, DType::kI64);
}

TEST_F(BatchLayoutTest, ABatchBeyondAnyMemoryIsRefused) {
  const auto layout = Make({{Picture(1 << 20, 1 << 18)}, {}, {}});
  EXPECT_EQ(layout.status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::dataworker
