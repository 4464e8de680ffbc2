#include "ops/torch/torch_exp.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::ops {
namespace {

constexpr ExpRange kSmall{-0.25F, 0.25F, TorchGenerator::Rounding::kFused};

TEST(TorchExp, ExpFloatIsExpRounded) {
  for (int i = -80000; i <= 80000; ++i) {
    const float x = static_cast<float>(i) * 0.001F;
    const float expected = static_cast<float>(std::exp(static_cast<double>(x)));
    EXPECT_EQ(ExpFloat(x), expected) << x;
    if (ExpFloat(x) != expected) break;
  }
}

TEST(TorchExp, TableHoldsExactlyTheExceptions) {
  // A function that is one ulp off if the input's lowest bits are 100.
  const auto off = [](float x) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof(bits));
    return (bits & 7) == 4;
  };
  const auto wrong = [&](float x) {
    return off(x) ? std::nextafter(ExpFloat(x), 9.F) : ExpFloat(x);
  };
  Result<Bytes> bytes = BuildTorchExpTable(std::span(&kSmall, 1),
                                           [&](std::span<const float> in, std::span<float> out) {
                                             for (std::size_t i = 0; i < in.size(); ++i)
                                               out[i] = wrong(in[i]);
                                             return Status::Ok();
                                           });
  ASSERT_TRUE(bytes.ok());
  auto table = TorchExpTable::Parse(*bytes);
  ASSERT_TRUE(table.ok());
  EXPECT_GT((*table)->size(), 1U << 19);
  EXPECT_TRUE((*table)->Covers(kSmall));
  EXPECT_FALSE((*table)->Covers({-0.25F, 0.3F, TorchGenerator::Rounding::kFused}));
  TorchGenerator rng(1);
  for (int i = 0; i < 10000; ++i) {
    const float x = rng.Uniform(kSmall.low, kSmall.high);
    ASSERT_EQ((**table)(x), wrong(x));
  }
}

TEST(TorchExp, ErrorsOfTheCallbackAndBadRangesComeBack) {
  const auto fail = [](std::span<const float>, std::span<float>) { return Internal("no torch"); };
  EXPECT_EQ(BuildTorchExpTable(std::span(&kSmall, 1), fail).status(), Internal("no torch"));
  const ExpRange wide{-100, 0, TorchGenerator::Rounding::kFused};
  EXPECT_EQ(BuildTorchExpTable(std::span(&wide, 1), fail).status().code(), Code::kInvalidArgument);
}

Bytes TableWith(float output) {
  return *BuildTorchExpTable(std::span(&kSmall, 1),
                             [&](std::span<const float> in, std::span<float> out) {
                               for (std::size_t i = 0; i < in.size(); ++i) {
                                 out[i] = in[i] == kSmall.low ? output : ExpFloat(in[i]);
                               }
                               return Status::Ok();
                             });
}

TEST(TorchExp, EqualConstantsAreOneTable) {
  const auto zero = *TorchExpTable::Parse(TableWith(0.F));
  EXPECT_EQ(zero->size(), 1U);
  EXPECT_EQ(*TorchExpTable::Parse(TableWith(0.F)), zero);
  const auto negative = *TorchExpTable::Parse(TableWith(-0.F));
  EXPECT_NE(negative, zero);
  EXPECT_TRUE(std::signbit((*negative)(kSmall.low)));
}

TEST(TorchExp, DamagedTableIsDataLoss) {
  const Bytes bytes = *BuildTorchExpTable({}, nullptr);
  EXPECT_TRUE(TorchExpTable::Parse(bytes).ok());
  EXPECT_EQ(TorchExpTable::Parse(ByteSpan(bytes).first(8)).status().code(), Code::kDataLoss);
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_EQ(TorchExpTable::Parse(longer).status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace headrace::ops
