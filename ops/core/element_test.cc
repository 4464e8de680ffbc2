#include "ops/core/element.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace headrace::ops {
namespace {

TEST(Element, HalfRoundsToEven) {
  EXPECT_EQ(RoundTo(DType::kF16, 1 + 0x1p-11), 1);
  EXPECT_EQ(RoundTo(DType::kF16, 1 + 0x3p-11), 1 + 0x2p-10);
  EXPECT_EQ(RoundTo(DType::kF16, 65519.996), 65504);
  EXPECT_EQ(RoundTo(DType::kF16, -65520), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(RoundTo(DType::kF16, 0x1p-25), 0);
  EXPECT_EQ(RoundTo(DType::kF16, 0x1.8p-24), 0x1p-23);
}

TEST(Element, HalfBits) {
  EXPECT_EQ(ElementBits(DType::kF16, 1), 0x3c00U);
  EXPECT_EQ(ElementBits(DType::kF16, -2), 0xc000U);
  EXPECT_EQ(ElementBits(DType::kF16, 65504), 0x7bffU);
  EXPECT_EQ(ElementBits(DType::kF16, 0x1p-14), 0x0400U);
  EXPECT_EQ(ElementBits(DType::kF16, 0x3ffp-24), 0x03ffU);
  EXPECT_EQ(ElementBits(DType::kF16, -0.0), 0x8000U);
  EXPECT_EQ(ElementBits(DType::kF16, std::numeric_limits<double>::infinity()), 0x7c00U);
}

TEST(Element, EveryHalfIsItsOwnRounding) {
  for (std::uint64_t bits = 0; bits < 0x7c00; ++bits) {
    const auto exponent = static_cast<int>(bits >> 10);
    const auto low = static_cast<double>(bits & 1023);
    const double value = exponent == 0 ? low * 0x1p-24 : std::scalbn(1024 + low, exponent - 25);
    ASSERT_EQ(RoundTo(DType::kF16, value), value);
    ASSERT_EQ(ElementBits(DType::kF16, value), bits);
  }
}

TEST(Element, OtherTypes) {
  EXPECT_EQ(RoundTo(DType::kBF16, 1 + 0x1p-8), 1);
  EXPECT_EQ(RoundTo(DType::kBF16, 1 + 0x3p-8), 1 + 0x2p-7);
  EXPECT_EQ(ElementAs<std::uint16_t>(DType::kBF16, 1), 0x3f80U);
  EXPECT_EQ(RoundTo(DType::kF32, 0.1), static_cast<double>(0.1F));
  EXPECT_EQ(ElementAs<float>(DType::kF32, 0.5), 0.5F);
  EXPECT_EQ(RoundTo(DType::kF64, 0.1), 0.1);
  EXPECT_EQ(ElementAs<double>(DType::kF64, 0.1), 0.1);
  EXPECT_EQ(ElementAs<std::int8_t>(DType::kI8, -3), -3);
  EXPECT_EQ(ElementAs<std::int64_t>(DType::kI64, 0x1.fep62), std::int64_t{255} << 55);
}

}  // namespace
}  // namespace headrace::ops
