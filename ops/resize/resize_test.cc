#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::pair<std::int64_t, std::int64_t> Resized(Args args, std::int64_t height, std::int64_t width) {
  return ShapeOf(MakeNode("resize", std::move(args)), RgbSpec(height, width));
}

TEST(Resize, ShorterEdgeKeepsTheAspectRatio) {
  using Shape = std::pair<std::int64_t, std::int64_t>;
  const Args edge{{"size", std::int64_t{256}}};
  EXPECT_EQ(Resized(edge, 375, 500), Shape(256, 341));  // 256 * 500 / 375 = 341.3
  EXPECT_EQ(Resized(edge, 500, 375), Shape(341, 256));
  EXPECT_EQ(Resized(edge, 100, 100), Shape(256, 256));
}

TEST(Resize, LongerEdgeIsBounded) {
  using Shape = std::pair<std::int64_t, std::int64_t>;
  const Args both{{"size", std::int64_t{256}}, {"max_size", std::int64_t{300}}};
  EXPECT_EQ(Resized(both, 100, 400), Shape(75, 300));  // 256 x 1024 scaled by 300 / 1024
  EXPECT_EQ(Resized({{"max_size", std::int64_t{50}}}, 100, 400), Shape(12, 50));
}

TEST(Resize, SideOfNoPixelsIsRefused) {
  const Ran ran = RunPixels({MakeNode("resize", {{"max_size", std::int64_t{2}}})}, GraySpec(1, 9),
                            {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(ran.status, InvalidArgument("node 1 resize: height and width must be > 0"));
}

TEST(Resize, SameSizeIsTheSameImage) {
  const Args args{{"size", std::vector<std::int64_t>{2, 2}}};
  EXPECT_THAT(RunPixels({MakeNode("resize", args)}, GraySpec(2, 2), {9, 8, 7, 6}).values,
              ElementsAre(9, 8, 7, 6));
}

TEST(Resize, NearestTakesPixels) {
  const Args args{{"size", std::vector<std::int64_t>{1, 2}},
                  {"interpolation", std::string("nearest")}};
  EXPECT_THAT(RunPixels({MakeNode("resize", args)}, GraySpec(1, 4), {1, 2, 3, 4}).values,
              ElementsAre(2, 4));
}

Args OfTensors(std::vector<std::int64_t> size, std::int64_t api) {
  return {{"size", std::move(size)},
          {"api", api},
          {"antialias", std::int64_t{1}},
          {"tensors", std::int64_t{1}}};
}

TEST(Resize, TensorsHaveTorchsBits) {
  const auto resized = [](Args args) {
    return RunPixels({MakeNode("pil_to_tensor"), MakeNode("resize", std::move(args))},
                     GraySpec(2, 3), {122, 174, 183, 197, 129, 104})
        .values;
  };
  // Expected: resize(tensor, [3, 2]) of v2 and v1.
  EXPECT_THAT(resized(OfTensors({3, 2}, 2)), ElementsAre(142, 180, 157, 147, 172, 113));
  EXPECT_THAT(resized(OfTensors({3, 2}, 1)), ElementsAre(142, 180, 156, 146, 172, 113));
}

TEST(Resize, CropBehindTensorsSeesTheSameBits) {
  std::vector<std::uint8_t> pixels(30 * 40 * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<std::uint8_t>(i * 37 + i * i / 11);
  }
  const auto planes = [&](std::vector<Node> nodes) {
    nodes.insert(nodes.begin(), MakeNode("to_image"));
    return RunPixels(nodes, RgbSpec(30, 40), pixels).values;
  };
  for (const std::int64_t api : {1, 2}) {
    const Node resize = MakeNode("resize", OfTensors({21, 33}, api));
    const auto whole = planes({resize});
    const auto part = planes({resize, MakeNode("center_crop", {{"size", std::int64_t{7}}})});
    std::vector<float> expected;
    for (int c = 0; c < 3; ++c) {
      for (int y = 7; y < 14; ++y) {
        const auto row = whole.begin() + (c * 21 + y) * 33 + 13;
        expected.insert(expected.end(), row, row + 7);
      }
    }
    EXPECT_EQ(part, expected);
  }
}

TEST(Resize, TensorsNeedATorchThatIsKnown) {
  const auto refused = [](Args args, std::string first = "pil_to_tensor") {
    return RunPixels({MakeNode(std::move(first)), MakeNode("resize", std::move(args))},
                     GraySpec(3, 3), std::vector<std::uint8_t>(9))
        .status;
  };
  Args args = OfTensors({2, 2}, 2);
  EXPECT_TRUE(refused(args).ok());
  EXPECT_THAT(refused(args, "to_tensor").message(), HasSubstr("of float32 to other bits"));
  args["floats"] = std::int64_t{1};
  EXPECT_TRUE(refused(args, "to_tensor").ok());
  args["tensors"] = std::int64_t{0};
  EXPECT_THAT(refused(args).message(), HasSubstr("to other bits"));
  args = OfTensors({2, 2}, 1);
  args.erase("antialias");
  EXPECT_THAT(refused(args).message(), HasSubstr("number of torch's threads"));
  args = OfTensors({2, 1}, 2);
  EXPECT_EQ(refused(args).code(), Code::kUnsupported);
  EXPECT_THAT(refused(args).message(), HasSubstr("one column"));
}

TEST(Resize, ArgumentsThatContradictAreRefused) {
  const auto refused = [](Args args) {
    return RunPixels({MakeNode("resize", std::move(args))}, GraySpec(1, 1), {1}).status.code();
  };
  EXPECT_EQ(refused({}), Code::kInvalidArgument);
  EXPECT_EQ(refused({{"size", std::int64_t{0}}}), Code::kInvalidArgument);
  EXPECT_EQ(refused({{"size", std::int64_t{8}}, {"max_size", std::int64_t{8}}}),
            Code::kInvalidArgument);
  EXPECT_EQ(refused({{"size", std::int64_t{8}}, {"interpolation", std::string("cubic")}}),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ops::testing
