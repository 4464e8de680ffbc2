#include "ops/core/index_pictures.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ops/core/op_registry.h"
#include "ops/core/test_util.h"

namespace headrace::ops::testing {
namespace {

Code Compiled(Node node) {
  const Node decode = MakeNode("decode", {{"mode", std::string("index")}});
  return Chain::Compile({decode, std::move(node)}, Libraries(), {}).status().code();
}

TEST(IndexPictures, PixelsMayMove) {
  const std::int64_t size = 8;
  for (const Node& node :
       {MakeNode("random_horizontal_flip"), MakeNode("random_crop", {{"size", size}}),
        MakeNode("center_crop", {{"size", size}}), MakeNode("pad", {{"padding", size}}),
        MakeNode("identity"), MakeNode("pil_to_tensor"), MakeNode("to_tensor"),
        MakeNode("to_image"),
        MakeNode("to_dtype", {{"dtype", std::string("int64")}, {"api", std::int64_t{2}}})}) {
    EXPECT_EQ(Compiled(node), Code::kOk) << node.op;
  }
}

TEST(IndexPictures, OnlyTheNearestPixelMayBeTaken) {
  const std::vector<std::pair<const char*, Args>> resampling{
      {"resize", {{"size", std::int64_t{8}}}},
      {"random_resized_crop", {{"size", std::int64_t{8}}}},
      {"random_rotation", {{"degrees", std::vector<double>{-9, 9}}}},
      {"random_affine", {{"degrees", std::vector<double>{-9, 9}}}},
      {"random_perspective", {}}};
  for (const auto& [op, args] : resampling) {
    Args with = args;
    for (const char* mode : {"nearest", "nearest-exact"}) {
      with["interpolation"] = std::string(mode);
      EXPECT_EQ(Compiled(MakeNode(op, with)), Code::kOk) << op;
    }
    with["interpolation"] = std::string("bilinear");
    EXPECT_EQ(Compiled(MakeNode(op, with)), Code::kUnsupported) << op;
    const bool by_default = std::string(op) != "resize" && std::string(op) != "random_resized_crop";
    EXPECT_EQ(Compiled(MakeNode(op, args)), by_default ? Code::kOk : Code::kUnsupported) << op;
  }
}

TEST(IndexPictures, OperatorsThatComputeAreRefused) {
  const Node invert = MakeNode("random_operation", {{"operation", std::string("invert")}});
  for (const Node& node :
       {MakeNode("grayscale"), MakeNode("color_jitter", {{"brightness", 0.5}}), invert}) {
    EXPECT_EQ(Compiled(node), Code::kUnsupported) << node.op;
    EXPECT_EQ(
        Chain::Compile({MakeNode("decode", {{"mode", std::string("L")}}), node}, Libraries(), {})
            .status()
            .code(),
        Code::kOk)
        << node.op;
  }
  // A tensor has no palette.
  const auto chain = Chain::Compile(
      {MakeNode("decode", {{"mode", std::string("index")}}), MakeNode("pil_to_tensor"), invert},
      Libraries(), {});
  EXPECT_TRUE(chain.ok()) << chain.status().ToString();
}

}  // namespace
}  // namespace headrace::ops::testing
