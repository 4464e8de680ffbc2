#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

TEST(ChannelsLast, KeepsThePictureOrderOfBytes) {
  const Ran ran = RunPixels({MakeNode("pil_to_tensor"), MakeNode("channels_last")}, RgbSpec(2, 2),
                            {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(ran.spec, (TensorSpec{DType::kU8, Layout::kHwc, {2, 2, 3}}));
  EXPECT_THAT(ran.values, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
}

// What is folded into the pass is the same as with channels first: maps, flips, filled borders.
TEST(ChannelsLast, HasTheElementsOfTheTensor) {
  const std::vector<std::vector<Node>> chains = {
      {MakeNode("to_tensor")},
      {MakeNode("pil_to_tensor"),
       MakeNode("to_dtype", {{"dtype", std::string("float32")},
                             {"scale", std::int64_t{1}},
                             {"api", std::int64_t{2}}}),
       MakeNode("normalize",
                {{"mean", std::vector{0.1, 0.2, 0.3}}, {"std", std::vector{0.5, 0.25, 0.125}}})},
      {MakeNode("pad", {{"padding", std::vector<std::int64_t>{1, 2, 3, 0}},
                        {"fill", std::vector{7.0, 8.0, 9.0}}}),
       MakeNode("to_tensor")},
      {MakeNode("to_tensor"), MakeNode("pad", {{"padding", std::int64_t{1}}, {"fill", 0.5}})},
      {MakeNode("flip", {{"axis", std::string("horizontal")}}), MakeNode("pil_to_tensor")},
  };
  std::vector<std::uint8_t> pixels(3 * 4 * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 7);
  for (std::vector<Node> chain : chains) {
    SCOPED_TRACE(chain.back().op + " after " + chain.front().op);
    const Ran first = RunPixels(chain, RgbSpec(3, 4), pixels);
    ASSERT_TRUE(first.status.ok()) << first.status.ToString();
    chain.push_back(MakeNode("channels_last"));
    const Ran last = RunPixels(chain, RgbSpec(3, 4), pixels);
    ASSERT_TRUE(last.status.ok()) << last.status.ToString();
    const auto height = first.spec.dims[1], width = first.spec.dims[2];
    EXPECT_EQ(last.spec, (TensorSpec{first.spec.dtype, Layout::kHwc, {height, width, 3}}));
    ASSERT_EQ(last.values.size(), first.values.size());
    for (std::int64_t c = 0; c < 3; ++c) {
      for (std::int64_t i = 0; i < height * width; ++i) {
        EXPECT_EQ(last.values[static_cast<std::size_t>(i * 3 + c)],
                  first.values[static_cast<std::size_t>(c * height * width + i)]);
      }
    }
  }
}

TEST(ChannelsLast, IsForTensorsOfSeveralRowsAndColumns) {
  EXPECT_EQ(RunPixels({MakeNode("channels_last")}, RgbSpec(2, 2), {}).status.code(),
            Code::kUnsupported);
  EXPECT_EQ(RunPixels({MakeNode("to_tensor"), MakeNode("channels_last")}, RgbSpec(1, 2),
                      {1, 2, 3, 4, 5, 6})
                .status.code(),
            Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
