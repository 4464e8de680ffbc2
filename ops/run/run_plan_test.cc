#include "ops/run/run_plan.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ops/core/op_registry.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

// Makes plans of a chain after decode, without pixels.
class RunPlanTest : public ::testing::Test {
 protected:
  Status Make(std::vector<Node> nodes, const TensorSpec& in, std::vector<std::int32_t> params = {},
              int last = -1) {
    nodes.insert(nodes.begin(), MakeNode("decode"));
    chain_.emplace(*Chain::Compile(std::move(nodes), Libraries(), {}));
    kernels_.clear();
    schemas_.clear();
    for (std::size_t i = 0; i < chain_->nodes().size(); ++i) {
      const OpSchema& schema = chain_->schema(static_cast<int>(i));
      const CompileContext context{&chain_->libraries(), nullptr, chain_->source()};
      const KernelFactory* make = KernelRegistry::Builtin().Find(chain_->nodes()[i].op);
      schemas_.push_back(dynamic_cast<const ImageSchema*>(&schema));
      kernels_.push_back(std::dynamic_pointer_cast<const ImageKernel>(*(*make)(schema, context)));
    }
    if (last < 0) last = static_cast<int>(kernels_.size());
    return plan_.Make(*chain_, schemas_, kernels_, 0, last, last, *ImageSpec::From(in), params,
                      context_);
  }
  // The part of the source that is decoded.
  Window Source(std::vector<Node> nodes, const TensorSpec& in,
                std::vector<std::int32_t> params = {}) {
    EXPECT_TRUE(Make(std::move(nodes), in, std::move(params)).ok());
    return plan_.source();
  }

  std::optional<Chain> chain_;
  std::vector<const ImageSchema*> schemas_;
  std::vector<std::shared_ptr<const ImageKernel>> kernels_;
  OpContext context_;
  RunPlan plan_;
};

Node Resize(std::int64_t size) { return MakeNode("resize", {{"size", size}}); }
Node CenterCrop(std::int64_t size) { return MakeNode("center_crop", {{"size", size}}); }

const TensorSpec kPhotograph = RgbSpec(375, 500);  // resized to 256 x 341

TEST_F(RunPlanTest, CenterCropBehindAResizeReadsTheMiddle) {
  // Crop at (16, 58). Row 16 is around 16.5 * 375 / 256 = 24.2, row 239 around 350.8, column 58
  // around 58.5 * 500 / 341 = 85.8, column 281 around 412.8; the filter reaches 1.5 to both sides.
  EXPECT_EQ(Source({Resize(256), CenterCrop(224), MakeNode("to_tensor")}, kPhotograph),
            (Window{23, 84, 329, 330}));
  ASSERT_EQ(plan_.steps().size(), 1U);
  EXPECT_EQ(plan_.steps()[0].makes, (Window{16, 58, 224, 224}));
}

TEST_F(RunPlanTest, FlipsAndPixelwiseOperatorsPassTheWindowOn) {
  const Window middle{23, 84, 329, 330};
  const Node gray = MakeNode("grayscale", {{"num_output_channels", std::int64_t{3}}});
  const Node maybe_gray = MakeNode("random_grayscale");
  const Node brighter = MakeNode("color_jitter", {{"brightness", 0.5}, {"hue", 0.1}});
  EXPECT_EQ(Source({Resize(256), gray, maybe_gray, brighter, CenterCrop(224)}, kPhotograph,
                   {1, 0xe4, 0, 0, 0, 0}),
            middle);
  EXPECT_EQ(plan_.steps().size(), 4U);
  // Columns 59 to 282 of the mirrored image.
  const Node flip = MakeNode("random_horizontal_flip");
  EXPECT_EQ(Source({Resize(256), flip, CenterCrop(224)}, kPhotograph, {1}),
            (Window{23, 86, 329, 330}));
  EXPECT_EQ(Source({CenterCrop(300), Resize(150), CenterCrop(50)}, kPhotograph),
            (Window{38 + 99, 100 + 99, 102, 102}));
}

TEST_F(RunPlanTest, ContrastTakesTheMeanOfTheWholeImage) {
  const Node contrast = MakeNode("color_jitter", {{"contrast", 0.5}});
  const std::vector<std::int32_t> params{0xe4, 0, 0, 0, 0};
  EXPECT_EQ(Source({Resize(256), contrast, CenterCrop(224)}, kPhotograph, params),
            (Window{0, 0, 375, 500}));
  EXPECT_EQ(Source({CenterCrop(100), contrast, CenterCrop(10)}, kPhotograph, params),
            (Window{138, 200, 100, 100}));
}

TEST_F(RunPlanTest, ReflectedBordersReadWhatTheyReflect) {
  const Node crop = MakeNode("random_crop", {{"size", std::int64_t{20}},
                                             {"padding", std::int64_t{10}},
                                             {"padding_mode", std::string("reflect")}});
  EXPECT_EQ(Source({crop}, RgbSpec(40, 40), {0, 5}), (Window{0, 0, 11, 15}));
  EXPECT_EQ(Source({crop}, RgbSpec(40, 40), {40, 12}), (Window{29, 2, 11, 20}));
}

TEST_F(RunPlanTest, CropIntoABorderReadsOnePixel) {
  const Node pad = MakeNode("pad", {{"padding", std::int64_t{90}}});
  const Node crop = MakeNode("random_crop", {{"size", std::int64_t{2}}});
  EXPECT_EQ(Source({Resize(50), pad, crop}, RgbSpec(50, 100), {0, 0}), (Window{0, 0, 1, 1}));
}

TEST_F(RunPlanTest, WhatIsKeptForTheCacheIsNotCropped) {
  const Node crop = MakeNode("random_crop", {{"size", std::int64_t{2}}});
  ASSERT_TRUE(Make({Resize(50), crop}, RgbSpec(200, 100), {}, /*last=*/2).ok());
  EXPECT_EQ(plan_.source(), (Window{0, 0, 200, 100}));
  EXPECT_EQ(plan_.end().spec().tensor(), RgbSpec(100, 50));
}

TEST_F(RunPlanTest, PlansDoNotRememberEarlierSamples) {
  const Node flip = MakeNode("random_horizontal_flip");
  const Node pad = MakeNode("pad", {{"padding", std::int64_t{3}}});
  ASSERT_TRUE(Make({flip, pad, Resize(9), flip, Resize(7)}, RgbSpec(20, 30), {1, 1}).ok());
  EXPECT_EQ(Source({Resize(256), CenterCrop(224)}, kPhotograph), (Window{23, 84, 329, 330}));
  ASSERT_EQ(plan_.steps().size(), 1U);
  EXPECT_FALSE(plan_.steps()[0].before.flips_horizontal());
  EXPECT_TRUE(plan_.steps()[0].before.fills().empty());
}

}  // namespace
}  // namespace headrace::ops::testing
