#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/core/test_util.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

// Channel c's table adds c + 1 to what it wraps around at 256.
std::vector<std::int64_t> Table(int channels) {
  std::vector<std::int64_t> table;
  for (int c = 0; c < channels; ++c) {
    for (int v = 0; v < 256; ++v) table.push_back((v + c + 1) % 256);
  }
  return table;
}

Node By(std::vector<std::int64_t> table) {
  return MakeNode("map_values", {{"table", std::move(table)}});
}

TEST(MapValues, EachChannelHasItsTableOrAllHaveOne) {
  EXPECT_THAT(RunPixels({By(Table(3))}, RgbSpec(1, 2), {0, 0, 0, 255, 254, 253}).values,
              ElementsAre(1, 2, 3, 0, 0, 0));
  EXPECT_THAT(RunPixels({By(Table(1))}, GraySpec(1, 2), {7, 255}).values, ElementsAre(8, 0));
  EXPECT_THAT(RunPixels({By(Table(1))}, RgbSpec(1, 1), {7, 8, 9}).values, ElementsAre(8, 9, 10));
}

TEST(MapValues, OnlyWhatACropShows) {
  const Node crop = MakeNode("center_crop", {{"size", std::int64_t{1}}});
  EXPECT_THAT(RunPixels({By(Table(1)), crop}, GraySpec(3, 3), {1, 2, 3, 4, 5, 6, 7, 8, 9}).values,
              ElementsAre(6));
}

TEST(MapValues, RefusesWhatIsNoTable) {
  const auto code = [](const Node& node) { return CompileRgb({node}).status().code(); };
  EXPECT_EQ(code(By(Table(3))), Code::kOk);
  EXPECT_EQ(code(By(Table(2))), Code::kInvalidArgument);
  for (const std::int64_t wrong : {-1, 256}) {
    std::vector<std::int64_t> table = Table(3);
    table[767] = wrong;
    EXPECT_EQ(code(By(table)), Code::kUnsupported);
  }
}

}  // namespace
}  // namespace headrace::ops::testing
