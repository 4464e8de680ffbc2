#include "dataworker/source/columns/elements.h"

#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::ElementsAre;

template <typename Out>
std::vector<Out> Converted(std::string_view text, DType made, const std::vector<int>& bytes) {
  const Result<Elements> elements = Elements::Make(text, made);
  EXPECT_TRUE(elements.ok()) << elements.status().ToString();
  Bytes from(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) from[i] = static_cast<std::byte>(bytes[i]);
  std::vector<Out> to(bytes.size() / elements->bytes());
  elements->Convert(from, std::as_writable_bytes(std::span(to)));
  return to;
}

TEST(Elements, AreWidenedWithTheirSign) {
  EXPECT_THAT(Converted<std::int64_t>("<u2", DType::kI64, {0xFF, 0xFF, 0x01, 0x02}),
              ElementsAre(65535, 0x0201));
  EXPECT_THAT(Converted<std::int64_t>("<i2", DType::kI64, {0xFF, 0xFF, 0x01, 0x02}),
              ElementsAre(-1, 0x0201));
}

TEST(Elements, OfBigEndianFilesAreTurnedAround) {
  EXPECT_THAT(Converted<std::int64_t>(">u2", DType::kI64, {0x01, 0x02}), ElementsAre(0x0102));
  EXPECT_THAT(Converted<float>(">f4", DType::kF32, {0x3F, 0x80, 0, 0}), ElementsAre(1.0F));
}

TEST(Elements, LoseTheirUpperBitsAsInNumPy) {
  EXPECT_THAT(Converted<std::int8_t>("<i4", DType::kI8, {0xFE, 0x01, 0, 0}), ElementsAre(-2));
  EXPECT_THAT(Converted<float>("|u1", DType::kF32, {0, 255}), ElementsAre(0.0F, 255.0F));
}

TEST(Elements, KeepTheBitsOfASignallingNaN) {
  EXPECT_THAT(Converted<std::uint32_t>(">f4", DType::kF32, {0x7F, 0xA0, 0x00, 0x01}),
              ElementsAre(0x7FA00001U));
}

TEST(Elements, OtherTypesAndConversionsAreRefused) {
  for (const char* text : {"<c8", "|b1", "<f4", "<f2", "<U4", "u2", "=i8", "<", "<i16", "<u3"}) {
    EXPECT_EQ(Elements::Make(text, DType::kI64).status().code(), Code::kUnsupported) << text;
  }
  EXPECT_EQ(Elements::Make("|u1", DType::kBool).status().code(), Code::kUnsupported);
  EXPECT_EQ(Elements::Make("", static_cast<DType>(77)).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(Elements::Make("|b1", DType::kBool)->same());
  EXPECT_TRUE(Elements::Make("", DType::kBF16)->same());
}

}  // namespace
}  // namespace headrace::dataworker
