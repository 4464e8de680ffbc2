#include "ops/vision/geometry/border.h"

#include <vector>

#include "gtest/gtest.h"

namespace headrace::ops {
namespace {

std::vector<std::int64_t> Sources(std::int64_t side, std::int64_t border, PaddingMode mode) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = -border; i < side + border; ++i) {
    found.push_back(BorderSource(i, side, mode));
  }
  return found;
}

TEST(Border, SourcesAreThoseOfNumpyPad) {
  using Positions = std::vector<std::int64_t>;
  EXPECT_EQ(Sources(4, 2, PaddingMode::kReflect), (Positions{2, 1, 0, 1, 2, 3, 2, 1}));
  EXPECT_EQ(Sources(4, 2, PaddingMode::kSymmetric), (Positions{1, 0, 0, 1, 2, 3, 3, 2}));
  EXPECT_EQ(Sources(4, 2, PaddingMode::kEdge), (Positions{0, 0, 0, 1, 2, 3, 3, 3}));
}

TEST(Border, MoreThanOneReflectionIsUnsupported) {
  EXPECT_TRUE(CheckBorder(4, 3, 3, PaddingMode::kReflect).ok());
  EXPECT_EQ(CheckBorder(4, 0, 4, PaddingMode::kReflect).code(), Code::kUnsupported);
  EXPECT_TRUE(CheckBorder(4, 4, 4, PaddingMode::kSymmetric).ok());
  EXPECT_EQ(CheckBorder(4, 5, 0, PaddingMode::kSymmetric).code(), Code::kUnsupported);
  EXPECT_TRUE(CheckBorder(1, 0, 0, PaddingMode::kReflect).ok());
  EXPECT_TRUE(CheckBorder(1, 99, 99, PaddingMode::kEdge).ok());
}

TEST(Border, StepsAppliedOneAfterTheOtherReflectWhatTheFirstMade) {
  const std::vector<std::uint8_t> row{10, 20, 30};
  const Image in{row.data(), 3, 1, {1, 3, 1, DType::kU8, Layout::kHwc}, {0, 0, 1, 3}};
  const Padding steps[] = {{2, 0, 2, 0}, {3, 0, 3, 0}};
  Image out;
  out.spec = {1, 13, 1, DType::kU8, Layout::kHwc};
  OpContext context;
  ScratchBuffer memory;
  PadAndCrop(in, steps, PaddingMode::kReflect, {0, 0, 1, 13}, context, memory, &out);
  // 30 20 10 20 30 20 10 after the first step.
  EXPECT_EQ(std::vector<std::uint8_t>(out.data, out.data + 13),
            (std::vector<std::uint8_t>{20, 10, 20, 30, 20, 10, 20, 30, 20, 10, 20, 30, 20}));
}

}  // namespace
}  // namespace headrace::ops
