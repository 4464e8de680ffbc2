#include "base/tensor_spec.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(TensorSpecTest, AScalarHasOneElementAndNoDims) {
  const TensorSpec scalar{.dtype = DType::kI64};
  EXPECT_TRUE(scalar.known());
  EXPECT_EQ(scalar.bytes(), 8u);
  EXPECT_EQ(scalar.ToString(), "int64[]");
}

TEST(TensorSpecTest, AnySizeIsNotKnown) {
  const TensorSpec images{DType::kU8, Layout::kHwc, {Dims::kAny, Dims::kAny, 3}};
  EXPECT_FALSE(images.known());
  EXPECT_EQ(images.ToString(), "uint8[?, ?, 3]");
}

TEST(TensorSpecTest, CountsTheBytesOfEveryElement) {
  const TensorSpec clip{DType::kF16, Layout::kPlain, {2, 3, 4, 5, 6}};
  EXPECT_EQ(clip.bytes(), 2u * 2 * 3 * 4 * 5 * 6);
  EXPECT_EQ((TensorSpec{DType::kF32, Layout::kPlain, {4, 0}}).bytes(), 0u);
}

TEST(TensorSpecTest, EqualMeansTypeLayoutAndEverySize) {
  const TensorSpec spec{DType::kU8, Layout::kHwc, {2, 3, 1}};
  EXPECT_EQ(spec, (TensorSpec{DType::kU8, Layout::kHwc, {2, 3, 1}}));
  EXPECT_NE(spec, (TensorSpec{DType::kI8, Layout::kHwc, {2, 3, 1}}));
  EXPECT_NE(spec, (TensorSpec{DType::kU8, Layout::kChw, {2, 3, 1}}));
  EXPECT_NE(spec, (TensorSpec{DType::kU8, Layout::kHwc, {2, 3}}));
  EXPECT_NE(spec, (TensorSpec{DType::kU8, Layout::kHwc, {3, 2, 1}}));
}

}  // namespace
}  // namespace headrace
