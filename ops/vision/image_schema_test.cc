#include "ops/vision/image_schema.h"

#include "gtest/gtest.h"
#include "ops/core/test_util.h"

namespace headrace::ops::testing {
namespace {

constexpr std::int64_t kAny = Dims::kAny;

// What a chain after decode makes of images of every size.
TensorSpec OfAnySize(std::vector<Node> nodes) {
  nodes.insert(nodes.begin(), MakeNode("decode"));
  const Result<Chain> chain = Chain::Compile(std::move(nodes), Libraries(), {});
  HR_CHECK(chain.ok());
  std::vector<TensorSpec> after(chain->nodes().size());
  HR_CHECK(chain->Shapes(chain->source(), after).ok());
  return after.back();
}
Node Resize(Args args) { return MakeNode("resize", std::move(args)); }

TEST(ImageSchema, AnOperatorThatFixesTheSizeMakesItKnown) {
  const Node crop = MakeNode("center_crop", {{"size", std::int64_t{224}}});
  const TensorSpec cropped{DType::kU8, Layout::kHwc, {224, 224, 3}};
  EXPECT_EQ(OfAnySize({crop}), cropped);
  EXPECT_EQ(OfAnySize({Resize({{"size", std::int64_t{256}}}), crop}), cropped);
  EXPECT_EQ(OfAnySize({Resize({{"size", std::vector<std::int64_t>{20, 30}}})}),
            (TensorSpec{DType::kU8, Layout::kHwc, {20, 30, 3}}));
}

TEST(ImageSchema, ASizeThatDependsOnTheImageStaysAny) {
  const TensorSpec any{DType::kU8, Layout::kHwc, {kAny, kAny, 3}};
  EXPECT_EQ(OfAnySize({}), any);
  EXPECT_EQ(OfAnySize({Resize({{"size", std::int64_t{256}}})}), any);
  EXPECT_EQ(OfAnySize({MakeNode("to_tensor")}),
            (TensorSpec{DType::kF32, Layout::kChw, {3, kAny, kAny}}));
}

TEST(ImageSchema, OneSideMayBeKnownWithoutTheOther) {
  const Chain chain = *Chain::Compile(
      {MakeNode("decode"), MakeNode("pad", {{"padding", std::int64_t{2}}})}, Libraries(), {});
  TensorSpec out;
  ASSERT_TRUE(chain.schema(1).Infer({DType::kU8, Layout::kHwc, {kAny, 40, 3}}, &out).ok());
  EXPECT_EQ(out, (TensorSpec{DType::kU8, Layout::kHwc, {kAny, 44, 3}}));
}

TEST(ImageSchema, TensorsThatAreNoImagesAreRefused) {
  const Chain chain = *Chain::Compile({MakeNode("decode")}, Libraries(), {});
  TensorSpec out;
  for (const TensorSpec& spec : {TensorSpec{}, TensorSpec{DType::kU8, Layout::kPlain, {2, 3, 3}},
                                 TensorSpec{DType::kU8, Layout::kHwc, {2, 3}},
                                 TensorSpec{DType::kU8, Layout::kHwc, {2, 3, 9}},
                                 TensorSpec{DType::kU8, Layout::kHwc, {0, 3, 3}}}) {
    EXPECT_EQ(chain.schema(0).Infer(spec, &out).code(), Code::kInvalidArgument) << spec.ToString();
  }
  EXPECT_EQ(chain.schema(0).Infer(RgbSpec(1 << 20, 1 << 20), &out).code(), Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
