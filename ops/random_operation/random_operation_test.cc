#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

Node Operation(const std::string& name, std::optional<double> value = std::nullopt) {
  Args args{{"operation", name}};
  if (value) args["value"] = *value;
  return MakeNode("random_operation", args);
}

std::vector<float> Made(const Node& node, std::int32_t happens) {
  return RunPixels({node}, GraySpec(1, 4), {0, 99, 100, 203}, {happens}).values;
}

TEST(RandomOperation, HappensOrNot) {
  EXPECT_THAT(Made(Operation("invert"), 0), ElementsAre(0, 99, 100, 203));
  EXPECT_THAT(Made(Operation("invert"), 1), ElementsAre(255, 156, 155, 52));
}

TEST(RandomOperation, TakesItsValue) {
  EXPECT_THAT(Made(Operation("posterize", 2), 1), ElementsAre(0, 64, 64, 192));
  EXPECT_THAT(Made(Operation("solarize", 99.5), 1), ElementsAre(0, 99, 155, 52));
}

TEST(RandomOperation, HistogramsAreOfTheWholeImageInFrontOfACrop) {
  const Node crop = MakeNode("center_crop", {{"size", std::vector<std::int64_t>{1, 2}}});
  EXPECT_THAT(
      RunPixels({Operation("autocontrast"), crop}, GraySpec(1, 4), {0, 50, 51, 102}, {1}).values,
      ElementsAre(125, 127));
}

TEST(RandomOperation, SharpnessSeesNeighboursOutsideOfACrop) {
  const Node crop = MakeNode("center_crop", {{"size", std::int64_t{1}}});
  EXPECT_THAT(RunPixels({Operation("sharpness", 0), crop}, GraySpec(3, 3),
                        {13, 13, 13, 13, 0, 13, 13, 13, 13}, {1})
                  .values,
              ElementsAre(8));
}

TEST(RandomOperation, DrawsOneNumber) {
  for (const double p : {0.0, 1.0}) {
    TorchGenerator rng(1);
    Node node = Operation("equalize");
    node.args["p"] = p;
    const auto drawn = DrawNode(node, RgbSpec(2, 2), rng);
    ASSERT_TRUE(drawn.ok());
    EXPECT_THAT(*drawn, ElementsAre(static_cast<std::int32_t>(p)));
    EXPECT_EQ(rng.draws(), 1U);
  }
}

TEST(RandomOperation, ValuesThatDoNotFitAreRefused) {
  const auto code = [](const Node& node) {
    return RunPixels({node}, GraySpec(1, 1), {1}, {1}).status.code();
  };
  EXPECT_EQ(code(Operation("posterize", 8)), Code::kOk);
  EXPECT_EQ(code(Operation("posterize", 0)), Code::kUnsupported);
  EXPECT_EQ(code(Operation("posterize")), Code::kInvalidArgument);
  EXPECT_EQ(code(Operation("invert", 1)), Code::kInvalidArgument);
  EXPECT_EQ(code(Operation("blur")), Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
